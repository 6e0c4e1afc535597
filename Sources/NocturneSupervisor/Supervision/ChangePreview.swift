internal import CPosix
import Foundation
import NocturneSystem

/// A process that shows what changed options affect, before the run with these options is started.
///
/// Inputs are searched and models are loaded in it, so that the supervisor does not keep their memory.
public enum ChangePreview {
    /// What the changes do to the results. The process exits with its code, and with 1 for an error.
    public enum Effect: Int32, Sendable {
        /// Nothing that takes long.
        case short = 0
        /// Results are made again that take long, or leave the batch.
        case long = 10
        /// Labels that people have edited or titles that they have imported are lost.
        case losses = 11
    }

    /// Whether this is that process.
    public static var isThisProcess: Bool { ProcessHandover.received == .changePreview }

    /// Runs this program in such a process, and waits for it. It reads nothing from standard input.
    /// - Parameter arguments: the command line, with the name of the program.
    /// - Returns: its exit code; nil when it could not be started or was killed.
    public static func run(_ arguments: [String]) -> Int32? {
        // A process that ignores SIGCHLD does not receive the exit codes of its children.
        signal(SIGCHLD, SIG_DFL)
        let environment = ProcessHandover.changePreview.environment(ProcessInfo.processInfo.environment)
        let process = Command.withCStrings(arguments, environment) { arguments, variables in
            cposix_spawn("/proc/self/exe", arguments, variables, 1)
        }
        return process > 0 ? Detachment.exitCode(of: process) : nil
    }
}
