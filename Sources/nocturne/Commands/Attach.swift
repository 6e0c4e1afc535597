import ArgumentParser
import Foundation
import NocturneBatch
import NocturneSystem

struct Attach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what a run at work says, until it ends; interrupting this does not interrupt the run."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try ExistingBatch.description(of: folder)
        guard BatchLock.holder(of: folder) != nil else {
            return try end(folder, said: "No run is at work.")
        }
        var offset = UInt64(max(0, (FileSystem.size(folder.events) ?? 0) - 4096))
        var rest = Data()
        while true {
            let isAtWork = BatchLock.holder(of: folder) != nil
            rest += try read(folder.events, from: &offset)
            while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest[rest.startIndex..<newline]
                rest = rest[rest.index(after: newline)...]
                // The first line may be the end of one.
                guard let event = try? JSONDecoder().decode(BatchEvent.self, from: line) else { continue }
                if let text = EventText.line(event, ProgressStatus(of: event)) { Terminal.say(text) }
            }
            if !isAtWork { return try end(folder, said: nil) }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private func read(_ path: String, from offset: inout UInt64) throws -> Data {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        let data = try file.readToEnd() ?? Data()
        offset += UInt64(data.count)
        return data
    }

    /// The account as it stands, and the exit code that the run has or had.
    private func end(_ folder: OutputFolder, said: String?) throws {
        if let said { Terminal.say(said) }
        let journal = try Journal(path: folder.journal)
        defer { journal.close() }
        let counts = BatchCounts(of: try journal.items())
        Terminal.say(SummaryText.summary(counts, output: folder, seconds: nil))
        let code = NocturneExit(counts, mode: .draining, signal: nil)
        if code != .allCompleted { throw code }
    }
}

extension ProgressStatus {
    /// What an event says of the counts.
    fileprivate init(of event: BatchEvent) {
        self.init()
        done = event.done ?? 0
        total = event.total ?? 0
        failed = event.failed ?? 0
        etaSeconds = event.etaSeconds
    }
}
