import Foundation
import NocturneBatch
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Photos on which segmentation fails, and pieces too small beside the others")
struct PhotoFallbackTests {
    private let book = ShelfBench.Book(x: 20, y: 10, width: 20, height: 60)

    @Test(
        "A photo on which the network fails is one item with the fallback, with a note that says why; otherwise it fails",
        arguments: [
            (FailingEngine.Failure.notANumber, "the network's output cannot be used: ", "not numbers"),
            (.doesNotRun, "the network cannot be run: ", "for a test"),
            (.otherOutput, "the network's output cannot be used: ", "has the extents"),
        ]
    )
    func failure(_ failure: FailingEngine.Failure, _ start: String, _ reason: String) async throws {
        let bench = try ShelfBench()
        try bench.add("shelf.png", books: [book])
        let engine = FailingEngine(failure)
        let (failed, _) = try await bench.run(engine: engine)
        #expect(failed.counts.failed == 1 && failed.counts.completed == 0)

        let options = try PhotoInstances.Options(given: ["single-item-fallback": "yes"])
        let (outcome, output) = try await bench.run(options, to: "whole", engine: engine)
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 0)
        let result = try ShelfBench.json(output.item("shelf") + "/result.json")
        let instances = result["instances"] as? [[String: Any]] ?? []
        #expect(instances.count == 1)
        #expect(instances.first?["box"] as? [String: Int] == ["x": 0, "y": 0, "width": 160, "height": 96])
        #expect(instances.first?["confidence"] is NSNull)
        let note = try #require((result["notes"] as? [String])?.last)
        #expect(note.hasPrefix(start) && note.contains(reason), "\(note)")
        #expect(note.hasSuffix("; the whole picture is one item"), "\(note)")
    }

    @Test("A photo that cannot be read fails with the fallback, too")
    func unreadable() async throws {
        let bench = try ShelfBench()
        try bench.add("shelf.png", books: [book])
        let path = bench.folder("in/shelf.png")
        try Data(contentsOf: path).prefix(120).write(to: path)
        let (outcome, _) = try await bench.run(PhotoInstances.Options(given: ["single-item-fallback": "yes"]))
        #expect(outcome.counts.failed == 1 && outcome.counts.completed == 0)
    }

    /// The fixture's package with one more rule.
    private func package(_ rule: String, _ value: Double, in folder: TemporaryFolder) throws -> String {
        let source = Fixtures.url("Models/coloured-maps")
        let text = try String(contentsOf: source.appendingPathComponent("model.json"), encoding: .utf8)
        let changed = text.replacingOccurrences(
            of: "\"mergeBoundary\": 0.3",
            with: "\"mergeBoundary\": 0.3, \"\(rule)\": \(value)"
        )
        #expect(changed != text)
        try folder.write(changed, to: "model.json")
        try FileManager.default.copyItem(at: source.appendingPathComponent("network.onnx"), to: folder("network.onnx"))
        return folder("").path
    }

    @Test("Pieces without the outlines of books are not kept, with a note, if the package says so")
    func otherThings() async throws {
        let folder = try TemporaryFolder("nocturne-outlines")
        let bench = try ShelfBench(model: try package("minimumClearShare", 0.9, in: folder))
        try bench.add("shelf.png", books: [book])
        // Cut off by the picture's edge, where there is no outline.
        try bench.add("other.png", books: [.init(x: 0, y: 0, width: 60, height: 96)])
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 2)
        let shelf = try ShelfBench.json(output.item("shelf") + "/result.json")
        #expect((shelf["instances"] as? [[String: Any]])?.count == 1, "\(shelf["notes"] ?? "")")
        let other = try ShelfBench.json(output.item("other") + "/result.json")
        #expect((other["instances"] as? [[String: Any]])?.isEmpty == true)
        let notes = try #require(other["notes"] as? [String])
        let start = "1 possible object discarded: 0 % of their area has clear outlines, at least 90 % is needed"
        #expect(notes.contains { $0.hasPrefix(start) }, "\(notes)")
        #expect(notes.last == "nothing was found", "\(notes)")

        let (_, whole) = try await bench.run(
            PhotoInstances.Options(given: ["single-item-fallback": "yes"]),
            to: "whole"
        )
        let result = try ShelfBench.json(whole.item("other") + "/result.json")
        #expect((result["instances"] as? [[String: Any]])?.count == 1)
        #expect((result["notes"] as? [String])?.last == "nothing was found; the whole picture is one item")
    }

    @Test("Pieces much smaller than the others join the book beside them or go, with a note, if the package says so")
    func slivers() async throws {
        let books: [ShelfBench.Book] = [
            book, .init(x: 40, y: 10, width: 20, height: 60), .init(x: 80, y: 10, width: 20, height: 60),
            // One stands on the first book, one alone.
            .init(x: 24, y: 3, width: 9, height: 7), .init(x: 120, y: 30, width: 8, height: 8),
        ]
        let note = "pieces much smaller than the others: 1 merged with a neighbour, 1 dropped"
        for (share, count, notes) in [(0, 5, []), (0.05, 5, []), (0.15, 3, [note])] as [(Double, Int, [String])] {
            let folder = try TemporaryFolder("nocturne-slivers")
            let bench = try ShelfBench(model: try package("minimumAreaShareOfMedian", share, in: folder))
            try bench.add("shelf.png", books: books)
            let (_, output) = try await bench.run()
            let result = try ShelfBench.json(output.item("shelf") + "/result.json")
            let areas = (result["instances"] as? [[String: Any]] ?? []).compactMap { $0["areaPixels"] as? Int }
            #expect(areas.count == count, "share \(share)")
            let expectedSum: Int = count == 5 ? 3727 : 3663
            #expect(areas.reduce(0, +) == expectedSum, "share \(share)")
            if count == 3 { #expect(areas.sorted() == [1200, 1200, 1263]) }
            #expect(Array((result["notes"] as? [String] ?? []).dropFirst()) == notes, "share \(share)")
        }
    }
}
