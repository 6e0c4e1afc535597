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
import NocturneVolumes

/// A batch of photos in a fresh folder.
final class PhotoBench: Sendable {
    let folder: TemporaryFolder
    let models: [String]

    /// - Parameter models: names of fixture packages, or paths.
    init(_ models: String...) throws {
        folder = try TemporaryFolder("nocturne-photos")
        self.models = models.map { $0.hasPrefix("/") ? $0 : Fixtures.url("PhotoModels/\($0)").path }
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
    }

    var input: String { folder("in").path }
    var output: OutputFolder { OutputFolder(folder("out").path) }

    /// Writes a picture of one colour with a border of grey, as PNG whatever its name.
    @discardableResult
    func add(_ name: String, _ color: SIMD3<UInt8> = SIMD3(200, 60, 40), width: Int = 40, height: Int = 32) throws
        -> URL
    {
        var image = RGBImage(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                let isInner = x >= 2 && y >= 2 && x < width - 2 && y < height - 2
                image[x, y] = isInner ? color : SIMD3(90, 90, 90)
            }
        }
        let url = folder("in/\(name)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try PNGWriter.write(image, to: url.path)
        return url
    }

    func recipe(_ options: PhotoClassification.Options = PhotoClassification.Options()) throws -> PhotoClassification {
        let loaded = try models.map { path in
            try PhotoClassificationModel(
                ChosenModel(package: try ModelPackage.load(folder: path), engine: BuiltinEngine(), precision: .float32)
            )
        }
        return PhotoClassification(models: loaded, options: options)
    }

    @discardableResult
    func run(
        _ options: PhotoClassification.Options = PhotoClassification.Options(),
        output: OutputFolder? = nil,
        threads: Int = 2,
        stop: StopRules = StopRules()
    ) async throws -> BatchOutcome {
        var batch = try BatchOptions(
            options.recorded,
            models: models,
            inputs: [input],
            output: output ?? self.output,
            threads: threads
        )
        batch.rules.stop = stop
        return try await batch.run([try recipe(options)])
    }

    func result(_ item: String, output: OutputFolder? = nil) throws -> PhotoClassificationResult {
        let url = URL(fileURLWithPath: (output ?? self.output).item(item) + "/result.json")
        return try JSONDecoder().decode(PhotoClassificationResult.self, from: Data(contentsOf: url))
    }

    /// Every file that has to be the same in two runs, with its digest.
    func tree(_ output: OutputFolder? = nil) throws -> [String: String] {
        try (output ?? self.output).tree()
    }

    /// States and reasons by item.
    func account() async throws -> [String: (state: ItemState, reason: String)] {
        let items = try await Journal.with(path: output.journal) { try await $0.items() }
        return Dictionary(items.map { ($0.name, ($0.state, $0.reason?.text ?? "")) }) { first, _ in first }
    }
}
