import ArgumentParser
import NocturneRecipes
import Testing

@Suite("Options from a profile, and variables")
struct ProfileTests {
    private func profile(_ text: String) -> Profile { Profile(text: text, name: "ct.profile") }

    @Test("A line is a name and a value as it stands; comments, blanks, carriage returns and hyphens are no part of it")
    func lines() {
        let text =
            "\u{FEFF}# night\r\n\r\n  memory 8G \r\n--threads=4\nmodel organs\nmodel = \"a b\"\n"
            + "on-item\techo \"$NOCTURNE_ITEM\" # done\nwindow -600,1500\nquiet\nno-dicom-seg\n"
        #expect(
            profile(text).arguments(continuesBatch: false) == [
                "--memory=8G", "--threads=4", "--model=organs", "--model=\"a b\"",
                "--on-item=echo \"$NOCTURNE_ITEM\" # done", "--window=-600,1500", "--quiet", "--no-dicom-seg",
            ]
        )
        #expect(profile("").arguments(continuesBatch: false).isEmpty)
    }

    @Test("When a batch is continued, what it has recorded is left out")
    func continued() {
        let text = "memory 8G\nmodel a\nengine builtin\nmeshes ply\nno-pictures\nexclude *.nii\nlist files.txt\nquiet\n"
        #expect(profile(text).arguments(continuesBatch: true) == ["--memory=8G", "--quiet"])
    }

    @Test("A message about an option names its lines; one about a longer name does not")
    func origins() {
        let profile = profile("\nmemory much\n")
        #expect(
            profile.origins(in: "The value 'much' is invalid for '--memory=<memory>'") == [
                "ct.profile, line 2 has --memory."
            ]
        )
        #expect(profile.origins(in: "--memory-limit --mem") == [])
        #expect(profile.origins(in: "no --memory").count == 1)
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
        #expect(Profile.take(from: &arguments) == file)
        #expect(arguments == rest)
    }

    @Test("Of an option with one value the later one counts, of a repeatable one all, and of a flag the later form")
    func ranks() throws {
        let arguments = try BatchArguments.parse(
            ["--engine=builtin", "--model=a", "--pictures", "--engine", "auto", "-m", "b", "--no-pictures"]
        )
        #expect(arguments.models.model == ["a", "b"])
        #expect(arguments.recipes.given["pictures"] == "no")
        #expect(arguments.given.sorted() == ["--engine", "--model", "--pictures"])
    }

    @Test("Of a variable the meaning is known, or the known one that may be meant")
    func variables() {
        let names = ["NOCTURNE_MODEL", "NOCTURNE_MODELS", "NOCTURNE_ITEM", "HOME"]
        let found = EnvironmentVariables.variables(Dictionary(uniqueKeysWithValues: names.map { ($0, "") }))
        #expect(found.map(\.name) == ["NOCTURNE_ITEM", "NOCTURNE_MODEL", "NOCTURNE_MODELS"])
        #expect(found.map { $0.meaning != nil } == [true, false, true])
        #expect(found[1].nearest == "NOCTURNE_MODELS")
    }
}
