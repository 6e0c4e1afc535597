import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Metrics and traces")
struct MetricsTests {
    /// The samples by name and labels.
    /// - Throws: ``Fault`` for a line that is not in Prometheus's text format, version 0.0.4.
    private func samples(_ text: String) throws -> [String: Double] {
        let name = #/[a-zA-Z_:][a-zA-Z0-9_:]*/#
        let label = #/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"/#
        let comment = #/# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)/#
        var samples: [String: Double] = [:]
        var types: [String: String] = [:]
        #expect(text.hasSuffix("\n"))
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if let match = line.wholeMatch(of: comment) {
                guard match.1 == "TYPE" else { continue }
                if types.updateValue(String(match.3), forKey: String(match.2)) != nil { throw Fault(line) }
                continue
            }
            guard let start = line.prefixMatch(of: name), types[String(start.0)] == "gauge" else { throw Fault(line) }
            var rest = line[start.range.upperBound...]
            var labels: [String] = []
            if rest.first == "{" {
                repeat {
                    rest = rest.dropFirst()
                    guard let found = rest.prefixMatch(of: label) else { throw Fault(line) }
                    if found.1 != "output" { labels.append(String(found.0)) }
                    rest = rest[found.range.upperBound...]
                } while rest.first == ","
                guard rest.first == "}" else { throw Fault(line) }
                rest = rest.dropFirst()
            }
            guard rest.first == " ", let value = Double(rest.dropFirst()) else { throw Fault(line) }
            let key = "\(start.0)" + labels.map { " " + $0 }.joined()
            if samples.updateValue(value, forKey: key) != nil { throw Fault(line) }
        }
        return samples
    }

    private struct Fault: Error, CustomStringConvertible {
        let description: String
        init(_ line: Substring) { description = String(line) }
    }

    @Test(
        "status --format prometheus prints the state of a batch in Prometheus's text format, with whatever the folder's name holds"
    )
    func finished() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name, 8, 8, 8) }
        try bench.folder.write("no volume", to: "in/broken.nii.gz")
        let output = bench.folder("out \"1\" \\").path
        let run = try Tool(["run", bench.input, "--model", bench.model(), "--output", output])
        #expect(run.status == 3, "\(run.errors)")
        let prom = try Tool(["status", output, "--format", "prometheus"])
        #expect(prom.status == 0 && prom.errors.isEmpty, "\(prom.errors)")
        #expect(prom.output.contains(#"out \"1\" \\"#))
        let found = try samples(prom.output)
        #expect(found[#"nocturne_items state="completed""#] == 2 && found[#"nocturne_items state="failed""#] == 1)
        #expect(found[#"nocturne_items state="not_reached""#] == 0)
        #expect(found.keys.contains { $0.hasPrefix("nocturne_items_not_completed code=") })
        #expect(found["nocturne_run_active"] == 0 && found["nocturne_run_elapsed_seconds"] == nil)
        let ended = try #require(found["nocturne_last_item_end_timestamp_seconds"])
        #expect(abs(ended - Date().timeIntervalSince1970) < 600)
        #expect(try Tool(["status", bench.input, "--format", "prometheus"]).status == 2)
        // A reader that has what it wants, such as head, is no error.
        for format in ["prometheus", "trace", "json"] {
            let cut = ["-c", "'\(Tool.path)' status '\(output)' --format \(format) | true"]
            #expect(try Tool(cut, program: "sh").errors.isEmpty)
        }
    }

    @Test("of an active run with its time, throughput and memory")
    func active() throws {
        let bench = try ToolBench()
        for name in ["a", "b", "c"] { try bench.addVolume("\(name).nii") }
        let tool = try BackgroundTool(bench, fault: "item.stage@a:3:hang")
        var found: [String: Double] = [:]
        try blockThread(every: 50) {
            found = try samples(try Tool(["status", bench.output, "--format", "prometheus"]).output)
            return !tool.isRunning || found["nocturne_memory_budget_bytes"] != nil
        }
        #expect(found["nocturne_run_active"] == 1 && found["nocturne_run_waiting"] == 0)
        #expect((found["nocturne_run_elapsed_seconds"] ?? -1) >= 0)
        #expect((found["nocturne_run_items_per_second"] ?? -1) >= 0)
        #expect((found["nocturne_memory_resident_bytes"] ?? 0) > 1_048_576)
        #expect(found[#"nocturne_memory_pressure level="normal""#] == 1)
        #expect(found[#"nocturne_memory_pressure level="critical""#] == 0)
        let engine = try tool.engine()
        kill(tool.supervisor, SIGKILL)
        kill(engine, SIGKILL)
        _ = tool.wait()
    }

    private struct Trace: Decodable {
        struct Entry: Decodable {
            let name: String
            let ph: String
            let ts: Int
            let dur: Int?
            let pid: Int
            let tid: Int
            let cat: String
        }
        let traceEvents: [Entry]
    }

    @Test(
        "--trace and status --format trace write every item with its stages, each within its item, and none over another"
    )
    func trace() throws {
        let bench = try ToolBench()
        for name in ["a", "b", "c"] { try bench.addVolume("\(name).nii") }
        let first = bench.folder("run.json").path
        #expect(try bench.run("--trace", first).status == 0)
        let again = try Tool(["status", bench.output, "--format", "trace"])
        #expect(again.status == 0, "\(again.errors)")
        #expect(try again.output == String(contentsOfFile: first, encoding: .utf8))
        let trace = try JSONDecoder().decode(Trace.self, from: Data(contentsOf: URL(fileURLWithPath: first)))
        let items = trace.traceEvents.filter { $0.cat == "item" }
        #expect(items.map(\.name).sorted() == ["a", "b", "c"])
        for item in items {
            let end = item.ts + (item.dur ?? 0)
            let stages = trace.traceEvents.filter {
                $0.cat == "stage" && $0.tid == item.tid && $0.ts >= item.ts && $0.ts + ($0.dur ?? 0) <= end
            }
            let names = Set(stages.map(\.name))
            #expect(names.isSuperset(of: ["load", "prepare", "infer", "finish", "write"]), "\(names)")
            for (stage, next) in zip(stages, stages.dropFirst()) { #expect(stage.ts + (stage.dur ?? 0) <= next.ts) }
        }
        #expect(trace.traceEvents.filter { $0.ph == "M" && $0.name == "thread_name" }.count >= 2)
        #expect(try Tool(["verify", bench.output]).status == 0)
        try FileManager.default.removeItem(atPath: bench.output + "/events.jsonl")
        let gone = try Tool(["status", bench.output, "--format", "trace"])
        #expect(gone.status == 2 && gone.errors.contains("/events.jsonl"), "\(gone.errors)")
    }
}
