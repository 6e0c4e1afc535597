import Foundation
public import NocturneBatch
import NocturneSystem

/// What `nocturne cancel` asks of a run that may be in another process, container or machine: a file in the output folder
/// that the run looks for.
public struct ControlRequest: Codable, Sendable, Hashable {
    public enum Action: Codable, Sendable, Hashable {
        /// Stop the whole run.
        case stop
        /// Stop these items.
        case cancelItems([String])
    }

    /// The run that is asked. Later runs ignore the request.
    public let run: String
    public let action: Action

    public init(run: String, action: Action) {
        self.run = run
        self.action = action
    }

    /// How the run will hear of a request.
    public enum Delivery: Sendable, Hashable {
        /// Its process was told to look.
        case signalled
        /// It looks by itself, every so often.
        case left
    }

    /// Puts the request into the folder. The run's process is told to look, if it is one of this machine and namespace.
    /// - Throws: ``BatchError`` when no run is active, or it is not known which; `FileSystemError`.
    public static func send(_ action: Action, to output: OutputFolder) throws -> Delivery {
        switch BatchLock.state(of: output) {
        case .free:
            throw BatchError(.notABatch, path: output.path, detail: "no run is active on this batch")
        case .unknown(let code):
            throw BatchError(
                .outputUnwritable,
                path: output.path,
                detail: "cannot tell whether a run is active on this batch: \(errnoText(code))",
                systemCode: code
            )
        case .held(let holder):
            guard let holder, let run = holder.run else {
                throw BatchError(
                    .outputInUse,
                    path: output.path,
                    detail: "a run is active, but its lock file does not name it, so nothing was sent. "
                        + "Stop it where it was started, with Ctrl-C"
                )
            }
            try FileSystem.makeFolder(output.requests, mode: 0o700)
            let text = try StableJSON.encodeLine(ControlRequest(run: run, action: action))
            try FileSystem.replace(output.requests + "/\(UUID().uuidString).json", with: text)
            return holder.process.send(SIGUSR2) ? .signalled : .left
        }
    }

    /// Reads and removes the requests in the folder.
    /// - Returns: Those to this run.
    static func take(from output: OutputFolder, run: String) -> [(file: String, action: Action)] {
        FileSystem.entries(output.requests).filter { $0.hasSuffix(".json") || $0.hasSuffix(".txt") }.compactMap {
            name in
            let path = output.requests + "/" + name
            defer { FileSystem.remove(path) }
            // Only plain files: reading a pipe would block.
            guard FileSystem.kind(path) == .file, let bytes = try? FileSystem.read(path, limit: 1 << 20),
                let request = try? JSONDecoder().decode(ControlRequest.self, from: Data(bytes)), request.run == run
            else { return nil }
            return (name, request.action)
        }
    }
}
