import Foundation
import Testing

/// Runs the built tool.
struct Tool {
    static let path: String = {
        // The test bundle and the tool are built into the same folder.
        let bundle = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") } ?? Bundle.main.bundlePath
        let folder = (bundle as NSString).deletingLastPathComponent
        return folder + "/nocturne"
    }()

    let status: Int32
    let output: String
    let errors: String

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Tool.path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let out = Pipe()
        let err = Pipe()
        process.standardOutput = out
        process.standardError = err
        try process.run()
        let output = out.fileHandleForReading.readDataToEndOfFile()
        let errors = err.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        status = process.terminationStatus
        self.output = String(decoding: output, as: UTF8.self)
        self.errors = String(decoding: errors, as: UTF8.self)
    }
}

@Suite("The command line")
struct CommandLineTests {
    @Test("Wrong usage is told on standard error, with code 2")
    func usage() throws {
        let tool = try Tool(["run", "--no-such-option"])
        #expect(tool.status == 2)
        #expect(tool.output.isEmpty)
        #expect(tool.errors.contains("--no-such-option"))
    }
}
