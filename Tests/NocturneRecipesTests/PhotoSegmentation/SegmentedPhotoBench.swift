import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport

/// A batch of drawn photos, whose label maps follow from the colours of their pixels.
final class SegmentedPhotoBench: Sendable {
    /// An area of one colour.
    struct Area {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
        var color: SIMD3<UInt8>
        var label: UInt16
    }

    /// A photo and the labels that its pixels are to have.
    struct Drawing {
        let image: RGBImage
        let labels: [UInt16]

        /// - Parameter areas: later ones cover earlier ones.
        init(width: Int, height: Int, ground: SIMD3<UInt8> = SIMD3(60, 70, 80), _ areas: [Area]) {
            var image = RGBImage(width: width, height: height)
            var labels = [UInt16](repeating: 0, count: width * height)
            let whole = Area(x: 0, y: 0, width: width, height: height, color: ground, label: 0)
            for area in [whole] + areas {
                for y in area.y..<area.y + area.height {
                    for x in area.x..<area.x + area.width {
                        image[x, y] = area.color
                        labels[y * width + x] = area.label
                    }
                }
            }
            self.image = image
            self.labels = labels
        }
    }

    let folder: TemporaryFolder
    let model: String

    init(_ model: String = "brightest") throws {
        folder = try TemporaryFolder("nocturne-segmented")
        self.model = Fixtures.url("PhotoModels/\(model)").path
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
    }

    /// With a text of the package's description replaced.
    init(_ model: String = "brightest", replacing old: String, with new: String) throws {
        folder = try TemporaryFolder("nocturne-segmented")
        let source = Fixtures.url("PhotoModels/\(model)")
        let text = try String(contentsOf: source.appendingPathComponent("model.json"), encoding: .utf8)
        try folder.write(text.replacingOccurrences(of: old, with: new), to: "model/model.json")
        let network = source.appendingPathComponent("network.onnx")
        try FileManager.default.copyItem(at: network, to: folder("model/network.onnx"))
        self.model = folder("model").path
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
    }

    func add(_ name: String, _ drawing: Drawing) throws {
        try PNGWriter.write(drawing.image, to: folder("in/\(name)").path)
    }

    func recipe(
        _ options: PhotoSegmentation.Options = PhotoSegmentation.Options(),
        engine: any InferenceEngine = BuiltinEngine()
    ) throws -> PhotoSegmentation {
        let package = try ModelPackage.load(folder: model)
        let loaded = try PhotoSegmentationModel(
            ChosenModel(package: package, engine: engine, precision: .float32),
            options: options
        )
        return PhotoSegmentation(models: [loaded], options: options)
    }

    /// What the journal has of each photo, by the name of its item.
    func sources(of recipe: PhotoSegmentation) throws -> [String: String] {
        let found = try recipe.search(DiscoveryRequest(inputs: [folder("in").path]))
        return Dictionary(uniqueKeysWithValues: found.items.map { ($0.name, $0.source) })
    }

    static let processBytes = 64 << 20

    @discardableResult
    func run(
        _ options: PhotoSegmentation.Options = PhotoSegmentation.Options(),
        to out: String = "out",
        threads: Int = 2,
        memoryBytes: Int = 2 << 30,
        engine: any InferenceEngine = BuiltinEngine(),
        observe: @escaping @Sendable (BatchEvent, RunControl) -> Void = { _, _ in }
    ) async throws -> (outcome: BatchOutcome, output: OutputFolder) {
        let package = try ModelPackage.load(folder: model)
        let output = OutputFolder(folder(out).path)
        try output.create()
        let batch = BatchOptions(
            output: output,
            description: BatchDescription(
                version: "0.0.0",
                models: [
                    .init(id: package.id, name: package.name, version: package.version, digest: package.digest.hex)
                ],
                options: options.recorded,
                inputs: [folder("in").path],
                modelPaths: [model]
            ),
            resources: ResourceLimits(
                threads: threads,
                memoryBytes: memoryBytes,
                processBytes: Self.processBytes
            )
        )
        let control = RunControl()
        let progress = ProgressReporter(path: output.events, view: Observer(control: control, observe: observe))
        let recipes: [any Recipe] = [try recipe(options, engine: engine)]
        let batchEngine = BatchEngine(recipes: recipes, options: batch, control: control, progress: progress)
        return (try await batchEngine.run(), output)
    }

    private struct Observer: ProgressView {
        let control: RunControl
        let observe: @Sendable (BatchEvent, RunControl) -> Void
        func show(_ event: BatchEvent, _ status: ProgressStatus) { observe(event, control) }
        func refresh(_ status: ProgressStatus) {}
        func close() {}
    }

    /// The labels of a map as any reader of 8-bit PNG sees them.
    static func labels(_ output: OutputFolder, _ item: String) throws -> [UInt16] {
        let image = try PhotoReader.read(at: output.item(item) + "/labels.png").image
        return (0..<image.width * image.height).map { UInt16(image.samples[3 * $0]) }
    }
}
