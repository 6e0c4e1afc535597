import ArgumentParser
import Foundation
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor

/// The command line of this process, with the options of a profile before its own.
///
/// Processes that this one starts get the expanded command line and take it as it is.
struct ExpandedCommandLine {
    /// With the name of the program.
    let arguments: [String]
    /// Whether help with the main options alone is asked for.
    let asksForShortHelp: Bool
    private let profile: Profile?

    /// The option that shows the help of all options.
    static let fullHelp = "--help-all"

    /// For the argument parser.
    var parsed: [String] { arguments.dropFirst().map { $0 == Self.fullHelp ? "--help" : $0 } }

    /// Where options are from that a message names and that are not on the command line itself.
    func origins(in message: String) -> [String] { profile?.origins(in: message) ?? [] }

    /// - Throws: `ValidationError` for a profile that cannot be read.
    init(_ arguments: [String] = CommandLine.arguments) throws {
        // Without the program and the command.
        var rest = Array(arguments.dropFirst(2))
        let isHelp = arguments.dropFirst().first == "help" || arguments.contains { ["-h", "--help"].contains($0) }
        let command = arguments.dropFirst().first { $0 != "help" } ?? ""
        let hasProcessArguments = Self.commands.contains(command)
        asksForShortHelp = isHelp && hasProcessArguments && !arguments.contains(Self.fullHelp)
        // Processes of a run get the expanded command line.
        guard ProcessHandover.received == nil, hasProcessArguments, !isHelp,
            let file = Profile.take(from: &rest)
        else {
            (self.arguments, profile) = (arguments, nil)
            return
        }
        let profile = try Profile(path: absolutePath(file), name: file)
        // A batch that is continued has its options: only those that change no result are taken.
        let continuesBatch = command == "resume" || rest.contains { $0.hasPrefix("--shard") }
        // The profile first: of two values the later one counts.
        self.arguments = Array(arguments.prefix(2)) + profile.arguments(continuesBatch: continuesBatch) + rest
        self.profile = profile
    }

    /// The commands with ``ProcessArguments``, which have too many options for one screen.
    private static let commands = ["run", "watch", "plan", "resume"]
}

/// Options about this one call: what it prints, a file with more options, and help.
struct ProcessArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read options from this file, one per line: name and value. Options on the command line override it. When a batch is "
                + "continued, only options that change no result are read.",
            valueName: "file"
        ),
        completion: .file()
    )
    var profile: String?

    /// ``ExpandedCommandLine`` takes the option before the parser sees it; here it is only for help and completion.
    @Flag(help: "Show the help of all options.")
    var helpAll = false
}
