import NocturneTestSupport
import Testing

@Suite("Values of options")
struct OptionTests {
    @Test(
        "that are wrong are refused with code 2, naming the option, the value and what is allowed",
        arguments: [
            ("--memory", "much", "8G"), ("--memory", "0", "8G"), ("--memory", "8", "at least 1M"),
            ("--memory", "-1", "8G"),
            ("--threads", "0", "1 to 1024"),
            ("--threads", "many", "1 to 1024"), ("--on-full", "explode", "'pause' and 'stop'"),
            ("--between", "20:00", "20:00-06:00"), ("--between", "06:00-06:00", "20:00-06:00"),
            ("--finish-by", "24:00", "06:00"), ("--stall-limit", "soon", "90s"), ("--item-timeout", "2d", "30m"),
            ("--item-timeout", "h", "30m"),
        ]
    )
    func refused(option: String, value: String, allowed: String) throws {
        let bench = try ToolBench()
        let tool = try bench.run(option, value)
        #expect(tool.status == 2)
        #expect(tool.errors.contains(option) && tool.errors.contains("'\(value)'") && tool.errors.contains(allowed))
        #expect(tool.output.isEmpty)
    }

    @Test("that take a flag back need nothing")
    func takenBack() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        let tool = try bench.run("--quiet", "--no-view", "--no-existing-labels")
        #expect(tool.status == 0, "\(tool.errors)")
    }

    @Test("of verify and watch, too")
    func others() throws {
        let bench = try ToolBench()
        let verify = try Tool(["verify", bench.output, "--threads", "0"])
        #expect(verify.status == 2 && verify.errors.contains("1 to 1024"))
        let watch = try Tool(["watch", bench.input, "--output", bench.output, "--settle", "86401"])
        #expect(watch.status == 2 && watch.errors.contains("at most a day"))
        let settle = try Tool(["watch", bench.input, "--output", bench.output, "--settle", "soon"])
        #expect(settle.status == 2 && settle.errors.contains("30m, 2h or 90s, or 0"), "\(settle.errors)")
        #expect(!settle.errors.contains("no limit"))
    }

    @Test(
        "of other tools are answered with what they are called here",
        arguments: [
            ("--gpu", "Use --device cuda instead"), ("--out-dir=x", "Use --output instead"),
            ("--input", "Give the path alone: nocturne run"),
        ]
    )
    func foreign(option: String, meaning: String) throws {
        let bench = try ToolBench()
        let tool = try Tool(["run", bench.input, option])
        #expect(tool.status == 2 && tool.errors.contains(meaning), "\(tool.errors)")
        #expect(!(try Tool(["run", "--help-all"]).output.contains(String(option.prefix { $0 != "=" }) + " ")))
    }
}
