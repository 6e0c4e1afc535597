import Foundation
import NocturneTestSupport
import Testing

/// The built tool in the background, ended with the last reference.
final class BackgroundTool {
    private let process = Process()
    private let errors = Pipe()
    private var heard = ""
    /// Holds the folder for as long as the run is in it.
    private let bench: ToolBench

    /// Starts a run of a bench's inputs, and waits until its engine has begun.
    /// - Parameters:
    ///   - fault: what is made to happen in it.
    ///   - model: the package; nil for the bench's own.
    init(_ bench: ToolBench, fault: String, prefix: [String] = [], model: String? = nil) throws {
        self.bench = bench
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            prefix + [
                Tool.path, "run", bench.input, "--model", model ?? bench.model(), "--output", bench.output, "--meshes",
                "none", "--preview", "none", "--fault-injection",
            ]
        process.environment = ProcessInfo.processInfo.environment.merging(["NOCTURNE_FAULT": fault]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        blockThread { !process.isRunning || events.contains("itemStarted") }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    private var events: String { (try? String(contentsOfFile: bench.output + "/events.jsonl", encoding: .utf8)) ?? "" }

    /// The supervisor's process id.
    var supervisor: pid_t { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    /// The engine's process id.
    func engine() throws -> pid_t {
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(supervisor)/task") {
            let children = try String(contentsOfFile: "/proc/\(supervisor)/task/\(thread)/children", encoding: .utf8)
            if let child = children.split(separator: " ").first.flatMap({ pid_t($0) }) { return child }
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// Reads what it says until it has said this, or has ended.
    func reads(until text: String) {
        while !heard.contains(text) {
            let data = errors.fileHandleForReading.availableData
            if data.isEmpty { return }
            heard += String(decoding: data, as: UTF8.self)
        }
    }

    /// What it said, and how it ended.
    func wait() -> (status: Int32, errors: String) {
        let text = heard + String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let status = process.terminationStatus
        return (process.terminationReason == .uncaughtSignal ? -status : status, text)
    }
}
