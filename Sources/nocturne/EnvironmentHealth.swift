import ArgumentParser
import Foundation
import NocturneRecipes
import NocturneSupervisor

/// What `doctor` finds out about the environment variables of the program.
struct EnvironmentHealth {
    let variables: [EnvironmentOptions.Variable]
    private let environment: [String: String]
    private let known = OptionTable(of: ExpandedCommandLine.commands)

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
        variables = EnvironmentOptions.variables(environment, known: known)
    }

    /// One for each variable that is set; none without any.
    var findings: [HealthFinding] { variables.map(finding) }

    private func finding(_ variable: EnvironmentOptions.Variable) -> HealthFinding {
        let value = environment[variable.name] ?? ""
        let text = "\(variable.name)=\(value)"
        if let option = variable.option {
            if value.isEmpty { return HealthFinding("variable", "\(text) is empty and sets nothing") }
            if let problem = problem(option, value) { return HealthFinding("variable", "\(text): \(problem)", .fault) }
            return HealthFinding("variable", "\(text) sets \(option)")
        }
        if let meaning = variable.meaning { return HealthFinding("variable", "\(text): \(meaning)") }
        let hint = variable.nearest.map { "; did you mean \($0)?" } ?? ""
        return HealthFinding("variable", "\(variable.name) has no meaning\(hint)", .warning)
    }

    /// Why a value is refused.
    private func problem(_ option: String, _ value: String) -> String? {
        do {
            if option == "--profile" {
                _ = try Profile(path: absolutePath(value), name: value, known: known)
                return nil
            }
            let one = [EnvironmentOptions.variable(String(option.dropFirst(2))): value]
            let arguments = try EnvironmentOptions.options(one, known: known).compactMap(\.argument)
            let isOfRun = OptionTable(of: [Run.self])[String(option.dropFirst(2))] != nil
            let command: any ParsableCommand.Type = isOfRun ? Run.self : Watch.self
            return refusal(command, ["--output", "out"] + arguments, option)
        } catch {
            return Nocturne.message(for: error)
        }
    }

    /// What the parser says about one option among arguments; nil when it accepts it.
    private func refusal<Command: ParsableCommand>(
        _ command: Command.Type,
        _ arguments: [String],
        _ option: String
    ) -> String? {
        do {
            _ = try command.parse(arguments)
            return nil
        } catch {
            let message = command.message(for: error)
            // Others are about the machine or other variables.
            return message.contains(option) ? message : nil
        }
    }
}
