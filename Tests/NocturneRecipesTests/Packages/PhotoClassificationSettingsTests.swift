import Foundation
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturnePhotos
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Packages that classify photos")
struct PhotoClassificationSettingsTests {
    static let document = """
        {"schemaVersion": 2, "id": "skin", "name": "Skin", "version": "1", "licence": "none", "task": "photo-classification",
         "files": [
           {"path": "a.onnx", "sha256": "\(PackageBuilder.digest(PackageBuilder.network))", "bytes": 20},
           {"path": "b.onnx", "sha256": "\(PackageBuilder.digest(PackageBuilder.network))", "bytes": 20}],
         "photoClassification": {"inputSize": 380, "minimumSide": 64, "mean": [0.1, 0.2, 0.3],
           "standardDeviation": [1, 2, 3], "colorConstancyPower": 6, "medical": true, "output": "logits",
           "classes": [{"name": "mel", "title": "melanoma", "malignant": true, "color": "#010203"},
             {"name": "nv", "color": "#ffffff"}],
           "risk": {"highClasses": ["mel"], "highThreshold": 0.3, "moderateThreshold": 0.1},
           "lowConfidence": 0.25, "minimumLead": 0.125, "metadata": {"sites": ["leg", "unknown"]},
           "networks": {"classifier": "a.onnx", "attention": "b.onnx"}}}
        """

    private func load(_ text: String) throws -> ModelPackage {
        try TemporaryFolder.with { place in
            for name in ["a.onnx", "b.onnx"] {
                try PackageBuilder.network.withUnsafeBytes { Data($0) }.write(to: place(name))
            }
            try Data(text.utf8).write(to: place("model.json"))
            return try ModelPackage.checked(folder: place("").path)
        }
    }

    @Test("a whole section is read with all it says")
    func whole() throws {
        let package = try load(Self.document)
        let settings = try PhotoClassificationModel.Settings(package)
        #expect(package.task == "photo-classification" && package.channels.isEmpty)
        #expect(settings.inputSize == 380 && settings.minimumSide == 64 && settings.usesColorConstancy)
        #expect(settings.fitting == .square)
        #expect(settings.colors == NetworkColors(mean: [0.1, 0.2, 0.3], deviation: [1, 2, 3]))
        #expect(settings.isMedical && settings.output == .logits)
        #expect(settings.classes.map(\.name) == ["mel", "nv"] && settings.classes.map(\.title) == ["melanoma", "nv"])
        #expect(settings.classes.map(\.isMalignant) == [true, false])
        #expect(settings.classes[0].color == LabelColor(red: 1, green: 2, blue: 3))
        #expect(
            settings.risk
                == PhotoClassificationModel.Settings.Risk(
                    highClasses: ["mel"],
                    highThreshold: 0.3,
                    moderateThreshold: 0.1
                )
        )
        #expect(settings.lowConfidence == 0.25 && settings.minimumLead == 0.125)
        #expect(settings.metadata?.names == ["leg", "unknown"])
        #expect(settings.classifier == "a.onnx" && settings.attention == "b.onnx")
    }

    @Test("what may be left out has a default: medical, no risk, no metadata, no attention")
    func defaults() throws {
        var text = Self.document
        for part in [
            "\"minimumSide\": 64, ", "\"colorConstancyPower\": 6, ", "\"medical\": true, ", "\"output\": \"logits\",",
            "\"risk\": {\"highClasses\": [\"mel\"], \"highThreshold\": 0.3, \"moderateThreshold\": 0.1},",
            "\"lowConfidence\": 0.25, ", "\"minimumLead\": 0.125, ",
            "\"metadata\": {\"sites\": [\"leg\", \"unknown\"]},",
            ", \"attention\": \"b.onnx\"",
        ] {
            #expect(text.contains(part))
            text = text.replacing(part, with: "")
        }
        let settings = try PhotoClassificationModel.Settings(try load(text))
        #expect(settings.isMedical && settings.risk == nil && settings.metadata == nil && settings.attention == nil)
        #expect(settings.minimumSide == 1 && !settings.usesColorConstancy && settings.output == .logits)
        #expect(settings.lowConfidence == 0.2 && settings.minimumLead == 0.05)
    }

    @Test(
        "every fault is refused with its key",
        arguments: [
            ("\"inputSize\": 380", "\"inputSize\": 0", "inputSize"), ("380", "1e9", "inputSize"),
            ("\"minimumSide\": 64", "\"minimumSide\": -1", "minimumSide"),
            ("\"minimumSide\": 64", "\"resize\": 379", "resize"),
            ("\"minimumSide\": 64", "\"resize\": \"crop\"", "resize"),
            ("\"colorConstancyPower\": 6", "\"colorConstancyPower\": 5", "colorConstancyPower"),
            ("[0.1, 0.2, 0.3]", "[0.1, 0.2]", "mean"), ("[0.1, 0.2, 0.3]", "[0.1, 0.2, 1e300]", "mean[2]"),
            ("[1, 2, 3]", "[1, 0, 3]", "standardDeviation"), ("\"logits\"", "\"odds\"", "output"),
            ("\"name\": \"nv\"", "\"name\": \"mel\"", "classes[1].name"),
            ("\"name\": \"nv\"", "\"name\": \"../nv\"", "classes[1].name"),
            ("#ffffff", "white", "classes[1].color"), ("\"melanoma\"", "\"\"", "classes[0].title"),
            ("[\"mel\"]", "[\"bcc\"]", "risk.highClasses[0]"), ("0.3, \"mod", "1.3, \"mod", "risk.highThreshold"),
            ("\"moderateThreshold\": 0.1", "\"moderateThreshold\": -0.1", "risk.moderateThreshold"),
            ("0.25", "2", "lowConfidence"), ("0.125", "-1", "minimumLead"),
            ("\"unknown\"", "\"arm\"", "metadata.sites"), ("\"unknown\"", "\"unknown\", \"leg\"", "metadata.sites"),
            ("\"classifier\": \"a.onnx\"", "\"classifier\": \"c.onnx\"", "networks.classifier"),
            ("\"attention\": \"b.onnx\"", "\"attention\": \"/b.onnx\"", "networks.attention"),
        ]
    )
    func faults(_ old: String, _ new: String, _ key: String) throws {
        #expect(Self.document.contains(old))
        let error = #expect(throws: ModelPackageError.self) { try load(Self.document.replacing(old, with: new)) }
        #expect(error?.key == "photoClassification." + key)
    }

    @Test("a package for photos without its section is refused")
    func missing() throws {
        let text = Self.document.replacing("\"photoClassification\":", with: "\"other\":")
        let error = #expect(throws: ModelPackageError.self) { try load(text) }
        #expect(error?.code == .missingKey && error?.key == "photoClassification")
    }
}
