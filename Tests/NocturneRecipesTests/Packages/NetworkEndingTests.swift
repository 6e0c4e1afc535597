import Foundation
import NocturneInference
import NocturnePhotos
import NocturneRecipeSupport
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Networks that do not suit their package")
struct NetworkEndingTests {
    private func model(_ folder: String, _ engine: DescribingEngine) throws -> ChosenModel {
        ChosenModel(package: try ModelPackage.checked(folder: folder), engine: engine, precision: .float32)
    }

    /// Why a package cannot be used whose networks end in an activation.
    private func refusal(
        _ activation: FinalActivation,
        _ folder: String,
        _ load: (ChosenModel) throws -> Void
    ) throws -> String? {
        let model = try model(folder, DescribingEngine(activation: activation))
        let error = #expect(throws: UnusablePackageError.self) { try load(model) }
        return error?.detail
    }

    @Test("A network for volumes or label maps of photos returns logits")
    func labelMaps() throws {
        let photos: (ChosenModel) throws -> Void = {
            _ = try PhotoSegmentationModel($0, options: PhotoSegmentation.Options())
        }
        let volumes: (ChosenModel) throws -> Void = {
            _ = try SegmentationModel(package: $0.package, engine: $0.engine, precision: $0.precision)
        }
        let (classes, regions) = (Fixtures.url("PhotoModels/brightest").path, Fixtures.url("PhotoModels/dark").path)
        let softmax = "network.onnx ends in Softmax, which Nocturne applies: export it without"
        #expect(try refusal(.softmax, classes, photos) == softmax)
        #expect(try refusal(.softmax, Fixtures.url("Models/threshold").path, volumes) == softmax)
        #expect(
            try refusal(.sigmoid, classes, photos)
                == "network.onnx ends in Sigmoid, to which Nocturne applies Softmax: export it without"
        )
        #expect(
            try refusal(.sigmoid, regions, photos)
                == "network.onnx ends in Sigmoid, which Nocturne applies: export it without"
        )
    }

    @Test("A classifier that returns probabilities is used if the package says so")
    func classifier() throws {
        let load: (ChosenModel) throws -> Void = { _ = try PhotoClassificationModel($0) }
        #expect(
            try refusal(.softmax, Fixtures.url("PhotoModels/primary").path, load)
                == "classifier.onnx ends in Softmax, which Nocturne applies: export it without, "
                + "or set output to probabilities"
        )
        let package = Fixtures.url("PhotoModels/probabilities").path
        try load(model(package, DescribingEngine(activation: .softmax)))
    }

    @Test("Maps that are probabilities are used if the package says so")
    func maps() throws {
        let load: (ChosenModel) throws -> Void = { _ = try PhotoInstancesModel($0) }
        try load(model(Fixtures.url("Models/coloured-maps").path, DescribingEngine(activation: .sigmoid)))
        let folder = try TemporaryFolder("nocturne-package")
        try Fixtures.copyModel(
            "Models/coloured-maps",
            to: folder(""),
            replacing: "\"activation\": \"none\"",
            with: "\"activation\": \"sigmoid\""
        )
        #expect(
            try refusal(.sigmoid, folder("").path, load)
                == "network.onnx ends in Sigmoid, which Nocturne applies: export it without, "
                + "or set output.activation to none"
        )
    }

    @Test("A network for volumes has one input")
    func inputs() throws {
        let engine = DescribingEngine(moreInputs: [TensorDescription(name: "second", shape: [1])])
        let model = try model(Fixtures.url("Models/threshold").path, engine)
        let error = #expect(throws: UnusablePackageError.self) {
            try SegmentationModel(package: model.package, engine: engine, precision: .float32)
        }
        #expect(error?.detail == "network.onnx has 2 inputs, not one, the image")
    }
}
