import NocturneTestSupport
import Testing

@Suite("Line feeds in names")
struct LineFeedTests {
    @Test("break no line of a plan, nor of what is inspected")
    func lines() throws {
        let bench = try ToolBench()
        for name in ["line\nfeed.nii", "both\r\n.nii"] { try bench.addVolume(name, 8, 8, 8) }
        try bench.folder.write("cut short", to: "in/cut\nshort.nii")
        let plan = try Tool(["plan", bench.input, "--model", bench.model()])
        let inspection = try Tool(["inspect", bench.input])
        for name in ["line\u{FFFD}feed.nii", "both\u{FFFD}\u{FFFD}.nii", "cut\u{FFFD}short.nii"] {
            #expect(plan.output.contains("  in/\(name)  "), "\(plan.output)")
            #expect(inspection.output.contains("\(bench.input)/\(name)\n"), "\(inspection.output)")
        }
    }
}
