import Foundation
import NocturneTestSupport
import Testing

@Suite("nocturne models bench")
struct ModelBenchTests {
    private let network = [
        "models", "bench", Fixtures.url("ONNX/unet3d-plain.onnx").path, "--patch", "12,16,16", "--repeat", "1",
        "--threads", "1",
    ]

    @Test("Prints timings as JSON, without a profile unless it is asked for")
    func timings() throws {
        let tool = try Tool(network)
        #expect(tool.status == 0)
        let timings = try tool.json()
        #expect(timings["profile"] == nil)
        #expect((timings["steps"] as? [Any])?.isEmpty == false)
    }

    @Test("Prints a profile of every step and kind as a table, and the same as JSON")
    func profile() throws {
        let tool = try Tool(network + ["--profile"])
        #expect(tool.status == 0)
        let lines = tool.output.split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("patch 12×16×16, float32 on "))
        #expect(lines[1].hasPrefix("peak: "))
        #expect(lines[1].hasSuffix("GB/s of copies, 1 thread"))
        #expect(lines.contains { $0.hasSuffix("kind") && $0.contains("real GFLOP/s") })

        let json = try Tool(network + ["--profile", "--json"]).json()
        let profile = try #require(json["profile"] as? [String: Any])
        let steps = try #require(profile["steps"] as? [[String: Any]])
        let kinds = try #require(profile["kinds"] as? [[String: Any]])
        let scaling = try #require(profile["scaling"] as? [[String: Any]])
        #expect(scaling.compactMap { $0["threads"] as? Int } == [1, 2, 4, 8, 16, 32, 64])
        // What other numbers of threads would take, with a sentence and a heading, comes last.
        #expect(lines.suffix(scaling.count).map { $0.prefix { $0 != " " } } == ["1", "2", "4", "8", "16", "32", "64"])
        let tables = lines.dropLast(scaling.count + 2)
        #expect(tables.last?.hasSuffix("all") == true)
        // Two lines about the machine, two headings, and the sum of all.
        #expect(tables.count == 2 + 2 + steps.count + kinds.count + 1)
        #expect(
            steps.compactMap { $0["title"] as? String }.allSatisfy { title in
                lines.contains { $0.hasSuffix(title) }
            }
        )
    }

    @Test("Takes --json only with --profile")
    func usage() throws {
        let tool = try Tool(network + ["--json"])
        #expect(tool.status == 2)
        #expect(tool.errors.contains("--profile"))
    }
}
