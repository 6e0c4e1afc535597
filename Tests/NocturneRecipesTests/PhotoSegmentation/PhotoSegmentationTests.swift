import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Label maps of photos")
struct PhotoSegmentationTests {
    private typealias Bench = SegmentedPhotoBench
    private typealias Area = SegmentedPhotoBench.Area
    private typealias Drawing = SegmentedPhotoBench.Drawing

    private static let black = SIMD3<UInt8>(0, 0, 0)
    private static let ground = SIMD3<UInt8>(60, 70, 80)

    /// Red at the border, two areas of green, a ring of blue; of the networks, before cleaning.
    private static let shapes = [
        Area(x: 0, y: 5, width: 14, height: 9, color: SIMD3(220, 40, 30), label: 1),
        Area(x: 30, y: 20, width: 21, height: 17, color: SIMD3(30, 200, 60), label: 2),
        Area(x: 60, y: 3, width: 5, height: 4, color: SIMD3(30, 210, 50), label: 2),
        Area(x: 70, y: 30, width: 20, height: 20, color: SIMD3(10, 60, 240), label: 3),
        Area(x: 75, y: 36, width: 6, height: 5, color: ground, label: 0),
    ]

    /// What the rules of the package make of it: the smaller green is removed, the ring filled.
    private static let cleaned = Drawing(
        width: 101,
        height: 67,
        [
            shapes[0], shapes[1], shapes[3],
        ]
    )

    private func labels(_ result: [String: Any]) -> [[String: Any]] { result["labels"] as? [[String: Any]] ?? [] }

    @Test(
        "A photo is scaled to the package's size, and the labels return to its own pixels",
        arguments: ["[96, 160]", "[160]"]
    )
    func size(_ size: String) async throws {
        let rule = "{\"method\": \"spline\", \"order\": 0}"
        let keys = "\"size\": \(size), \"resampling\": {\"image\": \(rule), \"logits\": \(rule)}, \"tileStep\": 0.5"
        let bench = try Bench(replacing: "\"tileStep\": 0.5", with: keys)
        let areas = [
            Area(x: 0, y: 5, width: 14, height: 9, color: SIMD3(220, 40, 30), label: 1),
            Area(x: 20, y: 3, width: 9, height: 17, color: SIMD3(30, 200, 60), label: 2),
        ]
        let drawing = Drawing(width: 40, height: 24, areas)
        try bench.add("shapes.png", drawing)
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 1)
        #expect(try Bench.labels(output, "shapes") == drawing.labels)
        // Tiles of 24 × 32, half a tile apart, on four times the pixels.
        let recipe = try bench.recipe()
        let source = try PhotoSegmentation.source(from: try #require(bench.sources(of: recipe)["shapes"]))
        #expect(try recipe.plan(source, threads: 2, lean: false).steps == 7 * 9)
    }

    @Test("The label of every pixel, and numbers, masks and statistics of what is in the map")
    func map() async throws {
        let bench = try Bench()
        try bench.add("shapes.png", Drawing(width: 101, height: 67, Self.shapes))
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 1)
        #expect(try Bench.labels(output, "shapes") == Self.cleaned.labels)
        let result = try ShelfBench.json(output.item("shapes") + "/result.json")
        #expect(result["task"] as? String == "photo-segmentation")
        #expect(labels(result).map { $0["name"] as? String } == ["red", "green", "blue"])
        let areas = [14 * 9, 21 * 17, 400]
        #expect(labels(result).map { $0["pixels"] as? Int } == areas)
        #expect(labels(result).map { $0["status"] as? String } == ["touchesBorder", "complete", "complete"])
        #expect(labels(result).map { $0["components"] as? Int } == [1, 1, 1])
        let green = labels(result)[1]
        #expect(green["box"] as? [String: Int] == ["x": 30, "y": 20, "width": 21, "height": 17])
        #expect(green["centroid"] as? [Double] == [40.5, 28.5])
        #expect(green["meanColor"] as? [Double] == [30, 200, 60])
        #expect(abs((green["share"] as? Double ?? 0) - 357.0 / 6767) < 1e-6)
        let cleaning = green["cleaning"] as? [String: Int]
        #expect(cleaning?["pixelsRemoved"] == 20 && cleaning?["componentsRemoved"] == 1)
        #expect((labels(result)[2]["cleaning"] as? [String: Int])?["pixelsFilled"] == 30)
        let confidence = try #require(green["confidence"] as? [String: Any])
        #expect((0.25...0.5).contains(confidence["meanProbability"] as? Double ?? 0))
        #expect(confidence["passAgreement"] as? Double == 1)

        let coco = try ShelfBench.json(output.item("shapes") + "/coco.json")
        let annotations = try #require(coco["annotations"] as? [[String: Any]])
        #expect(annotations.map { $0["category_id"] as? Int } == [1, 2, 3])
        #expect(annotations.map { $0["area"] as? Int } == areas)
        #expect(annotations[2]["bbox"] as? [Int] == [70, 30, 20, 20])
        #expect((annotations[0]["segmentation"] as? [String: Any])?["size"] as? [Int] == [67, 101])
        let overlay = try PhotoReader.read(at: output.item("shapes") + "/overlay.jpg").image
        #expect(overlay.width == 240 && overlay.height > 67)
        let table = try String(contentsOfFile: output.path + "/statistics.csv", encoding: .utf8)
        #expect(table.contains("green") && table.contains("largestComponentShare"))
    }

    @Test("A black border, which is cropped, changes nothing inside; photos smaller than a patch, of one pixel too")
    func sizes() async throws {
        let bench = try Bench()
        var drawings: [String: Drawing] = [:]
        let red = SIMD3<UInt8>(250, 20, 10)
        let frame = Area(x: 9, y: 7, width: 61, height: 40, color: Self.ground, label: 0)
        let inside = Area(x: 20, y: 7, width: 11, height: 13, color: red, label: 1)
        drawings["framed"] = Drawing(width: 83, height: 59, ground: Self.black, [frame, inside])
        drawings["small"] = Drawing(
            width: 13,
            height: 11,
            [Area(x: 2, y: 3, width: 7, height: 5, color: red, label: 1)]
        )
        drawings["pixel"] = Drawing(width: 1, height: 1, [Area(x: 0, y: 0, width: 1, height: 1, color: red, label: 1)])
        drawings["black"] = Drawing(width: 40, height: 30, ground: Self.black, [])
        drawings["line"] = Drawing(
            width: 131,
            height: 1,
            [Area(x: 50, y: 0, width: 50, height: 1, color: red, label: 1)]
        )
        for (name, drawing) in drawings { try bench.add(name + ".png", drawing) }
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == drawings.count)
        for (name, drawing) in drawings {
            #expect(try Bench.labels(output, name) == drawing.labels, "\(name)")
        }
        let black = try ShelfBench.json(output.item("black") + "/result.json")
        #expect((black["notes"] as? [String])?.contains("not found: red, green, blue") == true)
        #expect(labels(black)[0]["box"] is NSNull && labels(black)[0]["confidence"] is NSNull)
    }

    @Test("A grey network: colours become grey as by Pillow, labels above 255 take 16 bits; notes say what was done")
    func grey() async throws {
        let bench = try Bench("dark")
        // 0.299 red + 0.587 green + 0.114 blue of the last two areas is 99.7 and 99.0, rounded.
        let drawing = Drawing(
            width: 50,
            height: 20,
            ground: SIMD3(255, 255, 255),
            [
                Area(x: 0, y: 0, width: 10, height: 20, color: SIMD3(100, 100, 100), label: 0),
                Area(x: 10, y: 0, width: 10, height: 20, color: SIMD3(99, 99, 99), label: 300),
                Area(x: 20, y: 0, width: 10, height: 20, color: SIMD3(255, 0, 206), label: 0),
                Area(x: 30, y: 0, width: 10, height: 20, color: SIMD3(255, 0, 200), label: 300),
            ]
        )
        try bench.add("colors.png", drawing)
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 1)
        let map = try LabelPNG.read(output.item("colors") + "/labels.png", pixels: 1000)
        #expect(map.bits == 16 && map.width == 50 && map.labels == drawing.labels)
        #expect(try PhotoReader.readHeader(at: output.item("colors") + "/labels.png").bitDepth == 16)
        let result = try ShelfBench.json(output.item("colors") + "/result.json")
        #expect((result["notes"] as? [String])?.contains { $0.contains("the networks take grey") } == true)
        #expect((result["labelMap"] as? [String: Any])?["bitDepth"] as? Int == 16)
    }

    @Test("A photo of 16 bits and one in grey for a network that takes colours")
    func otherPhotos() async throws {
        let bench = try Bench()
        for name in ["png-grey-16.png", "png-rgb-16.png", "png-grey-alpha-8.png"] {
            try FileManager.default.copyItem(at: Fixtures.url("Photos/\(name)"), to: bench.folder("in/\(name)"))
        }
        let (outcome, output) = try await bench.run()
        #expect(outcome.counts.completed == 3)
        func notes(_ item: String) throws -> String {
            try (ShelfBench.json(output.item(item) + "/result.json")["notes"] as? [String] ?? []).joined(separator: ";")
        }
        let grey = try notes("png-grey-16")
        #expect(grey.contains("red, green and blue are equal") && grey.contains("16 bits a sample"))
        #expect(try !notes("png-rgb-16").contains("are equal"))
        #expect(try notes("png-grey-alpha-8").contains("placed on white"))
    }

    @Test("The same bytes for any number of threads, after an interruption, and in the memory that is planned")
    func sameBytes() async throws {
        let bench = try Bench()
        try bench.add("a.png", Drawing(width: 101, height: 67, Self.shapes))
        let large = Area(x: 100, y: 90, width: 300, height: 200, color: SIMD3(200, 10, 0), label: 1)
        try bench.add("b.png", Drawing(width: 640, height: 480, [large]))
        let (_, whole) = try await bench.run(threads: 1)
        let expected = try ShelfBench.tree(whole, items: ["a", "b"])
        #expect(expected.count == 8)

        let (_, other) = try await bench.run(to: "threads", threads: 5)
        #expect(try ShelfBench.tree(other, items: ["a", "b"]) == expected)

        let (first, output) = try await bench.run(to: "again") { event, control in
            let isSecond = event.event == .itemStarted && event.item == "b"
            if isSecond { control.cancel() }
        }
        #expect(first.counts.completed < 2)
        let (second, _) = try await bench.run(to: "again")
        #expect(second.counts.completed == 2)
        #expect(try ShelfBench.tree(output, items: ["a", "b"]) == expected)

        // Just what is planned is enough, and less refuses the larger photo alone.
        let recipe = try bench.recipe()
        let source = try #require(try bench.sources(of: recipe)["b"])
        let needed = try recipe.plan(source: source, threads: 2, within: .max, filesInMemory: false).peak()
        let most = BatchOptions.processBytes + needed + (try recipe.sharedBytes(threads: 2))
        let (enough, small) = try await bench.run(to: "enough", memoryBytes: most + (1 << 20))
        #expect(enough.counts.completed == 2)
        #expect(try ShelfBench.tree(small, items: ["a", "b"]) == expected)
        let (less, _) = try await bench.run(to: "less", memoryBytes: most - (4 << 20))
        #expect(less.counts.completed == 1 && less.counts.failed == 1)
    }

    @Test("What is no picture is set aside, broken photos and outputs that are not numbers fail, others go on")
    func failures() async throws {
        let bench = try Bench()
        try bench.add("good.png", Drawing(width: 101, height: 67, Self.shapes))
        let bytes = try Data(contentsOf: bench.folder("in/good.png"))
        try bytes.prefix(bytes.count / 2).write(to: bench.folder("in/broken.png"))
        try bench.folder.write("no picture", to: "in/notes.txt")
        let (outcome, _) = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1 && outcome.counts.skipped == 1)
        let failing = try await bench.run(to: "failing", engine: FailingEngine(.notANumber))
        #expect(failing.outcome.counts.completed == 0 && failing.outcome.counts.failed == 2)
    }

    @Test("Every result fits its schema, which refuses others")
    func schema() async throws {
        let bench = try Bench()
        try bench.add("shapes.png", Drawing(width: 101, height: 67, Self.shapes))
        let (_, output) = try await bench.run(
            PhotoSegmentation.Options(given: ["disable-tta": "yes", "overlay-size": "64"])
        )
        let schema = try JSONSchema(
            Data(
                contentsOf: Checkout.folder.appendingPathComponent(
                    "Samples/Schemas/photo-segmentation-result.schema.json"
                )
            )
        )
        let data = try Data(contentsOf: URL(fileURLWithPath: output.item("shapes") + "/result.json"))
        #expect(try schema.faults(in: data) == [])
        let text = String(decoding: data, as: UTF8.self)
        for (old, new) in [("\"pixels\"", "\"area\""), ("labels.png", "map.png"), ("\"complete\"", "\"whole\"")] {
            #expect(text.contains(old))
            #expect(try !schema.faults(in: Data(text.replacingOccurrences(of: old, with: new).utf8)).isEmpty)
        }
        let result = try ShelfBench.json(output.item("shapes") + "/result.json")
        #expect(result["options"] as? [String: String] == ["disable-tta": "yes", "overlay-size": "64"])
        #expect((labels(result)[0]["confidence"] as? [String: Any])?["passAgreement"] == nil)
    }
}
