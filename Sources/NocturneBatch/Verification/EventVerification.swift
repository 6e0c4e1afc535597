import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneSystem

/// Checks that every line of `events.jsonl` can be read, and that the last event of every item agrees with the journal.
struct EventVerification {
    let output: OutputFolder

    func check(_ items: some Sequence<JournalItem>, flag: CancellationFlag, _ report: inout VerificationReport) throws {
        let path = output.events
        guard FileSystem.kind(path) == .file else { return report.add(path, "is missing") }
        report.filesChecked += 1
        // By the hashes of names, since there may be a million.
        var ends: [UInt64: BatchEvent.Kind] = [:]
        var latest = ""
        var goesBack = 0
        let decoder = JSONDecoder()
        do {
            var lines = try LineReader(path)
            var number = 0
            while let line = try lines.next(), !lines.isIncomplete {
                number += 1
                try flag.check()
                do {
                    if let fault = try PipelineSchemas.event.faults(in: line).first {
                        report.add(path, "line \(number) does not match its schema: \(fault)")
                        continue
                    }
                    let event = try decoder.decode(BatchEvent.self, from: Data(line))
                    if event.time < latest { goesBack += 1 }
                    latest = max(latest, event.time)
                    if let item = event.item { ends[TextHash.of(item)] = event.event }
                } catch {
                    report.add(path, "line \(number): \(error)")
                }
            }
            report.bytesChecked += lines.bytesRead
            if lines.isIncomplete { report.add(path, "its last line is incomplete") }
        } catch let error as FileSystemError {
            return report.add(path, "cannot be read: \(error)")
        }
        // Somebody may set the clock during a run.
        if goesBack > 0 { report.notes.append("\(path): the time goes back \(goesBack) times") }
        for item in items {
            if let fault = contradiction(item, ends[TextHash.of(item.name)]) {
                report.add(path, "\(item.name): \(fault)")
            }
        }
    }

    /// A run that is killed between the journal and the event leaves the start of the item as its last event; what discovery
    /// and a changed batch do to waiting items has no events.
    private func contradiction(_ item: JournalItem, _ last: BatchEvent.Kind?) -> String? {
        let ends: [ItemState: BatchEvent.Kind] = [
            .completed: .itemCompleted, .failed: .itemFailed, .cancelled: .itemCancelled,
            .quarantined: .itemQuarantined,
        ]
        guard let expected = ends[item.state] else { return nil }
        guard let last else { return "the journal has it as \(item.state.rawValue), and no event names it" }
        let isEnd = last == .itemSkipped || ends.values.contains(last)
        return isEnd && last != expected
            ? "the journal has it as \(item.state.rawValue), its last event is \(last.rawValue)" : nil
    }
}
