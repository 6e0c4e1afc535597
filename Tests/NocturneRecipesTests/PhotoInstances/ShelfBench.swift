import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes

/// A batch of drawn pictures, taken apart by a network that gives their red, green and blue as its maps.
struct ShelfBench {
    struct Book {
        var x: Int
        var y: Int
        var width: Int
        var height: Int
        /// Of the letters A and B, each different from the one before: 20 pixels long and 14 high.
        var text = ""
        /// Whether the text runs from the bottom to the top.
        var isUpwards = false
    }

    let folder: TemporaryFolder
    let model: String
    /// A package that reads text.
    let textModel: String?

    init(model: String = Fixtures.url("Models/coloured-maps").path, textModel: String? = nil) throws {
        folder = try TemporaryFolder("nocturne-shelf")
        self.model = model
        self.textModel = textModel
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
    }

    var input: String { folder("in").path }

    /// Draws text for the package drawn-letters, from 10 pixels after the book's end.
    private static func drawText(of book: Book, into image: inout RGBImage) {
        for (place, letter) in book.text.enumerated() {
            for step in 10 + 20 * place..<30 + 20 * place {
                for row in 0..<14 {
                    let blue: UInt8 = row < 7 ? (letter == "A" ? 220 : 160) : 190
                    let (x, y) =
                        if book.width > book.height {
                            (book.x + step, book.y + book.height / 2 - 7 + row)
                        } else if book.isUpwards {
                            (book.x + book.width / 2 - 7 + row, book.y + book.height - 1 - step)
                        } else {
                            (book.x + book.width / 2 + 6 - row, book.y + step)
                        }
                    image[x, y] = SIMD3(255, 10, blue)
                }
            }
        }
    }

    /// Draws what the network shall say: red in every book, green at its edges, blue deep inside.
    static func picture(width: Int, height: Int, books: [Book]) -> RGBImage {
        var image = RGBImage(width: width, height: height)
        for book in books {
            for y in book.y..<book.y + book.height {
                for x in book.x..<book.x + book.width {
                    let depth = min(x - book.x, book.x + book.width - 1 - x, y - book.y, book.y + book.height - 1 - y)
                    image[x, y] = SIMD3(230, depth == 0 ? 240 : 10, depth >= 2 ? 220 : 40)
                }
            }
            drawText(of: book, into: &image)
        }
        return image
    }

    func add(_ name: String, width: Int = 160, height: Int = 96, books: [Book]) throws {
        let url = folder("in/\(name)")
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try PNGWriter.write(Self.picture(width: width, height: height, books: books), to: url.path)
    }

    @discardableResult
    func run(
        _ options: PhotoInstances.Options = PhotoInstances.Options(),
        to out: String = "out",
        threads: Int = 2,
        inputs: [String]? = nil,
        engine: any InferenceEngine = BuiltinEngine()
    ) async throws -> (outcome: BatchOutcome, output: OutputFolder) {
        let package = try ModelPackage.load(folder: model)
        let loaded = try PhotoInstancesModel(ChosenModel(package: package, engine: engine, precision: .float32))
        let reader = try textModel.map {
            try PhotoTextModel(
                ChosenModel(package: try ModelPackage.load(folder: $0), engine: engine, precision: .float32)
            )
        }
        let recipe = PhotoInstances(models: [loaded], textModel: reader, options: options)
        let output = OutputFolder(folder(out).path)
        let batch = try BatchOptions(
            options.recorded,
            models: [model],
            inputs: inputs ?? [input],
            output: output,
            threads: threads,
            memoryBytes: 2 << 30
        )
        return (try await batch.run([recipe]), output)
    }

    static func json(_ path: String) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    /// Every file of every item but `run.json`, with its digest.
    static func tree(_ output: OutputFolder, items: [String]) throws -> [String: String] {
        var result: [String: String] = [:]
        for item in items {
            for file in FileSystem.files(below: output.item(item)) where !file.hasSuffix("run.json") {
                result["\(item)/\(file)"] = try FileSystem.digest("\(output.item(item))/\(file)").digest.hex
            }
        }
        return result
    }
}
