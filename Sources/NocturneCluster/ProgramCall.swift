import Foundation
import NocturneBatch

/// A call of a program of the cluster, such as `sbatch`.
public struct ProgramCall: Sendable {
    /// What it printed, and how it ended.
    public struct Result: Sendable {
        public let status: Int32
        public let output: String
        public let errors: String
    }

    public let program: String
    public let arguments: [String]

    public init(_ program: String, _ arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }

    /// Runs it to its end. Blocks the calling thread.
    /// - Parameter input: for its standard input.
    /// - Throws: ``BatchError`` when there is no such program.
    public func run(input: String = "") throws -> Result {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        // Scripts are shorter than what a pipe holds.
        try? standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try? standardInput.fileHandleForWriting.close()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let problems = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus != 127 else {
            throw BatchError(.unknownItem, path: "", detail: "the program \(program) is not installed on this machine")
        }
        return Result(
            status: process.terminationStatus,
            output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: problems, as: UTF8.self)
        )
    }
}
