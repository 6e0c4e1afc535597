import Foundation
import NocturneBatch
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Text on objects in photos")
struct PhotoTextTests {
    private static let reader = Fixtures.url("Models/drawn-letters").path

    private let books: [ShelfBench.Book] = [
        .init(x: 4, y: 4, width: 26, height: 84, text: "ABA"),
        .init(x: 34, y: 4, width: 26, height: 84, text: "BA", isUpwards: true),
        .init(x: 64, y: 4, width: 26, height: 84),
        .init(x: 94, y: 60, width: 62, height: 26, text: "AB"),
    ]

    private func instances(_ output: OutputFolder) throws -> [[String: Any]] {
        let result = try ShelfBench.json(output.item("shelf") + "/result.json")
        return result["instances"] as? [[String: Any]] ?? []
    }

    private func readings(_ output: OutputFolder) throws -> [[String: Any]] {
        try instances(output).compactMap { $0["reading"] as? [String: Any] }
    }

    @Test("Text is read downwards, upwards and on lying books, with its direction, confidence and corners")
    func directions() async throws {
        let bench = try ShelfBench(textModel: Self.reader)
        try bench.add("shelf.png", books: books)
        let (outcome, output) = try await bench.run(PhotoInstances.Options(given: ["crops": "png"]))
        #expect(outcome.counts.completed == 1)
        let found = try readings(output)
        #expect(found.map { $0["text"] as? String } == ["ABA", "BA", "", "AB"])
        let turns = found.map { $0["turn"] as? String }
        #expect(turns == ["counterclockwise", "clockwise", "counterclockwise", "counterclockwise"])
        for (index, reading) in found.enumerated() where index != 2 {
            #expect((reading["confidence"] as? Double ?? 0) > 0.95)
            #expect((reading["lines"] as? [[String: Any]])?.count == 1)
        }
        #expect(found[2]["confidence"] is NSNull && (found[2]["lines"] as? [Any])?.isEmpty == true)
        // The upper side of the first book's text is on its right, that of the second one on its left.
        let expected = [[23.5, 14.5, 10.5, 73.5], [40.5, 77.5, 53.5, 38.5], nil, [104.5, 66.5, 143.5, 79.5]]
        for (reading, expected) in zip(found, expected) {
            guard let expected else { continue }
            let lines = reading["lines"] as? [[String: Any]] ?? []
            let corners = try #require(lines[0]["corners"] as? [[Double]])
            let ends = corners[0] + corners[2]
            #expect(zip(ends, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(corners), \(expected)")
        }
    }

    @Test("Bits do not depend on threads, a result is recognized with its text, and verify finds no fault")
    func same() async throws {
        let bench = try ShelfBench(textModel: Self.reader)
        try bench.add("shelf.png", books: books)
        var trees: [[String: String]] = []
        for threads in [1, 3] {
            let (_, output) = try await bench.run(to: "out\(threads)", threads: threads)
            trees.append(try ShelfBench.tree(output, items: ["shelf"]))
        }
        #expect(trees[0] == trees[1])
        let folder = OutputFolder(bench.folder("out1").path).item("shelf")
        let bytes = try FileSystem.read(folder + "/result.json")
        #expect(try PhotoInstances.resultSchema.faults(in: bytes).isEmpty)
        let parts = try PhotoInstances.reviewParts(of: bytes)
        #expect(parts.objects.map { $0.fields.map(\.value) } == [["ABA"], ["BA"], [], ["AB"]])
        let loaded = try ShelfBench.json(folder + "/result.json")
        let fingerprint = try #require(loaded["fingerprint"] as? String)
        let recipe = PhotoInstances(models: [], options: PhotoInstances.Options())
        let product = try #require(try recipe.recognize(folder: folder, fingerprint: fingerprint))
        #expect(product.parts.map { $0.texts?.map(\.value) } == [["ABA"], ["BA"], nil, ["AB"]])
        #expect(product.parts.allSatisfy { $0.state == .ready })
    }

    @Test("Without a package that reads text nothing else changes; with one, results have another fingerprint")
    func fingerprints() async throws {
        let plain = try ShelfBench()
        let reading = try ShelfBench(textModel: Self.reader)
        var results: [[String: Any]] = []
        for bench in [plain, reading] {
            try bench.add("shelf.png", books: books)
            let (_, output) = try await bench.run()
            results.append(try ShelfBench.json(output.item("shelf") + "/result.json"))
        }
        #expect(results[0]["textModel"] == nil && results[0]["textEngine"] == nil)
        #expect((results[1]["textModel"] as? [String: Any])?["id"] as? String == "drawn-letters")
        #expect(results[0]["fingerprint"] as? String != results[1]["fingerprint"] as? String)
        let boxes = results.map { result in
            (result["instances"] as? [[String: Any]] ?? []).map { $0["box"] as? [String: Int] ?? [:] }
        }
        #expect(boxes[0] == boxes[1] && boxes[0].count == books.count)
        #expect((results[0]["instances"] as? [[String: Any]])?.allSatisfy { $0["reading"] == nil } == true)
    }

    @Test("With --enrich, objects wait for titles although their text is read")
    func waiting() async throws {
        let bench = try ShelfBench(textModel: Self.reader)
        try bench.add("shelf.png", books: books)
        let (_, output) = try await bench.run(PhotoInstances.Options(given: ["enrich": "yes"]))
        #expect(try instances(output).allSatisfy { $0["state"] as? String == "enriching" })
    }

    // MARK: Packages

    private func chosen(_ path: String) throws -> ChosenModel {
        ChosenModel(package: try ModelPackage.checked(folder: path), engine: BuiltinEngine(), precision: .float32)
    }

    @Test("A package that reads text needs one that finds objects, and is the only one of its kind")
    func combinations() throws {
        let options = PhotoInstances.Options()
        let (text, finder) = (try chosen(Self.reader), try chosen(Fixtures.url("Models/coloured-maps").path))
        let recipe = try #require(try PhotoInstances.make([text, finder], options: options) as? PhotoInstances)
        #expect(
            recipe.textModel?.chosen.package.id == "drawn-letters"
                && recipe.models.map(\.package.id) == ["coloured-maps"]
        )
        #expect(try PhotoInstances.networks(of: text).map(\.file) == ["detection.onnx", "recognition.onnx"])
        #expect(
            try recipe.sharedBytes(threads: 2)
                > PhotoInstances(models: recipe.models, options: options).sharedBytes(threads: 2)
        )
        for (models, reason) in [
            ([text], "name a model that finds objects"), ([text, text, finder], "only one model"),
        ] {
            let error = #expect(throws: BatchError.self) { try PhotoInstances.make(models, options: options) }
            #expect("\(error.map(String.init(describing:)) ?? "")".contains(reason))
        }
    }

    @Test(
        "What does not fit is refused with its key",
        arguments: [
            ("\"longSide\": 160", "\"longSide\": 16", "photoText.detection.longSide"),
            ("\"longSide\": 160", "\"longSide\": 161, \"multiple\": 32", "photoText.detection.longSide"),
            ("\"growth\": 0", "\"growth\": 11", "photoText.detection.growth"),
            ("\"growth\": 0", "\"channels\": \"hsv\"", "photoText.detection.channels"),
            ("\"growth\": 0", "\"threshold\": 1.5", "photoText.detection.threshold"),
            ("\"height\": 16", "\"height\": 4", "photoText.recognition.height"),
            ("\"maximumWidth\": 256", "\"maximumWidth\": 250", "photoText.recognition.maximumWidth"),
            ("\"characters\": \"characters.txt\"", "\"characters\": \"a.txt\"", "photoText.recognition.characters"),
            ("\"minimumConfidence\": 0.6", "\"minimumConfidence\": 2", "photoText.minimumConfidence"),
        ]
    )
    func refused(_ old: String, _ new: String, _ key: String) throws {
        let folder = try TemporaryFolder("nocturne-text")
        let error = #expect(throws: ModelPackageError.self) {
            _ = try ModelPackage.checked(
                folder: try package(in: folder) { $0.replacingOccurrences(of: old, with: new) }
            )
        }
        #expect(error?.key == key, "\(String(describing: error))")
    }

    @Test(
        "Characters that do not fit the network, or are not characters, are refused",
        arguments: ["A\n", "A\n\nB\n", ""]
    )
    func characters(_ text: String) throws {
        let folder = try TemporaryFolder("nocturne-text")
        let path = try package(in: folder, characters: Array(text.utf8)) { $0 }
        #expect(throws: (any Error).self) {
            try PhotoTextModel(
                ChosenModel(package: try ModelPackage.load(folder: path), engine: BuiltinEngine(), precision: .float32)
            )
        }
    }

    @Test("A byte-order mark before the characters is none of them")
    func byteOrderMark() async throws {
        let folder = try TemporaryFolder("nocturne-text")
        let marked = try [0xEF, 0xBB, 0xBF] + FileSystem.read(Self.reader + "/characters.txt")
        let bench = try ShelfBench(textModel: try package(in: folder, characters: marked) { $0 })
        try bench.add("shelf.png", books: books)
        let (_, output) = try await bench.run()
        #expect(try readings(output).first?["text"] as? String == "ABA")
    }

    /// A copy of the fixture with other characters and a changed description.
    private func package(
        in folder: TemporaryFolder,
        characters: [UInt8]? = nil,
        _ change: (String) -> String
    ) throws -> String {
        for name in ["detection.onnx", "recognition.onnx", "characters.txt"] {
            try FileManager.default.copyItem(atPath: "\(Self.reader)/\(name)", toPath: folder(name).path)
        }
        var text = try String(contentsOfFile: Self.reader + "/model.json", encoding: .utf8)
        if let characters {
            let old = try FileSystem.read(Self.reader + "/characters.txt")
            try folder.write(characters, to: "characters.txt")
            text = text.replacingOccurrences(of: ContentDigest.of(old).hex, with: ContentDigest.of(characters).hex)
                .replacingOccurrences(of: "\"bytes\": \(old.count)\n", with: "\"bytes\": \(characters.count)\n")
        }
        let changed = change(text)
        try folder.write(changed, to: "model.json")
        return folder.path
    }
}
