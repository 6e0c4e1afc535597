import ArgumentParser
import Foundation
import NocturneRecipes
import NocturneSupervisor

/// The command line of this process, with options of a profile and of the environment for what it does not say.
///
/// Processes that this one starts get the expanded command line and take it as it is.
struct ExpandedCommandLine {
    /// With the name of the program.
    let arguments: [String]
    private let merged: MergedArguments?

    /// For the argument parser.
    var parsed: [String] { Array(arguments.dropFirst()) }

    /// Where options are from that a message names and that are not on the command line itself.
    func origins(in message: String) -> [String] { merged?.origins(in: message) ?? [] }

    /// - Throws: `ValidationError` for a profile or a variable that cannot be used.
    init(
        _ arguments: [String] = CommandLine.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        var rest = Array(arguments.dropFirst(2))
        guard ProcessHandover.received == nil, arguments.count > 1,
            let command = Self.commands.first(where: { $0._commandName == arguments[1] }),
            !rest.contains(where: ["-h", "--help", "--version"].contains)
        else {
            (self.arguments, merged) = (arguments, nil)
            return
        }
        let profile = MergedArguments.takeProfile(from: &rest) ?? environment[EnvironmentOptions.profile]
        let plain = try MergedArguments.withoutFlagValues(rest, table: OptionTable(of: [command]))
        guard profile?.isEmpty == false || EnvironmentOptions.isUsed(environment) else {
            (self.arguments, merged) = (Array(arguments.prefix(2)) + plain, nil)
            return
        }
        let known = OptionTable(of: Self.commands)
        var sources: [[DefaultOption]] = []
        if let profile, !profile.isEmpty {
            sources.append(try Profile(path: absolutePath(profile), name: profile, known: known).options)
        }
        sources.append(try EnvironmentOptions.options(environment, known: known))
        let table = Self.table(command, rest)
        let merged = MergedArguments(plain, given: table.given(in: rest), table: table, sources: sources)
        self.merged = merged
        self.arguments = Array(arguments.prefix(2)) + merged.arguments
    }

    /// The commands that take options from a profile and from the environment.
    static let commands: [any ParsableCommand.Type] = [Run.self, Watch.self, Plan.self, Resume.self, Retry.self]

    /// What a command takes from elsewhere: no option that changes results where a batch exists that has recorded them.
    private static func table(_ command: any ParsableCommand.Type, _ arguments: [String]) -> OptionTable {
        let table = OptionTable(of: [command])
        let continues =
            command == Resume.self || command == Retry.self || table.given(in: arguments).contains("shard")
        return continues ? table.without(OptionTable(of: [BatchArguments.self]).names) : table
    }
}
