import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A run whose latest items show that the batch is wrong")
struct StopRulesTests {
    @Test("stops with 75 after 20 empty maps and says what to do; with never it goes on to the end")
    func empty() throws {
        let bench = try ToolBench()
        for index in 0..<150 { try bench.addVolume("wrong/\(index).nii", 8, 8, 8, hasBox: false) }
        let stopped = try bench.run("--meshes", "none", "--preview", "none", "--quiet")
        #expect(stopped.status == 75, "\(stopped.errors)")
        #expect(stopped.errors.contains("label maps of threshold in a row are empty"), "\(stopped.errors)")
        #expect(stopped.errors.contains("All are below \(bench.input)/wrong."))
        #expect(stopped.errors.contains("nocturne resume \(bench.output) --stop-when never"))
        let done = FileSystem.entries(bench.output).filter { FileSystem.exists(bench.output + "/\($0)/result.json") }
        // What was being written then is there as well.
        #expect((20..<150).contains(done.count), "\(done.count)")
        #expect(try Tool(["verify", bench.output]).status == 0)
        let resumed = try Tool(["resume", bench.output, "--stop-when", "never"])
        #expect(resumed.status == 0 && resumed.errors.contains("150 completed"), "\(resumed.errors)")
    }
}
