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
        try Fixtures.copyModel("PhotoModels/\(model)", to: folder("model"), replacing: old, with: new)
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

    @discardableResult
    func run(
        _ options: PhotoSegmentation.Options = PhotoSegmentation.Options(),
        to out: String = "out",
        threads: Int = 2,
        memoryBytes: Int = 2 << 30,
        engine: any InferenceEngine = BuiltinEngine(),
        observe: @escaping @Sendable (BatchEvent, RunControl) -> Void = { _, _ in }
    ) async throws -> (outcome: BatchOutcome, output: OutputFolder) {
        let output = OutputFolder(folder(out).path)
        let batch = try BatchOptions(
            options.recorded,
            models: [model],
            inputs: [folder("in").path],
            output: output,
            threads: threads,
            memoryBytes: memoryBytes
        )
        return (try await batch.run([try recipe(options, engine: engine)], observe: observe), output)
    }

    /// The labels of a map as any reader of 8-bit PNG sees them.
    static func labels(_ output: OutputFolder, _ item: String) throws -> [UInt16] {
        let image = try PhotoReader.read(at: output.item(item) + "/labels.png").image
        return (0..<image.width * image.height).map { UInt16(image.samples[3 * $0]) }
    }
}
