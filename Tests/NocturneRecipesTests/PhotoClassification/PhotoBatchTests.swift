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
import Testing

@Suite("A batch of classified photos")
struct PhotoBatchTests {
    @Test("Scores, risk and attention of a red picture are those of its means")
    func red() async throws {
        let bench = try PhotoBench("primary")
        // Wide, so that the square in the middle has no border left and right.
        try bench.add("red.png", SIMD3(255, 0, 51), width: 64, height: 16)
        #expect(try await bench.run().counts.completed == 1)
        let result = try bench.result("red")
        #expect(result.leading == "red" && result.risk?.level == .high && result.metadata == nil)
        #expect(result.preparation.squarePx?.x == 24 && result.preparation.squarePx?.side == 16)
        // Two rows of grey 90 above and below twelve rows of red.
        let grey = 90.0 / 255 * 4 / 16
        let logits = [grey + 0.75, grey, grey + 0.2 * 0.75].map { 10 * $0 }
        let sum = logits.map { exp($0) }.reduce(0, +)
        for (entry, logit) in zip(result.classes, logits) {
            #expect(abs(entry.probability - exp(logit) / sum) < 2e-6)
        }
        #expect(abs(result.classes.map(\.probability).reduce(0, +) - 1) < 1e-3)
        // Rows of cells: half grey, red, red, half grey.
        let values = try JSONDecoder().decode(
            PhotoClassificationResult.AttentionValues.self,
            from: Data(contentsOf: URL(fileURLWithPath: bench.output.item("red") + "/attention.json"))
        )
        #expect(values.name == "red" && values.rows.count == 4)
        #expect(values.rows[1].allSatisfy { abs($0 - 1) < 1e-6 })
        #expect(values.rows[0].allSatisfy { abs($0 - Float(1 + 90.0 / 255) / 2) < 1e-6 })
        let files = try Set(FileManager.default.contentsOfDirectory(atPath: bench.output.item("red")))
        #expect(
            files == [
                "result.json", "run.json", "heatmap.png", "attention.json", "photo.png", "report.pdf", "thumbnail.png",
            ]
        )
    }

    @Test("Metadata reach the classifier, from the table or from a file beside the picture")
    func metadata() async throws {
        let bench = try PhotoBench("primary-told")
        for name in ["a.jpg", "b.png", "c.png", "d.png", "e.png", "f.png", "g.png"] {
            try bench.add(name, SIMD3(80, 80, 80))
        }
        try bench.folder.write(
            "\u{FEFF}image,age_approx,sex,anatom_site_general\r\na,50,female,head/neck\r\nd,soon,,\r\ng,,,trunk\r\n",
            to: "in/p.csv"
        )
        try bench.folder.write("{\"meta\":{\"clinical\":{\"age_approx\":100,\"sex\":\"male\"}}}", to: "in/b.json")
        try bench.folder.write("{\"sex\": [1]}", to: "in/e.json")
        // As the archive writes it now.
        try bench.folder.write("{\"metadata\":{\"clinical\":{\"age_approx\":25,\"sex\":\"male\"}}}", to: "in/f.json")
        let outcome = try await bench.run(
            PhotoClassification.Options(given: ["metadata": bench.folder("in/p.csv").path])
        )
        #expect(outcome.counts.completed == 6 && outcome.counts.failed == 1 && outcome.counts.inputs == 7)
        let (a, b, c) = (try bench.result("a"), try bench.result("b"), try bench.result("c"))
        #expect(a.metadata?.vector == [0.5, 0, 1, 1] && a.metadata?.site == "head/neck" && a.metadata?.ageYears == 50)
        #expect(b.metadata?.vector == [1, 0, 0, 2] && b.notes.contains("unknown for this picture: site"))
        #expect(c.metadata?.vector == [0, 1, 2, 2] && c.metadata?.ageYears == nil)
        // Grey pictures: what differs is what was told. exp(3 × 0.5), exp(1) against 1.
        let sum = exp(1.5) + exp(1) + 1
        #expect(abs(a.classes[0].probability - exp(1.5) / sum) < 2e-6)
        #expect(abs(a.classes[1].probability - exp(1) / sum) < 2e-6)
        #expect(try bench.result("f").metadata?.vector == [0.25, 0, 0, 2])
        #expect(a.summary.hasSuffix("Not a diagnosis: please consult a dermatologist."))
        let account = try await bench.account()
        let d = try bench.result("d")
        #expect(d.metadata?.vector == [0, 1, 2, 2])
        #expect(d.notes.contains("age_approx \"soon\" is not a number; it was treated as unknown"))
        #expect(d.notes.contains("unknown for this picture: sex, site"))
        let g = try bench.result("g")
        #expect(g.notes.contains("anatom_site_general \"trunk\" was taken as anterior torso"))
        #expect(g.notes.contains("unknown for this picture: age, sex"))
        #expect(account["e"]?.reason.contains("e.json: sex is neither text nor number") == true)
    }

    @Test("A search that is cancelled ends while metadata is read")
    func cancelledSearch() throws {
        let bench = try PhotoBench("primary-told")
        try bench.add("a.png")
        let flag = CancellationFlag()
        let request = DiscoveryRequest(inputs: [bench.input])
        let claims = try bench.recipe().claims(request, InputFiles(try FoundTable()), scope: .serial(flag))
        let file = FoundFile(path: bench.input + "/a.png", name: "a.png", root: "")
        _ = try claims.claim(file)
        let items = FoundItems(take: { _ in })
        try claims.addItems(of: [[file]], PatientFolders(), to: items)
        flag.cancel()
        #expect(throws: CancelledError.self) { try claims.finish(items) }
    }

    @Test("With --strict-metadata, a value that is not understood fails its item")
    func strictMetadata() async throws {
        let bench = try PhotoBench("primary-told")
        for name in ["a.jpg", "b.png", "c.png"] { try bench.add(name, SIMD3(80, 80, 80)) }
        try bench.folder.write("image_id;age;localization\r\na;40;neck\r\nb;soon;\r\n", to: "p.csv")
        try bench.folder.write("{\"sex\": \"robot\"}", to: "in/c.json")
        let path = bench.folder("p.csv").path
        let strict = try PhotoClassification.Options(given: ["metadata": path, "strict-metadata": "yes"])
        let outcome = try await bench.run(strict)
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 2)
        let account = try await bench.account()
        #expect(account["b"]?.state == .failed && account["c"]?.state == .failed)
        #expect(account["b"]?.reason.contains("p.csv row 3: age \"soon\" is not a number") == true)
        #expect(account["c"]?.reason.contains("c.json: sex \"robot\" is not one of male, female") == true)
        #expect(try bench.result("a").metadata?.vector == [0.4, 0, 2, 1])
    }

    @Test("An attention graph that fails or says nothing costs its map, never the item")
    func attention() async throws {
        let broken = try PhotoBench("broken-attention")
        try broken.add("x.png")
        #expect(try await broken.run().counts.completed == 1)
        let without = try broken.result("x")
        #expect(without.attention == nil && without.leading == "red")
        #expect(
            without.notes.last
                == "there is no attention map: the map contains NaN or infinite values"
        )
        #expect(!FileSystem.exists(broken.output.item("x") + "/heatmap.png"))
        #expect(FileSystem.exists(broken.output.item("x") + "/report.pdf"))

        let uniform = try PhotoBench("uniform")
        try uniform.add("x.png")
        #expect(try await uniform.run().counts.completed == 1)
        let flat = try uniform.result("x")
        #expect(flat.attention?.isUniform == true && flat.attention?.maximum == 1)
        #expect(flat.notes.last == "low activation: the attention map is uniform and highlights no place")
    }

    @Test("Values that are not numbers, tiny pictures, broken files and other files end as what they are")
    func bad() async throws {
        let none = try PhotoBench("not-numbers")
        try none.add("x.png")
        #expect(try await none.run().counts.failed == 1)
        #expect(
            try await none.account()["x"]?.reason.contains("NaN or infinite values for red, green, blue") == true
        )

        let bench = try PhotoBench("primary")
        let good = try bench.add("good.dat")
        try bench.add("tiny.png", width: 100, height: 7)
        try bench.folder.write("not a picture", to: "in/text.jpg")
        try bench.folder.write([], to: "in/empty.png")
        try bench.folder.write(Array(try Data(contentsOf: good).dropLast(40)), to: "in/cut.png")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 3 && outcome.counts.skipped == 1)
        let account = try await bench.account()
        #expect(account["tiny"]?.reason.contains("100×7 pixels; primary needs at least 8") == true)
        #expect(account["cut"]?.state == .failed && account["text.jpg"]?.state == .skipped)
        #expect(account["empty.png"]?.state == .failed && account["empty.png"]?.reason == "the file is empty")
        #expect(try bench.result("good").notes.contains { $0.contains("small") })
    }

    @Test("Probabilities that do not add up are divided by their sum, with a note")
    func probabilities() async throws {
        let bench = try PhotoBench("probabilities")
        try bench.add("x.png", SIMD3(90, 90, 90))
        try await bench.run()
        let result = try bench.result("x")
        #expect(result.classes.map(\.probability) == [0.5, 0.333333, 0.166667])
        #expect(result.notes.contains { $0.contains("added up to 0.529") } && result.attention == nil)
    }

    @Test(
        "Notes say what was done to photos in grey, of 16 bits and in CMYK",
        arguments: [("png-grey-16.png", ["are equal", "16 bits a sample"]), ("jpeg-cmyk.jpg", ["in CMYK"])]
    )
    func stored(name: String, texts: [String]) async throws {
        let bench = try PhotoBench("primary")
        try FileManager.default.copyItem(at: Fixtures.url("Photos/\(name)"), to: bench.folder("in/\(name)"))
        try await bench.run()
        let notes = try bench.result((name as NSString).deletingPathExtension).notes
        for text in texts { #expect(notes.contains { $0.contains(text) }, "\(notes)") }
    }

    @Test("Same names in two folders and with two endings lose nothing; two models give two items each")
    func names() async throws {
        let bench = try PhotoBench("primary", "uniform")
        for name in ["x/a.jpg", "y/a.jpg", "y/a.jpeg", "a.png"] { try bench.add(name) }
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 8 && outcome.counts.inputs == 8)
        let results = FileSystem.files(below: bench.output.path).filter { $0.hasSuffix("/result.json") }
        #expect(results.count == 8)
    }

    @Test("The tree is the same to the byte for 1, 2 and 5 threads; a second run finds all done")
    func same() async throws {
        let bench = try PhotoBench("primary-told")
        for index in 0..<6 {
            try bench.add("p\(index).png", SIMD3(UInt8(40 * index), 120, UInt8(200 - 30 * index)), width: 60 + index)
        }
        var trees: [[String: String]] = []
        for threads in [1, 2, 5, 2] {
            let output = OutputFolder(bench.folder("out-\(trees.count)").path)
            #expect(try await bench.run(output: output, threads: threads).counts.completed == 6)
            trees.append(try bench.tree(output))
        }
        #expect(trees[0].count > 30)
        for tree in trees.dropFirst() { #expect(tree == trees[0]) }
        #expect(try await bench.run(output: OutputFolder(bench.folder("out-0").path)).counts.completed == 6)
        #expect(try bench.tree(OutputFolder(bench.folder("out-0").path)) == trees[0])
    }

    @Test("Every written result fits its schema, which is able to refuse")
    func schema() async throws {
        for model in ["primary-told", "broken-attention", "uniform"] {
            let bench = try PhotoBench(model)
            try bench.add("x.png")
            try await bench.run(PhotoClassification.Options())
            let schema = try JSONSchema(
                Data(
                    contentsOf: Checkout.folder.appendingPathComponent(
                        "Samples/Schemas/classification-result.schema.json"
                    )
                )
            )
            let data = try Data(contentsOf: URL(fileURLWithPath: bench.output.item("x") + "/result.json"))
            #expect(try schema.faults(in: data) == [])
            let damaged = String(decoding: data, as: UTF8.self).replacing("\"leading\"", with: "\"leader\"")
            #expect(try schema.faults(in: Data(damaged.utf8)).count == 2)
        }
    }

    @Test("Stopped at the first failure, a batch with a contact sheet still accounts for all")
    func firstFailure() async throws {
        let bench = try PhotoBench("primary")
        try bench.add("a.png")
        #expect(try await bench.run().counts.completed == 1)
        let bad = try bench.add("b.png").path
        var bytes = try FileSystem.read(bad)
        // The check sum before the last chunk.
        bytes[bytes.count - 13] ^= 1
        try FileSystem.write(bad, bytes)
        let outcome = try await bench.run(stop: try #require(StopRules("failed=1")))
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1, "\(outcome.counts)")
        let account = try JSONValue(parsing: FileSystem.read(bench.output.report))
        #expect(account["counts"]?["failed"] == .number(1))
    }

    @Test("A result in place is recognised by its fingerprint and digests, and not when a byte changed")
    func recognition() async throws {
        let bench = try PhotoBench("primary")
        try bench.add("x.png")
        try await bench.run()
        let (recipe, folder) = (try bench.recipe(), bench.output.item("x"))
        let fingerprint = try bench.result("x").fingerprint
        #expect(try recipe.recognize(folder: folder, fingerprint: fingerprint)?.files.count == 6)
        #expect(try recipe.recognize(folder: folder, fingerprint: "other") == nil)
        let file = folder + "/thumbnail.png"
        var bytes = try FileSystem.read(file)
        bytes[bytes.count - 5] ^= 1
        try FileSystem.write(file, bytes)
        #expect(try recipe.recognize(folder: folder, fingerprint: fingerprint) == nil)
    }

    @Test("The contact sheet shows a batch once, the same for any order of folders, and writes nothing for none")
    func contactSheet() async throws {
        let bench = try PhotoBench("primary")
        for index in 0..<60 { try bench.add("p\(index).png", SIMD3(UInt8(4 * index), 90, 160)) }
        try await bench.run(PhotoClassification.Options())
        let folders = (0..<60).map { bench.output.item("p\($0)") }
        let (first, second) = (bench.folder("one.pdf").path, bench.folder("two.pdf").path)
        #expect(try ContactSheet.write(folders: { try folders.forEach($0) }, to: first) == 60)
        #expect(
            try ContactSheet.write(
                folders: { body in for folder in folders.reversed() + [bench.folder("none").path] { try body(folder) }
                },
                to: second
            ) == 60
        )
        #expect(try FileSystem.read(first) == FileSystem.read(second))
        let text = String(decoding: try FileSystem.read(first), as: UTF8.self)
        // All of them, on two pages.
        #expect(text.hasPrefix("%PDF") && text.contains("/Count 2"))
        #expect(try ContactSheet.write(folders: { _ in }, to: bench.folder("no.pdf").path) == 0)
        #expect(!FileSystem.exists(bench.folder("no.pdf").path))
    }
}
