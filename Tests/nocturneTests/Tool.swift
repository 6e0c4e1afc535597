import Foundation
import NocturneTestSupport

/// The built tool, run as a user runs it.
struct Tool {
    static let path: String = {
        // The tests and the tool are built into the same folder.
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (tests as NSString).deletingLastPathComponent + "/nocturne"
    }()

    let status: Int32
    let output: String
    let errors: String

    /// What a program that was started in the background ignores, its children ignore too, and what is ignored while
    /// nobody listens is lost: the tool is started as from a terminal, wherever the tests run.
    private static let interruptsAreHeard: Void = { Foundation.signal(SIGINT, SIG_DFL) }()

    /// Whether a program can be found and answers to these arguments without a fault.
    static func answers(_ program: String, _ arguments: [String]) -> Bool {
        (try? Tool(arguments, program: program))?.status == 0
    }

    /// Runs it to its end. With `signal`, it is sent once the event named in `after` is there, or at once when it is nil.
    /// - Parameter program: another one, to be looked for on the path.
    init(
        _ arguments: [String],
        program: String? = nil,
        environment: [String: String] = [:],
        signal: Int32? = nil,
        after event: String? = "itemStarted",
        in events: String = ""
    ) throws {
        Tool.interruptsAreHeard
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program == nil ? Tool.path : "/usr/bin/env")
        process.arguments = (program.map { [$0] } ?? []) + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let out = Pipe()
        let err = Pipe()
        process.standardOutput = out
        process.standardError = err
        try process.run()
        if let signal {
            if let event {
                blockThread {
                    !process.isRunning || ((try? String(contentsOfFile: events, encoding: .utf8)) ?? "").contains(event)
                }
            }
            kill(process.processIdentifier, signal)
        }
        output = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        errors = String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
    }

    /// A JSON object among what was printed.
    func json() throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] ?? [:]
    }
}

/// A folder with inputs for the tool.
struct ToolBench {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder("nocturne-tool")
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
    }

    var input: String { folder("in").path }
    var output: String { folder("out").path }
    func model(_ name: String = "threshold") -> String { Fixtures.url("Models/\(name)").path }

    /// An uncompressed NIfTI-1 file of uint8 voxels, by default with a box of ones in the middle.
    func addVolume(_ name: String, _ x: Int = 24, _ y: Int = 24, _ z: Int = 24, hasBox: Bool = true) throws {
        var bytes = [UInt8](repeating: 0, count: 352 + x * y * z)
        func putWord(_ value: UInt16, at offset: Int) {
            bytes[offset] = UInt8(value & 255)
            bytes[offset + 1] = UInt8(value >> 8)
        }
        func putReal(_ value: Float, at offset: Int) {
            for index in 0..<4 { bytes[offset + index] = UInt8(value.bitPattern >> (8 * index) & 255) }
        }
        putWord(348, at: 0)
        for (index, size) in [3, x, y, z, 1, 1, 1, 1].enumerated() { putWord(UInt16(size), at: 40 + 2 * index) }
        putWord(2, at: 70)
        putWord(8, at: 72)
        for index in 0..<4 { putReal(Float(1), at: 76 + 4 * index) }
        putReal(Float(352), at: 108)
        putReal(Float(1), at: 112)
        putWord(1, at: 254)
        for row in 0..<3 { putReal(Float(1), at: 280 + 20 * row) }
        for (index, byte) in "n+1\0".utf8.enumerated() { bytes[344 + index] = byte }
        for k in z / 4..<z / 2 where hasBox {
            for j in y / 4..<y / 2 {
                for i in x / 4..<x / 2 { bytes[352 + i + x * (j + y * k)] = 1 }
            }
        }
        try folder.write(bytes, to: "in/\(name)")
    }

    func run(_ more: String...) throws -> Tool {
        try Tool(["run", input, "--model", model(), "--output", output] + more)
    }
}
