internal import CPosix
import Foundation

/// A process that says what changed options affect, before the run is started that they belong to.
///
/// Inputs are searched and models are loaded in it, so that the supervisor does not keep what that takes.
public enum ChangePreview {
    /// The code with which it exits when a person should be asked whether to continue.
    public static let asking: Int32 = 10

    /// Whether this is that process.
    public static var isThisProcess: Bool { ProcessHandover.received == .changePreview }

    /// Runs this program in such a process, and waits for it. It reads nothing from standard input.
    /// - Parameter arguments: the command line, with the name of the program.
    /// - Returns: its exit code; nil when it could not be started or was killed.
    public static func run(_ arguments: [String]) -> Int32? {
        // Who ignores the ends of children does not learn how they ended.
        signal(SIGCHLD, SIG_DFL)
        let environment = ProcessHandover.changePreview.environment(ProcessInfo.processInfo.environment)
        let process = CStrings.with(arguments, environment) { arguments, variables in
            cposix_spawn("/proc/self/exe", arguments, variables, 1)
        }
        return process > 0 ? Detachment.exitCode(of: process) : nil
    }
}
