import Foundation
import NocturneBatch
import NocturneSystem

/// What `nocturne cancel` asks of a run in another process: a file each, and a signal to look.
enum ControlRequests {
    static func send(_ names: [String], to output: OutputFolder, process: Int32) throws {
        try FileSystem.makeFolder(output.requests)
        let path = output.requests + "/\(UUID().uuidString).txt"
        try FileSystem.replace(path, with: Array(names.map { $0 + "\n" }.joined().utf8))
        guard kill(process, SIGUSR2) == 0 else {
            throw BatchError(.outputInUse, path: output.path, detail: "process \(process) cannot be signalled")
        }
    }

    static func take(from output: OutputFolder, _ control: RunControl) {
        for entry in FileSystem.entries(output.requests) where entry.hasSuffix(".txt") {
            let path = output.requests + "/" + entry
            guard let bytes = try? FileSystem.read(path, limit: 1 << 20) else { continue }
            for name in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
                control.cancel(item: String(name))
            }
            FileSystem.remove(path)
        }
    }
}
