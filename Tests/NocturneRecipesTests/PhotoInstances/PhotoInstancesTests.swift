import Foundation
import NocturneBatch
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
import Testing

@Suite("Photos taken apart")
struct PhotoInstancesTests {
    private let twoRows: [ShelfBench.Book] = [
        .init(x: 80, y: 6, width: 14, height: 36), .init(x: 10, y: 8, width: 12, height: 34),
        .init(x: 24, y: 4, width: 16, height: 38), .init(x: 100, y: 56, width: 12, height: 34),
        .init(x: 30, y: 60, width: 20, height: 30),
    ]

    private func boxes(_ result: [String: Any]) -> [[Int]] {
        (result["instances"] as? [[String: Any]] ?? []).map { instance in
            let box = instance["box"] as? [String: Int] ?? [:]
            return ["x", "y", "width", "height"].map { box[$0] ?? -1 }
        }
    }

    @Test("Books of two rows come out in reading order with box, crop, mask and COCO entry")
    func order() async throws {
        let bench = try ShelfBench()
        try bench.add("shelf.png", books: twoRows)
        let (outcome, output) = try await bench.run(PhotoInstances.Options(given: ["crops": "png"]))
        #expect(outcome.counts.completed == 1)
        let folder = output.item("shelf")
        let result = try ShelfBench.json(folder + "/result.json")
        let expected = [1, 2, 0, 4, 3].map { [twoRows[$0].x, twoRows[$0].y, twoRows[$0].width, twoRows[$0].height] }
        #expect(boxes(result) == expected)
        let instances = result["instances"] as? [[String: Any]] ?? []
        #expect(instances.map { $0["row"] as? Int } == [1, 1, 1, 2, 2])
        #expect(instances.map { $0["id"] as? Int } == [1, 2, 3, 4, 5])
        #expect(result["rowCount"] as? Int == 2)
        let normalized = instances[0]["boxNormalized"] as? [String: Double]
        #expect(
            normalized == [
                "x": 10.0 / 160, "y": Rounding.six(8.0 / 96), "width": 12.0 / 160, "height": Rounding.six(34.0 / 96),
            ]
        )

        let coco = try ShelfBench.json(folder + "/coco.json")
        let annotations = coco["annotations"] as? [[String: Any]] ?? []
        #expect(annotations.map { $0["bbox"] as? [Int] } == expected)
        #expect(annotations.map { $0["area"] as? Int } == expected.map { $0[2] * $0[3] })
        #expect((annotations[0]["segmentation"] as? [String: Any])?["size"] as? [Int] == [96, 160])

        let crop = try PhotoReader.read(at: folder + "/crops/shelf_001_book.png")
        #expect(crop.image.width == 12 && crop.image.height == 34 && crop.facts.hasAlpha)
        let picture = ShelfBench.picture(width: 160, height: 96, books: twoRows)
        for y in 0..<34 { for x in 0..<12 { #expect(crop.image[x, y] == picture[10 + x, 8 + y]) } }
        let upright = try PhotoReader.read(at: folder + "/crops/shelf_001_book_upright.png")
        #expect(upright.image == crop.image)
        #expect(FileSystem.exists(folder + "/thumbnails/shelf_005_book.png"))
        #expect(FileSystem.exists(folder + "/overlay.png"))
    }

    @Test("Results of a demonstration begin with that, those of other packages have no disclaimer")
    func demonstration() async throws {
        let folder = try TemporaryFolder("nocturne-package")
        try Fixtures.copyModel(
            "Models/coloured-maps",
            to: folder(""),
            replacing: "\"schemaVersion\": 2,",
            with: "\"schemaVersion\": 2, \"demonstration\": true,"
        )
        for isDemonstration in [false, true] {
            let bench = try isDemonstration ? ShelfBench(model: folder("").path) : ShelfBench()
            try bench.add("shelf.png", books: twoRows)
            let (_, output) = try await bench.run()
            let result = try ShelfBench.json(output.item("shelf") + "/result.json")
            let coco = try ShelfBench.json(output.item("shelf") + "/coco.json")
            let description = (coco["info"] as? [String: Any])?["description"] as? String
            #expect(description?.hasPrefix(Disclaimer.demonstration) == isDemonstration)
            let expected = isDemonstration ? Disclaimer.marked(isDemonstration: true) : nil
            #expect(result["disclaimer"] as? String == expected)
        }
    }

    private enum Rounding {
        static func six(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
    }

    @Test(
        "Crops as JPEG have the size of the box and the photo's colours; without crops there are none"
    )
    func cropFormats() async throws {
        let bench = try ShelfBench()
        try bench.add("shelf.png", books: twoRows)
        let (_, output) = try await bench.run()
        let folder = output.item("shelf")
        let crop = try PhotoReader.read(at: folder + "/crops/shelf_001_book.jpg")
        #expect(crop.image.width == 12 && crop.image.height == 34 && crop.facts.format == .jpeg)
        let picture = ShelfBench.picture(width: 160, height: 96, books: twoRows)
        func mean(_ image: RGBImage, _ x: Int, _ y: Int) -> SIMD3<Int> {
            var sum = SIMD3<Int>()
            for dy in 0..<34 { for dx in 0..<12 { sum &+= SIMD3(truncatingIfNeeded: image[x + dx, y + dy]) } }
            return sum / (12 * 34)
        }
        let difference = mean(crop.image, 0, 0) &- mean(picture, 10, 8)
        #expect((0..<3).allSatisfy { abs(difference[$0]) <= 12 }, "\(difference)")
        #expect(FileSystem.exists(folder + "/overlay.jpg") && !FileSystem.exists(folder + "/overlay.png"))

        let (_, bare) = try await bench.run(PhotoInstances.Options(given: ["crops": "none"]), to: "bare")
        #expect(!FileSystem.exists(bare.item("shelf") + "/crops"))
        #expect(FileSystem.entries(bare.item("shelf") + "/thumbnails").count == 5)
        let result = try ShelfBench.json(bare.item("shelf") + "/result.json")
        let instances = try #require(result["instances"] as? [[String: Any]])
        #expect(instances.allSatisfy { $0["crop"] is NSNull && $0["state"] as? String == "ready" })
    }

    @Test("The formats of crops read back from their texts, and the options from the record")
    func formatTexts() throws {
        for format in [PhotoInstances.CropFormat.standard, .jpeg(quality: 1), .jpeg(quality: 100), .png, .none] {
            #expect(PhotoInstances.CropFormat(argument: format.defaultValueDescription) == format)
        }
        for text in ["", "jpeg:", "jpeg:0", "jpeg:101", "JPEG", "jpeg:8 5", "webp"] {
            #expect(PhotoInstances.CropFormat(argument: text) == nil)
        }
        #expect(PhotoInstances.Options().recorded == ["crops": "jpeg"])
        let new = try PhotoInstances.Options(given: [
            "single-item-fallback": "yes", "crops": "jpeg:90", "overlay-size": "800",
        ])
        #expect(try PhotoInstances.Options(recorded: new.recorded) == new)
        #expect(new.recorded == ["single-item-fallback": "yes", "crops": "jpeg:90", "overlay-size": "800"])
    }

    @Test("A lying book's upright crop stands, its left end on top")
    func lying() async throws {
        let bench = try ShelfBench()
        try bench.add("one.png", books: [.init(x: 20, y: 40, width: 100, height: 20)])
        let (_, output) = try await bench.run(PhotoInstances.Options(given: ["crops": "png"]))
        let folder = output.item("one")
        let plain = try PhotoReader.read(at: folder + "/crops/one_001_book.png").image
        let upright = try PhotoReader.read(at: folder + "/crops/one_001_book_upright.png").image
        #expect(plain.width == 100 && plain.height == 20)
        #expect(upright.width == 20 && upright.height == 100)
        // Turned clockwise: what was left is on top, what was on top is right.
        var wrong = 0
        for y in 0..<100 { for x in 0..<20 where upright[x, y] != plain[y, 19 - x] { wrong += 1 } }
        #expect(wrong == 0)
    }

    @Test("Nothing found completes with a note and no instance, or with the fallback is one item")
    func nothing() async throws {
        let bench = try ShelfBench()
        try bench.add("empty.png", books: [])
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 1)
        let result = try ShelfBench.json(output.item("empty") + "/result.json")
        #expect((result["instances"] as? [Any])?.isEmpty == true)
        #expect(result["notes"] as? [String] == ["the picture is small: 160×96 pixels", "nothing was found"])

        let (_, second) = try await bench.run(
            PhotoInstances.Options(given: ["single-item-fallback": "yes"]),
            to: "whole"
        )
        let whole = try ShelfBench.json(second.item("empty") + "/result.json")
        #expect(boxes(whole) == [[0, 0, 160, 96]])
        let instance = (whole["instances"] as? [[String: Any]])?.first
        #expect(instance?["confidence"] is NSNull)
        #expect(instance?["areaPixels"] as? Int == 160 * 96)
        #expect(whole["fingerprint"] as? String != result["fingerprint"] as? String)
    }

    @Test("Two runs give the same bytes, for any number of threads")
    func sameBytes() async throws {
        let bench = try ShelfBench()
        try bench.add("a.png", width: 500, height: 300, books: twoRows)
        try bench.add("b.png", books: twoRows)
        var trees: [[String: String]] = []
        for (index, threads) in [1, 2, 5, 2].enumerated() {
            let (outcome, output) = try await bench.run(to: "out\(index)", threads: threads)
            #expect(outcome.counts.completed == 2)
            trees.append(try ShelfBench.tree(output, items: ["a", "b"]))
        }
        #expect(trees[0].count > 20)
        for tree in trees { #expect(tree == trees[0]) }
    }

    @Test("Same-named pictures of two folders, and a.png beside a.jpg and a, all keep their results")
    func names() async throws {
        let bench = try ShelfBench()
        for name in ["one/a.png", "two/a.png", "two/a.jpg", "two/a"] { try bench.add(name, books: [twoRows[0]]) }
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 4)
        let results = FileSystem.files(below: output.path).filter { $0.hasSuffix("/result.json") }
        #expect(results.count == 4)
    }

    @Test("What is no picture is set aside, a broken or tiny one is refused, and the others go on")
    func others() async throws {
        let bench = try ShelfBench()
        try bench.add("good.png", books: [twoRows[0]])
        try bench.add("tiny.png", width: 30, height: 12, books: [])
        try bench.folder.write("no picture", to: "in/notes.txt")
        let bytes = try Data(contentsOf: bench.folder("in/good.png"))
        try bytes.prefix(bytes.count / 2).write(to: bench.folder("in/broken.png"))
        let (outcome, _) = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 2 && outcome.counts.skipped == 1)
    }

    @Test("Every result fits its schema, and the schema is able to refuse")
    func schema() async throws {
        let bench = try ShelfBench()
        try bench.add("shelf.png", books: twoRows)
        try bench.add("empty.png", books: [])
        let (_, output) = try await bench.run(PhotoInstances.Options(given: ["single-item-fallback": "yes"]))
        let schema = try JSONSchema(
            Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/instances-result.schema.json"))
        )
        for item in ["shelf", "empty"] {
            let data = try Data(contentsOf: URL(fileURLWithPath: output.item(item) + "/result.json"))
            #expect(try schema.faults(in: data) == [])
            let damaged = String(decoding: data, as: UTF8.self).replacingOccurrences(
                of: "\"areaPixels\"",
                with: "\"area\""
            )
            #expect(try !schema.faults(in: Data(damaged.utf8)).isEmpty)
        }
    }

    @Test("A finished folder is recognised by its fingerprint, and a changed file is not taken for it")
    func recognizing() async throws {
        let bench = try ShelfBench()
        try bench.add("shelf.png", books: twoRows)
        let (_, output) = try await bench.run()
        let folder = output.item("shelf")
        let fingerprint = try #require(try ShelfBench.json(folder + "/result.json")["fingerprint"] as? String)
        let package = try ModelPackage.load(folder: bench.model)
        let model = try PhotoInstancesModel(ChosenModel(package: package, engine: BuiltinEngine(), precision: .float32))
        let recipe = PhotoInstances(models: [model], options: PhotoInstances.Options())
        #expect(try recipe.recognize(folder: folder, fingerprint: fingerprint)?.files.count == 18)
        #expect(try recipe.recognize(folder: folder, fingerprint: String(repeating: "0", count: 64)) == nil)
        try Data([1]).write(to: URL(fileURLWithPath: folder + "/overlay.jpg"))
        #expect(try recipe.recognize(folder: folder, fingerprint: fingerprint) == nil)
    }
}
