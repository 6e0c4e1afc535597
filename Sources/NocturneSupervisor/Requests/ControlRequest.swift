import Foundation
public import NocturneBatch
public import NocturneOutput
import NocturneSystem

/// A request of `nocturne cancel`, `pause`, `continue`, `approve` or `first` to a run that may be in another process, container or
/// machine: a file in the output folder that the run looks for.
public struct ControlRequest: Codable, Sendable, Hashable {
    /// What the run is asked to do.
    public enum Action: Codable, Sendable, Hashable {
        /// Stop the whole run.
        case stop
        /// Stop these items.
        case cancelItems([String])
        /// Start nothing, and let active items wait.
        case pause(RunPause)
        /// End the pause.
        case endPause
        /// Process the other items, since the pilot is approved.
        case approve
        /// Start some items next.
        case putFirst(FirstRequest)
    }

    /// The run to which the request is addressed. Later runs ignore it.
    public let run: String
    /// What the run is asked to do.
    public let action: Action

    /// - Parameter run: the name of the run, as its lock file has it.
    public init(run: String, action: Action) {
        self.run = run
        self.action = action
    }

    /// Puts the request into the folder. The run's process is signalled to look, if it belongs to this machine and namespace;
    /// otherwise the run looks at intervals.
    /// - Returns: whether it was signalled.
    /// - Throws: ``BatchError`` when no run is active, it is not known which, or the batch belongs to another user, whose run could
    ///   not read the request; `FileSystemError`.
    public static func send(_ action: Action, to output: OutputFolder) throws -> Bool {
        switch BatchLock.state(of: output) {
        case .free:
            throw BatchError(
                .notABatch,
                path: "",
                detail: "no run is active on \(output.path). Its state: `nocturne status \(output.argument)`"
            )
        case .unknown(let code):
            throw BatchError(
                .outputUnwritable,
                path: output.path,
                detail: "cannot determine whether a run is active on this batch: \(errnoText(code)). "
                    + "Check the folder and its disk",
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
            // Only the owner of the batch may put requests there.
            try output.checkOwner()
            try FileSystem.makeFolder(output.requests, mode: 0o700)
            let text = try StableJSON.encodeLine(ControlRequest(run: run, action: action))
            // Sorted by time: a pause and its end may be found together.
            let now = SystemTime().wallClock
            let name = "\(now.seconds * 1_000_000_000 + now.nanoseconds)-\(UUID().uuidString).json"
            try FileSystem.replace(output.requests + "/" + name, with: text)
            return holder.process.send(SIGUSR2)
        }
    }

    /// Reads and removes the requests in the folder.
    /// - Returns: Those to this run, in the order in which they were sent.
    static func take(from output: OutputFolder, run: String) -> [(file: String, action: Action)] {
        FileSystem.entries(output.requests).filter { $0.hasSuffix(".json") }.compactMap { name in
            let path = output.requests + "/" + name
            // Also of other runs, and files that are not requests: nobody else would remove them.
            defer { FileSystem.remove(path) }
            // Only plain files: reading a pipe would block.
            guard FileSystem.kind(path) == .file, let bytes = try? FileSystem.read(path, limit: 1 << 20),
                let request = try? JSONDecoder().decode(ControlRequest.self, from: Data(bytes)), request.run == run
            else { return nil }
            return (name, request.action)
        }
    }
}
