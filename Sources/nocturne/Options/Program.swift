import Foundation
import NocturneSystem

/// This program, and how it was called.
enum Program {
    static let version = "0.2.0"

    /// The system clocks; no other code of the executable names them.
    static let time: any TimeSource = SystemTime()

    /// The command line with the options of a profile, or why that cannot be read.
    static let commandLine = Result { try ExpandedCommandLine() }

    /// Where this program lies; its name alone where the system does not have /proc.
    static var path: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "nocturne"
    }
    /// The whole command line, for processes that are to do the same.
    static var arguments: [String] { (try? commandLine.get().arguments) ?? CommandLine.arguments }
}
