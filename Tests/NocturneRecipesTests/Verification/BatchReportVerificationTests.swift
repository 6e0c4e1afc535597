import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Verifying the account")
struct BatchReportVerificationTests {
    private func finished() async throws -> (bench: BatchBench, batch: VerifiedBatch) {
        let bench = try BatchBench(options: SegmentationOptions())
        for name in ["a.nii", "b.nii"] { try bench.addBox(name) }
        try bench.folder.write("cut short", to: "in/bad.nii")
        try await bench.run()
        return (bench, VerifiedBatch(output: bench.output, by: bench))
    }

    @Test(
        "A word, a row or a line that is not the journal's is told",
        arguments: [
            (
                "batch.json", "\"completed\" : 2", "\"completed\" : 3",
                "line 4 is \"    \"completed\" : 3,\", according to the journal it is \"    \"completed\" : 2,\""
            ),
            (
                "batch.json", "\"state\" : \"failed\"", "\"state\" : \"skipped\"",
                "according to the journal it is \"      \"state\" : \"failed\",\""
            ),
            (
                "batch.json", "\"schemaVersion\" : 3", "\"schemaVersion\" : 1",
                "according to the journal it is \"  \"schemaVersion\" : 3,\""
            ),
            ("batch.json", "{", "[", "line 1 is \"[\", according to the journal it is \"{\""),
            ("batch.json", "\n}\n", "\n}\n}\n", "is \"}\", according to the journal it is nothing"),
            ("statistics.csv", "voxelCount,512", "voxelCount,511", "according to the journal it is"),
            (
                "statistics.csv", "item,label,measure,value,unit,unusual,verdict,model,source,disclaimer\n", "",
                "line 1 is"
            ),
            ("measurements.csv", ",completed,", ",failed,", "according to the journal it is"),
            ("retry.txt", "bad.nii", "good.nii", "line 2 is"),
            ("retry.txt", "bad.nii\n", "bad.nii\nmore\n", "line 3 is \"more\", according to the journal it is nothing"),
            (
                "events.jsonl", "\"event\":\"itemFailed\"", "\"event\":\"itemCompleted\"",
                "bad: the journal has it as failed"
            ),
            ("events.jsonl", "\"event\":\"itemCompleted\"", "\"event\":\"itemEnded\"", "does not match its schema"),
            ("events.jsonl", "{", "", "not valid JSON"),
            ("a/run.json", "\"threads\" : 2", "\"threads\" : 0", "does not match its schema"),
        ]
    )
    func texts(file: String, old: String, new: String, fact: String) async throws {
        let (_, batch) = try await finished()
        #expect(try await batch.faults() == [])
        try batch.replace(file, old, new)
        let faults = try await batch.faults()
        #expect(faults.count == 1 && faults[0].hasPrefix(file + ": ") && faults[0].contains(fact), "\(faults)")
    }

    @Test("A copy without the journal is checked by what result.json and batch.json say")
    func copy() async throws {
        let (_, batch) = try await finished()
        let pool = try ComputePool(width: 1)
        defer { pool.shutdown() }
        func faults() async throws -> [String] {
            try await batch.copyFaults(pool)
        }
        FileSystem.remove(batch.url(".nocturne").path)
        #expect(try await faults() == [])
        try batch.replace("a/result.json", "\"voxelCount\" : 512", "\"voxelCount\" : 511")
        #expect(try await faults().contains { $0.hasPrefix("a/") })
        FileSystem.remove(batch.url("a").path)
        #expect(try await faults() == ["a: is missing: batch.json has the item as completed"])
    }

    @Test(
        "A file of the account that is gone is told",
        arguments: ["batch.json", "statistics.csv", "measurements.csv", "retry.txt", "events.jsonl", "a/run.json"]
    )
    func missing(file: String) async throws {
        let (_, batch) = try await finished()
        FileSystem.remove(batch.url(file).path)
        #expect(try await batch.faults() == ["\(file): is missing"])
    }

    @Test("A row of the journal that is not in the result is told, and so is another file, note or part")
    func journal() async throws {
        let (_, batch) = try await finished()
        let rows = try await Journal.with(path: batch.output.journal) { try await $0.statistics()[1] ?? [] }
        let voxels = try #require(rows.firstIndex { $0.measure == "voxelCount" })
        try await batch.change("a") { $0.statistics[voxels].value = 4 }
        let value = try await batch.faults()
        #expect(
            value.contains { $0.hasPrefix("a/result.json: voxelCount of") && $0.hasSuffix("in the journal it is 4.0") },
            "\(value)"
        )
        #expect(value.contains { $0.hasPrefix("statistics.csv: line \(voxels + 2) is") }, "\(value)")
        try await batch.change("a") { $0.statistics = Array(rows.dropLast()) }
        let fewer = try await batch.faults()
        #expect(fewer.contains { $0.hasSuffix("in the journal it is missing") }, "\(fewer)")
        try await batch.change("a") {
            $0.statistics = rows + [Statistic(label: "x", measure: "y", value: 1, unit: "1")]
        }
        let more = try await batch.faults()
        #expect(more.contains("a/result.json: the journal has y of x, 1.0, which it does not have"), "\(more)")
        try await batch.change("a") { $0.statistics = rows.reversed() }
        #expect(
            try await batch.faults().allSatisfy { $0.hasPrefix("statistics.csv") || $0.hasPrefix("measurements.csv") }
        )
        try await batch.change("a") {
            $0.statistics = rows
            $0.notes = [Note("test.other", "another")]
        }
        #expect(try await batch.faults().contains("a/result.json: its notes are not those of the journal"))
    }

    @Test("An account that is older than the journal is told once; a source that is another one is a note")
    func older() async throws {
        let (bench, batch) = try await finished()
        let journal = try await Journal(path: batch.output.journal)
        try await journal.set(.isReportUpToDate, to: false)
        let faults = try await batch.faults()
        #expect(faults.count == 1 && faults[0].hasPrefix("batch.json: is older than the journal"), "\(faults)")
        try await journal.set(.isReportUpToDate, to: true)
        await journal.close()
        let verification = BatchVerification(batch.output, inspection: RecipeResults(), checksSources: true)
        #expect(try await verification.run().notes == [])
        FileSystem.remove(bench.input + "/a.nii")
        // As `cp -p` of an older file does.
        let past = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: bench.input + "/b.nii")
        let report = try await verification.run()
        #expect(report.faults.isEmpty)
        #expect(report.notes.count == 2)
        #expect(report.notes.first?.contains("no longer exists") == true)
        #expect(report.notes.last?.contains("is not the file that the result was made of") == true)
    }

    @Test("A slice that was replaced inside a series is a note, and so is one that is gone")
    func slices() async throws {
        let bench = try LabelBench()
        try await bench.batch.run()
        let verification = BatchVerification(bench.batch.output, inspection: RecipeResults(), checksSources: true)
        #expect(try await verification.run().notes == [])
        let past = Date(timeIntervalSince1970: 1_000_000_000)
        let slice = bench.batch.input + "/ct/5.dcm"
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: slice)
        let replaced = try await verification.run().notes
        #expect(replaced.count == 1 && replaced[0].contains("\(slice) is not the file"), "\(replaced)")
        FileSystem.remove(bench.batch.input + "/ct/4.dcm")
        let gone = try await verification.run().notes
        #expect(gone.count == 1 && gone[0].contains("2 of its 24 source files differ or are gone"), "\(gone)")
    }

    @Test("The result of an earlier source stays when the new one fails, and that is a note until it is no result")
    func resultOfBefore() async throws {
        let (bench, batch) = try await finished()
        let before = try bench.tree().filter { $0.key.hasPrefix("a/") }
        try bench.folder.write("cut short, too", to: "in/a.nii")
        try await bench.run()
        #expect(try await bench.state("a") == .failed)
        #expect(try bench.tree().filter { $0.key.hasPrefix("a/") } == before)
        let report = try await BatchVerification(batch.output, inspection: RecipeResults()).run()
        #expect(report.faults.isEmpty, "\(report.faults)")
        #expect(report.notes == ["a: failed; its folder holds the result of an earlier source, model or options"])
        try batch.replace("a/result.json", "{", "")
        #expect(try await batch.faults() == ["a: is a result of an item that is not completed"])
    }

    @Test("Faults come in one order for any number of threads, and a raised flag ends it")
    func threads() async throws {
        let (_, batch) = try await finished()
        for item in ["a", "b"] { try batch.change(item + "/preview.png") { $0[40] ^= 1 } }
        let alone = try await batch.faults()
        #expect(alone.map { String($0.prefix(13)) } == ["a/preview.png", "b/preview.png"])
        let pool = try ComputePool(width: 3)
        defer { pool.shutdown() }
        for _ in 0..<20 { #expect(try await batch.faults(threads: pool) == alone) }
        let flag = CancellationFlag()
        flag.cancel()
        await #expect(throws: CancelledError.self) {
            try await BatchVerification(batch.output, inspection: RecipeResults()).run(flag: flag)
        }
    }

    @Test("Classified photos: the sheet, the report, the values of the map and every picture are looked into")
    func classified() async throws {
        let bench = try PhotoBench("primary")
        try bench.add("x.png")
        try await bench.run()
        let batch = VerifiedBatch(output: bench.output, by: bench)
        #expect(try await batch.faults() == [])
        let sheet = try FileSystem.read(batch.url("contact-sheet.pdf").path)
        try batch.change("contact-sheet.pdf") { $0.removeLast(40) }
        #expect(try await batch.faults() == ["contact-sheet.pdf: does not end as a PDF: it is truncated"])
        FileSystem.remove(batch.url("contact-sheet.pdf").path)
        #expect(try await batch.faults() == ["contact-sheet.pdf: is missing"])
        try FileSystem.write(batch.url("contact-sheet.pdf").path, sheet)
        try batch.change("x/report.pdf") { $0.removeFirst() }
        try await batch.recordAnew("x")
        #expect(try await batch.faults() == ["x/report.pdf: does not begin as a PDF"])
        try FileSystem.write(batch.url("x/report.pdf").path, sheet)
        try FileSystem.write(
            batch.url("x/thumbnail.png").path,
            try FileSystem.read(batch.url("x/heatmap.png").path)
        )
        try await batch.recordAnew("x")
        let faults = try await batch.faults()
        #expect(faults.count == 1 && faults[0].hasSuffix("expected 192×192, the size of a thumbnail"), "\(faults)")
    }

    @Test("Photos taken apart: masks, boxes, areas and crops fit together")
    func instances() async throws {
        let bench = try ShelfBench()
        try bench.add(
            "shelf.png",
            books: [.init(x: 10, y: 10, width: 20, height: 60), .init(x: 50, y: 10, width: 24, height: 60)]
        )
        let (_, output) = try await bench.run()
        let batch = VerifiedBatch(output: output, by: bench.folder)
        #expect(try await batch.faults() == [])
        let coco = try FileSystem.read(batch.url("shelf/coco.json").path)
        func area(_ text: String) throws -> String {
            let found = try #require(text.firstMatch(of: /"area" : [0-9]+/))
            return String(found.output)
        }
        try batch.replace("shelf/coco.json", try area(String(decoding: coco, as: UTF8.self)), "\"area\" : 7")
        try await batch.recordAnew("shelf")
        let faults = try await batch.faults()
        #expect(faults.count == 1 && faults[0].contains("the area of annotation"), "\(faults)")
        try FileSystem.write(batch.url("shelf/coco.json").path, coco)
        let crops = FileSystem.entries(batch.url("shelf/crops").path).filter { !$0.contains("upright") }
        try #require(crops.count == 2)
        let other = try FileSystem.read(batch.url("shelf/crops/" + crops[1]).path)
        try FileSystem.write(batch.url("shelf/crops/" + crops[0]).path, other)
        try await batch.recordAnew("shelf")
        let wrong = try await batch.faults()
        #expect(wrong.count == 1 && wrong[0].contains("the size of the box of instance"), "\(wrong)")
        try batch.replace("shelf/result.json", "\"areaPixels\" : ", "\"areaPixels\" : 1")
        try await batch.recordAnew("shelf")
        #expect(try await batch.faults().contains { $0.contains("its mask has") })
    }
}
