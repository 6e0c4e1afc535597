import ArgumentParser

/// The option that names a profile. ``ExpandedCommandLine`` replaces it by the options in the profile.
struct ProfileArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take options that are not given here from this file, one a line: name and value.",
            discussion: "When a batch is continued, only those that do not change results.",
            valueName: "file"
        ),
        completion: .file()
    )
    var profile: String?
}
