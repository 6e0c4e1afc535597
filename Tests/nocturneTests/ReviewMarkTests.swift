import Foundation
import NocturneJournal
import NocturneOutput
import NocturneTestSupport
import Testing

@Suite("Imported marks of reviewers")
struct ReviewMarkTests {
    /// A finished batch of one item.
    private func finished() throws -> ToolBench {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        return bench
    }

    /// A file with a mark of the item as it is now.
    private func file(_ bench: ToolBench, _ verdict: String, _ time: String) async throws -> String {
        let fingerprint = try await Journal.with(path: OutputFolder(bench.output).journal) { journal in
            try #require(try await journal.items().first).fingerprint
        }
        let mark: [String: Any] = [
            "item": "a", "fingerprint": fingerprint, "object": NSNull(), "rater": "Ada", "verdict": verdict,
            "comment": "", "time": time,
        ]
        let document: [String: Any] = ["schemaVersion": 1, "batch": "b", "raters": ["Ada"], "marks": [mark]]
        let data = try JSONSerialization.data(withJSONObject: document)
        return try bench.folder.write(Array(data), to: "\(verdict).json").path
    }

    @Test("--import and --norms are taken over before --list, whose lines are all of standard output")
    func importedAndListed() async throws {
        let bench = try finished()
        let marks = try await file(bench, "fail", "2026-11-29T10:00:00Z")
        let norms = bench.folder("norms.csv").path
        let review = ["review", bench.output, "--list", "fail"]
        let missing = try Tool(review + ["--import", marks, "--norms", norms])
        #expect(missing.status == 2 && missing.errors.contains(norms), "\(missing.errors)")
        #expect(try Tool(review).output.isEmpty)
        try bench.folder.write("label,measure,low,high\nnothing,volume,1,2\n", to: "norms.csv")
        let listed = try Tool(review + ["--import", marks, "--norms", norms])
        #expect(listed.status == 0 && listed.output == bench.input + "/a.nii\n", "\(listed.output) \(listed.errors)")
        #expect(listed.errors.contains("1 mark by Ada: 0 pass, 1 fail, 0 questionable."), "\(listed.errors)")
        #expect(listed.errors.contains("The page is "), "\(listed.errors)")
        #expect(try String(contentsOfFile: bench.output + "/batch.json", encoding: .utf8).contains("\"verdict\""))
    }

    @Test("A mark that is older than the recorded one does not replace it")
    func older() async throws {
        let bench = try finished()
        let newer = try await file(bench, "fail", "2026-11-29T10:00:00Z")
        let older = try await file(bench, "pass", "2026-11-28T10:00:00.000Z")
        #expect(try Tool(["review", bench.output, "--import", newer]).status == 0)
        let late = try Tool(["review", bench.output, "--import", older])
        #expect(late.status == 0, "\(late.errors)")
        #expect(late.output.contains("0 marks. Left out: 1 mark older than that of the same person"), "\(late.output)")
        #expect(try Tool(["review", bench.output, "--list", "fail"]).output == bench.input + "/a.nii\n")
        #expect(try Tool(["review", bench.output, "--list", "pass"]).output.isEmpty)
    }
}
