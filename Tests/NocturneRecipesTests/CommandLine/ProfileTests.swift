import ArgumentParser
import NocturneRecipes
import Testing

@Suite("Options from profiles and the environment")
struct ProfileTests {
    private let table = OptionTable([
        .init("memory"), .init("threads", letter: "j"), .init("model", letter: "m", isRepeatable: true),
        .init("on-item"), .init("window"), .init("quiet", letter: "q", takesValue: false),
        .init("dicom-seg", takesValue: false), .init("output", letter: "o"),
    ])

    private func profile(_ text: String) throws -> [DefaultOption] {
        try Profile(text: text, name: "ct.profile", known: table).options
    }

    private func message(_ text: String) -> String {
        do {
            _ = try profile(text)
            return ""
        } catch {
            return "\(error)"
        }
    }

    private struct Everything: ParsableCommand {
        @OptionGroup var batch: BatchArguments
        @Flag(name: .shortAndLong) var quiet = false
    }

    @Test("A line is a name and a value as it stands; comments, blanks, carriage returns and hyphens are no part of it")
    func lines() throws {
        let text =
            "\u{FEFF}# night\r\n\r\n  memory 8G \r\n--threads=4\nmodel organs\nmodel = \"a b\"\n"
            + "on-item\techo \"$NOCTURNE_ITEM\" # done\nwindow -600,1500\nquiet\ndicom-seg no\n"
        let options = try profile(text)
        #expect(
            options.map { $0.argument } == [
                "--memory=8G", "--threads=4", "--model=organs", "--model=\"a b\"",
                "--on-item=echo \"$NOCTURNE_ITEM\" # done", "--window=-600,1500", "--quiet", nil,
            ]
        )
        #expect(options[1].origin == "ct.profile, line 4")
        #expect(try profile("").isEmpty)
    }

    @Test(
        "A wrong line is refused with its number",
        arguments: [
            ("\nmemroy 8G", "ct.profile, line 2: there is no option memroy; did you mean memory?"),
            ("colour red", "ct.profile, line 1: there is no option colour"),
            ("memory", "ct.profile, line 1: memory needs a value"),
            ("quiet please", "ct.profile, line 1: quiet is a flag: write yes or no instead of 'please'"),
            ("memory 1G\nmemory 2G", "ct.profile, line 2: memory has a value already (ct.profile, line 1)"),
            ("output out", "ct.profile, line 1: output belongs on the command line, not in a profile"),
        ]
    )
    func refused(text: String, expected: String) { #expect(message(text) == expected) }

    @Test("The command line ranks before the profile, and that before the environment; lists are not mixed")
    func ranks() throws {
        let profile = try profile("memory 8G\nmodel a\nmodel b\nquiet no\nthreads 2")
        let environment = try EnvironmentOptions.options(
            [
                "NOCTURNE_MEMORY": "1G", "NOCTURNE_QUIET": "1", "NOCTURNE_WINDOW": "40,400", "NOCTURNE_MODEL": "c",
                "NOCTURNE_DICOM_SEG": "", "NOCTURNE_OUTPUT": "out",
            ],
            known: table
        )
        func merged(_ arguments: [String], _ table: OptionTable? = nil) -> [String] {
            merge(arguments, table ?? self.table, [profile, environment]).arguments
        }
        #expect(
            merged(["in", "-qj4"]) == ["--memory=8G", "--model=a", "--model=b", "--window=40,400", "in", "-qj4"]
        )
        #expect(merged(["in", "-m", "x", "--memory=2G", "--", "--threads"]).first == "--threads=2")
        #expect(merged([], table.without(["memory", "model", "threads"])) == ["--window=40,400"])
        #expect(merge(["in"], table, []).arguments == ["in"])
    }

    @Test("A flag with a value on the command line is set or not, whatever a profile says; other values are refused")
    func flagValues() throws {
        let profile = try profile("quiet\ndicom-seg\n")
        #expect(try resolved(["--quiet=no", "in", "--dicom-seg=yes"]) == ["in", "--dicom-seg"])
        #expect(
            try resolved(["--memory=no", "--other=no", "--", "--quiet=no"]) == [
                "--memory=no", "--other=no", "--", "--quiet=no",
            ]
        )
        let given = table.given(in: ["--quiet=no", "in"])
        let merged = MergedArguments(["in"], given: given, table: table, sources: [profile])
        #expect(merged.arguments == ["--dicom-seg", "in"])
        #expect(throws: ValidationError.self) { try resolved(["--quiet=please"]) }
    }

    private func resolved(_ arguments: [String]) throws -> [String] {
        try MergedArguments.withoutFlagValues(arguments, table: table)
    }

    private func merge(_ arguments: [String], _ table: OptionTable, _ sources: [[DefaultOption]]) -> MergedArguments {
        MergedArguments(arguments, given: table.given(in: arguments), table: table, sources: sources)
    }

    @Test("Several values of a variable are on lines of their own; other values of a flag than yes and no are refused")
    func environment() throws {
        let models = try EnvironmentOptions.options(["NOCTURNE_MODEL": "a\nb c\n"], known: table)
        #expect(models.compactMap(\.argument) == ["--model=a", "--model=b c"])
        #expect(throws: ValidationError.self) {
            try EnvironmentOptions.options(["NOCTURNE_DICOM_SEG": "maybe"], known: table)
        }
    }

    @Test("What a variable means: an option, something else, or nothing")
    func variables() {
        let names = [
            "NOCTURNE_MEMORY", "NOCTURNE_MEMROY", "NOCTURNE_MODELS", "NOCTURNE_ITEM", "NOCTURNE_PROFILE", "HOME",
        ]
        let found = EnvironmentOptions.variables(Dictionary(uniqueKeysWithValues: names.map { ($0, "") }), known: table)
        #expect(found.map(\.name) == names.dropLast().sorted())
        #expect(found.map(\.isKnown) == [true, true, false, true, true])
        #expect(found.compactMap(\.option) == ["--memory", "--profile"])
        #expect(found[2].nearest == "NOCTURNE_MEMORY")
        #expect(EnvironmentOptions.isUsed(["NOCTURNE_MEMORY": ""]))
        #expect(!EnvironmentOptions.isUsed(["NOCTURNE_MODELS": "", "NOCTURNE_ITEM": "", "PATH": ""]))
    }

    @Test("A message about an added option says where it is from; one about a longer name does not")
    func origins() throws {
        let merged = merge([], table, [try profile("memory much")])
        #expect(
            merged.origins(in: "The value 'much' is invalid for '--memory=<memory>'") == [
                "ct.profile, line 1 sets --memory."
            ]
        )
        #expect(merged.origins(in: "--memory-limit --mem") == [])
        #expect(merged.origins(in: "no --memory").count == 1)
    }

    @Test(
        "--profile is taken out of the arguments, wherever it is; without a file it is left to the parser",
        arguments: [
            (["in", "--profile", "p", "-q"], "p", ["in", "-q"]), (["--profile=p", "in"], "p", ["in"]),
            (["in", "--profile"], nil, ["in", "--profile"]), (["--profile", "-q"], nil, ["--profile", "-q"]),
            (["--", "--profile", "p"], nil, ["--", "--profile", "p"]),
        ] as [([String], String?, [String])]
    )
    func taken(arguments: [String], file: String?, rest: [String]) {
        var arguments = arguments
        #expect(MergedArguments.takeProfile(from: &arguments) == file)
        #expect(arguments == rest)
    }

    @Test("The options of a command are those of its help, with their short names, and no variable has two meanings")
    func optionTable() throws {
        let table = OptionTable(of: [Everything.self])
        #expect(table["model"] == .init("model", letter: "m", isRepeatable: true))
        #expect(table["quiet"] == .init("quiet", letter: "q", takesValue: false))
        #expect(table["dicom-seg"]?.takesValue == false && table["inputs"] == nil)
        #expect(table.given(in: ["-qm", "x", "--dicom-seg", "--", "--meshes"]) == ["quiet", "model", "dicom-seg"])
        let settable = table.without(DefaultOption.onlyOnCommandLine).names.map(EnvironmentOptions.variable)
        #expect(settable.filter { EnvironmentOptions.others[$0] != nil } == [])
    }
}
