import Foundation
import NocturneBatch
import NocturneCluster
import NocturneOutput
import NocturneSystem

/// What `status --follow` prints: the events of the active run, as text.
enum FollowedRun {
    /// Prints events until the run ends.
    /// - Throws: ``NocturneExit`` unless all items completed; `BatchError` for a folder without a batch, or with a divided one.
    static func follow(_ folder: OutputFolder) async throws {
        // The events of a divided batch are in the folders of its shards until they are merged.
        guard try await DividedBatch.read(folder) == nil else {
            throw BatchError(
                .divided,
                path: folder.path,
                detail: "the batch is divided into shards, which have a run each. `nocturne status --refresh` shows all"
            )
        }
        guard !BatchLock.state(of: folder).isFree else { return try await end(folder, message: "No run is active.") }
        // The last events of about a screen, then what follows.
        var offset = UInt64(max(0, (FileSystem.size(folder.events) ?? 0) - 4096))
        var rest = Data()
        while true {
            // A file system that fails for a while does not end a run.
            // Read before the events: what is written after the last look would otherwise be lost.
            let isActive = !BatchLock.state(of: folder).isFree
            rest += try read(folder.events, from: &offset)
            while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest[rest.startIndex..<newline]
                rest = rest[rest.index(after: newline)...]
                // The first line may be incomplete.
                guard let event = try? JSONDecoder().decode(BatchEvent.self, from: line) else { continue }
                if let text = EventText.line(event, ProgressStatus(of: event)) { Terminal.printMessage(text) }
            }
            if !isActive { return try await end(folder) }
            try await Program.time.sleep(for: .milliseconds(500))
        }
    }

    /// What was added to the file since the last call.
    private static func read(_ path: String, from offset: inout UInt64) throws -> Data {
        // A run that has just started has not written any events.
        guard FileSystem.kind(path) == .file else { return Data() }
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        let data = try file.readToEnd() ?? Data()
        offset += UInt64(data.count)
        return data
    }

    /// Prints the outcome so far, and exits with the code of the run.
    private static func end(_ folder: OutputFolder, message: String? = nil) async throws {
        if let message { Terminal.printMessage(message) }
        let counts = try await ExistingBatch.contents(of: folder).counts
        Terminal.printMessage(SummaryText.summary(counts, output: folder, seconds: nil))
        // What the run was asked for is not known here; with `draining`, items that wait mean 75.
        let code = NocturneExit(counts, mode: .draining, signal: nil)
        if code != .allCompleted { throw code }
    }
}

extension ProgressStatus {
    /// The counts in an event.
    fileprivate init(of event: BatchEvent) {
        self.init()
        done = event.done ?? 0
        total = event.total ?? 0
        failed = event.failed ?? 0
        etaSeconds = event.etaSeconds
    }
}
