import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Commands of a run that fail")
struct HookEventTests {
    @Test("are notes in the events after an item, and a message at the end")
    func notes() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        let run = try bench.run("--meshes", "none", "--preview", "none", "--on-item", "exit 3", "--on-end", "exit 4")
        #expect(run.status == 0 && run.errors.contains("--on-end: the command exited with 4"), "\(run.errors)")
        let events = String(decoding: try FileSystem.read(bench.output + "/events.jsonl"), as: UTF8.self)
        #expect(events.contains("--on-item for a: the command exited with 3"), "\(events)")
    }
}
