import Foundation
import NocturneBatch
import NocturneOutput
import NocturneTestSupport
import Testing

@Suite("The shipped network on drawn shelves")
struct ShelfCountTests {
    private let model = Checkout.folder.appendingPathComponent("Samples/Models/book-spines").path

    /// The numbers of books found in the photos of a folder, by their names.
    private func counts(in folder: URL) async throws -> [String: Int] {
        let bench = try ShelfBench(model: model)
        let (outcome, output) = try await bench.run(inputs: [folder.path])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .map { String($0.prefix { $0 != "." }) }
        #expect(outcome.counts.completed == names.count)
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                let instances = try ShelfBench.json(output.item(name) + "/result.json")["instances"] as? [Any]
                return (name, try #require(instances).count)
            }
        )
    }

    @Test("Every book of the sample shelves is found, and nothing else")
    func samples() async throws {
        let found = try await counts(in: Checkout.folder.appendingPathComponent("Samples/Photos/shelves"))
        #expect(found == ["few": 5, "one-row": 10, "rows": 22])
    }

    @Test("Shelves with 1, 5, 10 and 20 books have so many")
    func counts() async throws {
        let found = try await counts(in: Fixtures.url("Photos/shelves"))
        #expect(found == ["books-01": 1, "books-05": 5, "books-10": 10, "books-20": 20])
    }
}
