import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneTestSupport
import Testing

@Suite("A batch of another version of the program")
struct UpgradeTests {
    @Test("It is verified without faults, and continuing it records this version")
    func upgrade() async throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run().status == 0)
        let output = OutputFolder(bench.output)
        try await Journal.with(path: output.journal) { journal in
            let stored = try await journal.value(of: .batchDescription)
            var description = try #require(stored)
            let report = try String(contentsOfFile: output.report, encoding: .utf8)
            let earlier = report.replacing(
                "\n  \"version\" : \"\(description.version)\"\n",
                with: "\n  \"version\" : \"0.0.9\"\n"
            )
            #expect(earlier != report)
            try earlier.write(toFile: output.report, atomically: true, encoding: .utf8)
            description.version = "0.0.9"
            try await journal.set(.batchDescription, to: description)
        }
        let verified = try Tool(["verify", bench.output])
        #expect(verified.status == 0, "\(verified.output)")
        #expect(try Tool(["resume", bench.output]).status == 0)
        let version = try Tool(["--version"]).output.split(separator: "\n").first.map(String.init)
        try await Journal.with(path: output.journal) { journal in
            let description = try await journal.value(of: .batchDescription)
            #expect(description?.version == version)
        }
        let again = try Tool(["verify", bench.output])
        #expect(again.status == 0 && !(again.output + again.errors).contains("0.0.9"))
    }
}
