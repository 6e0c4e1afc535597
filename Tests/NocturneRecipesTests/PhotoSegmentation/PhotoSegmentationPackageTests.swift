import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneInference
import NocturnePhotos
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Packages for label maps of photos")
struct PhotoSegmentationPackageTests {
    /// The fixture's package with a text of its description replaced.
    private func load(_ old: String, _ new: String, in folder: TemporaryFolder) throws -> ModelPackage {
        try Fixtures.copyModel("PhotoModels/brightest", to: folder(""), replacing: old, with: new)
        return try ModelPackage.checked(folder: folder("").path)
    }

    @Test("The fixtures say what they are")
    func good() throws {
        let package = try ModelPackage.checked(folder: Fixtures.url("PhotoModels/brightest").path)
        let settings = try PhotoSegmentationModel.Settings(package)
        #expect(package.task == "photo-segmentation" && settings.input == .colors)
        let level = settings.networkSettings.levels[0]
        #expect(level.patchSize == [1, 24, 32] && level.isPlanar && level.mirroringAxes == [1, 2])
        #expect(level.crop != nil && level.tileStep == 0.5 && level.spacing == nil)
        #expect(settings.networkSettings.postprocessing.keepLargest == [[2]])
        let grey = try PhotoSegmentationModel.Settings(
            ModelPackage.checked(folder: Fixtures.url("PhotoModels/dark").path)
        )
        #expect(grey.input == .grey && grey.networkSettings.output == .regions(threshold: 0.5))
    }

    @Test("What may be left out has a default")
    func defaults() throws {
        let folder = try TemporaryFolder("nocturne-package")
        let package = try load("\"cropToNonzero\": true,", "", in: folder)
        #expect(try PhotoSegmentationModel.Settings(package).networkSettings.levels[0].crop == nil)
    }

    @Test(
        "What is about volumes, and what does not fit, is refused with its key",
        arguments: [
            ("\"tileStep\": 0.5", "\"spacing\": [1, 1]", "photoSegmentation.spacing"),
            ("\"tileStep\": 0.5", "\"orientation\": \"RAS\"", "photoSegmentation.orientation"),
            ("\"tileStep\": 0.5", "\"inputFormat\": \"tiff\"", "photoSegmentation.inputFormat"),
            ("\"tileStep\": 0.5", "\"resampling\": {}", "photoSegmentation.resampling"),
            ("\"tileStep\": 0.5", "\"size\": [0, 8]", "photoSegmentation.size"),
            ("\"tileStep\": 0.5", "\"size\": [8, 8, 8]", "photoSegmentation.size"),
            ("\"tileStep\": 0.5", "\"window\": {\"center\": 1, \"width\": 2}", "photoSegmentation.window"),
            ("\"tileStep\": 0.5", "\"normalizeAfterResampling\": true", "photoSegmentation.normalizeAfterResampling"),
            ("\"tileStep\": 0.5", "\"transpose\": [1, 0, 2]", "photoSegmentation.transpose"),
            ("\"tileStep\": 0.5", "\"tileStep\": 2", "photoSegmentation.tileStep"),
            (
                "\"tileStep\": 0.5", "\"previousStage\": {\"patchSize\": [8, 8], \"networks\": [\"network.onnx\"]}",
                "photoSegmentation.previousStage"
            ),
            ("\"patchSize\": [\n", "\"patchSize\": [\n      8,\n", "photoSegmentation.patchSize"),
            (
                "\"keepLargest\": [", "\"minimumVolumeMm3\": {\"red\": 3}, \"keepLargest\": [",
                "photoSegmentation.postprocessing.minimumVolumeMm3"
            ),
            (
                "\"keepLargest\": [", "\"morphology\": [], \"keepLargest\": [",
                "photoSegmentation.postprocessing.morphology"
            ),
            ("\"fillHoles\": [", "\"fillHoles\": [\"gold\", ", "photoSegmentation.postprocessing.fillHoles"),
            ("\"photoSegmentation\"", "\"volumeSegmentation\"", "photoSegmentation"),
            (
                "\"channels\": [",
                "\"channels\": [{\"name\": \"alpha\", \"normalization\": {\"scheme\": \"rgb01\"}},",
                "channels"
            ),
        ]
    )
    func refused(_ old: String, _ new: String, _ key: String) throws {
        let folder = try TemporaryFolder("nocturne-package")
        let error = #expect(throws: ModelPackageError.self) { try load(old, new, in: folder) }
        #expect(error?.key == key, "\(String(describing: error))")
    }

    @Test("A network with another number of outputs than the labels need")
    func outputs() throws {
        let folder = try TemporaryFolder("nocturne-package")
        let package = try load("\"value\": 3", "\"value\": 4", in: folder)
        #expect(throws: (any Error).self) {
            try PhotoSegmentationModel(
                ChosenModel(package: package, engine: BuiltinEngine(), precision: .float32),
                options: PhotoSegmentation.Options()
            )
        }
    }

    @Test("The options of a batch read back from the journal")
    func options() throws {
        let options = try PhotoSegmentation.Options(given: [
            "step-size": "0.25", "disable-tta": "yes", "reference-rounding": "yes",
        ])
        #expect(try PhotoSegmentation.Options(recorded: options.recorded) == options)
        #expect(options.recorded == ["step-size": "0.25", "disable-tta": "yes", "reference-rounding": "yes"])
        #expect(PhotoSegmentation.Options().recorded.isEmpty)
    }

    @Test("The plan: pixels of the header determine the buffers, patch and step the tiles")
    func memory() throws {
        let bench = try SegmentedPhotoBench()
        let recipe = try bench.recipe()
        try bench.add("small.png", .init(width: 200, height: 100, []))
        try bench.add("large.png", .init(width: 2000, height: 1000, []))
        let sources = try bench.sources(of: recipe)
        func plan(_ name: String, lean: Bool = false) throws -> [String: Int] {
            let source = try PhotoSegmentation.source(from: try #require(sources[name]))
            let plan = try recipe.plan(source, threads: 2, lean: lean)
            return Dictionary(plan.buffers.map { ($0.name, $0.bytes) }) { $0 + $1 }
        }
        let (small, large) = (try plan("small"), try plan("large"))
        #expect(small["picture"] == 60_000 && large["picture"] == 6_000_000)
        // Three channels of four bytes, as photo and as input; sums of four classes and the weights; labels of two bytes.
        #expect(large["channels"] == 24_000_000 && large["network input"] == 24_000_000)
        #expect(large["tile sums"] == 40_000_000 && large["labels"] == 4_000_000)
        // A file would spare nothing.
        #expect(try plan("large", lean: true) == large)
        // Tiles of 24 × 32, half a tile apart, beginning and ending at the borders.
        let source = try PhotoSegmentation.source(from: try #require(sources["small"]))
        #expect(try recipe.plan(source, threads: 2, lean: false).steps == 8 * 12)
    }
}
