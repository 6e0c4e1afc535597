import NocturneTestSupport
import Testing

@Suite("Help")
struct HelpTests {
    /// The lines of a help screen that begin with an option.
    private func options(_ help: String) -> [Substring] {
        help.split(separator: "\n").filter { $0.hasPrefix("  -") }
    }

    @Test(
        "of commands with many options begins with those that most people need, and has at most 25",
        arguments: ["run", "watch", "plan", "resume"]
    )
    func short(command: String) throws {
        let help = try Tool([command, "--help"])
        let all = try Tool([command, "--help-all"])
        #expect(help.status == 0 && all.status == 0)
        #expect(try Tool(["help", command]).output == help.output)
        #expect(options(help.output).count <= 25, "\(options(help.output))")
        #expect(options(all.output).count > options(help.output).count + 15)
        for option in ["--memory", "--threads", "--help-all"] { #expect(help.output.contains(option)) }
        let sections = help.output.split(separator: "\n").filter { $0.hasSuffix(":") }
        #expect(sections.prefix(2).map(String.init) == ["ARGUMENTS:", "MAIN OPTIONS:"], "\(sections)")
        #expect(!help.output.contains("--stall-limit") && all.output.contains("--stall-limit"))
        #expect(!all.output.contains("--fault-injection"))
    }

    @Test("of commands with few options shows all")
    func others() throws {
        #expect(try Tool(["inspect", "--help"]).output.contains("--fix-tilt"))
        #expect(try Tool(["help", "review", "adopt"]).output.contains("--stall-limit"))
    }

    @Test("of the program groups the commands")
    func groups() throws {
        let help = try Tool(["--help"]).output
        for group in ["RUN", "LOOK", "REVIEW", "REPAIR", "CLUSTER", "MODEL"] {
            #expect(help.contains("\(group) SUBCOMMANDS:"), "\(help)")
        }
    }

    @Test("in completions is complete", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) throws {
        let script = try Tool(["--generate-completion-script", shell]).output
        for option in ["stall-limit", "reference-rounding", "no-pictures"] { #expect(script.contains(option)) }
    }
}
