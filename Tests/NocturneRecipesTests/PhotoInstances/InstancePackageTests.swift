import Foundation
import NocturneInference
import NocturnePhotos
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Packages for instance segmentation of photos")
struct InstancePackageTests {
    /// The fixture's package with a text of its description replaced.
    private func load(_ old: String, _ new: String, in folder: TemporaryFolder) throws -> ModelPackage {
        try Fixtures.copyModel("Models/coloured-maps", to: folder(""), replacing: old, with: new)
        return try ModelPackage.checked(folder: folder("").path)
    }

    @Test("The shipped package and the fixture say what they are")
    func good() throws {
        for path in ["Samples/Models/book-spines", "Tests/Fixtures/Models/coloured-maps"] {
            let package = try ModelPackage.checked(folder: Checkout.folder.appendingPathComponent(path).path)
            let settings = try PhotoInstancesModel.Settings(package)
            #expect(package.task == "photo-instances" && settings.classes.map(\.name) == ["book"])
            let model = try PhotoInstancesModel(
                ChosenModel(package: package, engine: BuiltinEngine(), precision: .float32)
            )
            #expect(model.settings.output == settings.output)
        }
    }

    @Test(
        "What does not fit is refused with its key",
        arguments: [
            ("\"longSide\": 160", "\"longSide\": 16", "photoInstances.input.longSide"),
            ("\"multiple\": 32", "\"multiple\": 0", "photoInstances.input.multiple"),
            ("\"multiple\": 32", "\"multiple\": 1.5", "photoInstances.input.multiple"),
            ("\"kind\": \"maps\"", "\"kind\": \"guess\"", "photoInstances.output.kind"),
            ("\"kind\": \"maps\"", "\"kind\": \"masks-boxes\"", "photoInstances.output.candidates"),
            ("\"activation\": \"none\"", "\"activation\": \"tanh\"", "photoInstances.output.activation"),
            ("\"minimumArea\": 20", "\"minimumArea\": -1", "photoInstances.splitting.minimumArea"),
            ("\"mergeBoundary\": 0.3", "\"mergeBoundary\": 1.5", "photoInstances.splitting.mergeBoundary"),
            ("\"mergeBoundary\": 0.3", "\"backgroundThreshold\": 0.9", "photoInstances.splitting.backgroundThreshold"),
            (
                "\"mergeBoundary\": 0.3", "\"minimumAreaShareOfMedian\": 1.5",
                "photoInstances.splitting.minimumAreaShareOfMedian"
            ),
            (
                "\"mergeBoundary\": 0.3", "\"minimumClearShare\": -0.1",
                "photoInstances.splitting.minimumClearShare"
            ),
            ("\"name\": \"book\"", "\"name\": \"../book\"", "photoInstances.classes[0].name"),
            ("\"color\": \"#0072B2\"", "\"color\": \"blue\"", "photoInstances.classes[0].color"),
            ("\"maxInstances\": 50", "\"maxInstances\": 0", "photoInstances.maxInstances"),
            ("\"network\": \"network.onnx\"", "\"network\": \"other.onnx\"", "photoInstances.network"),
        ]
    )
    func refused(_ old: String, _ new: String, _ key: String) throws {
        let folder = try TemporaryFolder("nocturne-package")
        let error = #expect(throws: ModelPackageError.self) { try load(old, new, in: folder) }
        #expect(error?.key == key, "\(String(describing: error))")
    }

    @Test("Only a package that says so has small instances merged, the shipped one below 15 % of the median")
    func slivers() throws {
        for (path, expected) in [
            ("Samples/Models/book-spines", Float(0.15)), ("Tests/Fixtures/Models/coloured-maps", 0),
        ] {
            let package = try ModelPackage.checked(folder: Checkout.folder.appendingPathComponent(path).path)
            guard case .maps(let splitting) = try PhotoInstancesModel.Settings(package).output else {
                Issue.record("\(path) has no maps")
                continue
            }
            #expect(splitting.rules.minimumAreaShareOfMedian == expected)
        }
    }

    @Test("A network that gives other maps than the package says is refused")
    func unfit() throws {
        for keys in ["\"centre\": false", "\"centre\": true, \"boundary\": false"] {
            let folder = try TemporaryFolder("nocturne-package")
            let package = try load("\"centre\": true", keys, in: folder)
            #expect(throws: UnusablePackageError.self, "\(keys)") {
                try PhotoInstancesModel(ChosenModel(package: package, engine: BuiltinEngine(), precision: .float32))
            }
        }
    }
}
