import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("What a run does, as seen from another terminal")
struct StatusTests {
    private struct Status: Decodable {
        struct Progress: Decodable {
            struct Item: Decodable {
                let item: String
                let stage: String
                let share: Double
                let elapsedSeconds: Double
            }
            struct Memory: Decodable {
                let residentBytes: Int
                let leasedBytes: Int
                let budgetBytes: Int
                let pressure: String
            }
            let process: Int
            let total: Int
            let done: Int
            let failed: Int
            let queued: Int
            let items: [Item]
            let memory: Memory
        }
        let runningProcess: Int?
        let progress: Progress?
    }

    private func status(_ bench: ToolBench) throws -> (text: String, status: Status) {
        let tool = try Tool(["status", bench.output, "--json"])
        return (tool.output, try JSONDecoder().decode(Status.self, from: Data(tool.output.utf8)))
    }

    @Test(
        "Items at work with their stages, those that wait, and the memory; nothing of it after the run has been killed"
    )
    func progress() throws {
        let bench = try ToolBench()
        for name in ["a", "b", "c", "d"] { try bench.addVolume("\(name).nii") }
        let tool = try BackgroundTool(bench, fault: "item.stage@a:3:hang")
        var found = try status(bench)
        // Others come as far as to the item that hangs.
        try blockThread(every: 50) {
            found = try status(bench)
            return !tool.isRunning || found.status.progress?.items.first?.item == "a"
        }
        let progress = try #require(found.status.progress)
        #expect(progress.process == found.status.runningProcess)
        let active = progress.items.count
        #expect(progress.total == 4 && progress.done + progress.queued + active == 4 && progress.failed == 0)
        let item = try #require(progress.items.first)
        #expect(["load", "prepare", "infer", "finish", "write"].contains(item.stage))
        #expect((0...1).contains(item.share) && item.elapsedSeconds > 0)
        #expect(progress.memory.budgetBytes > progress.memory.leasedBytes && progress.memory.leasedBytes > 0)
        #expect(progress.memory.residentBytes > 1 << 20 && progress.memory.pressure == "normal")
        let schema = try JSONSchema(
            Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/status.schema.json"))
        )
        #expect(try schema.faults(in: Array(found.text.utf8)) == [])
        let text = try Tool(["status", bench.output]).output
        #expect(text.contains("of 4 items have ended") && text.contains("pressure: normal"), "\(text)")
        let engine = try tool.engine()
        kill(tool.supervisor, SIGKILL)
        kill(engine, SIGKILL)
        _ = tool.wait()
        #expect(try status(bench).status.progress == nil)
    }
}
