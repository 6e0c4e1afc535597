import ArgumentParser
import Foundation
import NocturneBatch
import NocturneSystem

/// The command line: parsing and printing only.
@main
struct Nocturne: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "nocturne",
        abstract: "Works through folders of CT and MR volumes overnight, and leaves labels, meshes and measurements.",
        discussion: """
            Research software: not a medical device, not for diagnosis or treatment.

            Exit codes: 0 all completed, 1 internal error, 2 usage, 3 finished but some items failed, \
            4 nothing matched, 75 stopped early and safe to resume, 130 and 143 cancelled by a signal.
            """,
        version: version,
        subcommands: [
            Run.self, Watch.self, Plan.self, Resume.self, Status.self, Attach.self, Cancel.self, Verify.self,
            Retry.self, Inspect.self, Doctor.self, Models.self,
        ]
    )

    static func main() async {
        // A reader that goes away (a pipe into head) is told by the write, not by death.
        signal(SIGPIPE, SIG_IGN)
        // Before anything that takes time: the supervisor hands wishes on as soon as there is an engine.
        if Supervisor.isEngine { SignalListener.keep([SIGUSR1, SIGUSR2]) }
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let code as NocturneExit {
            Foundation.exit(code.rawValue)
        } catch let error as BatchError {
            Terminal.error("\(error)")
            Foundation.exit(NocturneExit(error).rawValue)
        } catch {
            let code = exitCode(for: error)
            if code == .success || code == .validationFailure {
                let message = fullMessage(for: error)
                if code == .success { print(message) } else { Terminal.error(message, prefix: "") }
                Foundation.exit(code == .success ? 0 : NocturneExit.usage.rawValue)
            }
            Terminal.error("\(error)")
            Foundation.exit(NocturneExit.internalError.rawValue)
        }
    }
}
