import Foundation
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Checks that every line of `events.jsonl` can be read, and that the last event of every item agrees with the journal.
extension BatchVerification {
    /// Checks the lines.
    /// - Returns: the last event of each item, by the hash of its name, since there may be a million; nil where the file cannot
    ///   be read.
    func lastEvents(
        flag: CancellationFlag,
        _ report: inout VerificationReport
    ) throws -> [Int: BatchEvent.Kind]? {
        let path = output.events
        guard FileSystem.kind(path) == .file else {
            report.add(path, Self.absence(of: path))
            return nil
        }
        report.filesChecked += 1
        var ends: [Int: BatchEvent.Kind] = [:]
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
                    if let fault = try JSONSchema.event.faults(in: line).first {
                        report.add(path, "line \(number) does not match its schema: \(fault)")
                        continue
                    }
                    let event = try decoder.decode(BatchEvent.self, from: Data(line))
                    if event.time < latest { goesBack += 1 }
                    latest = max(latest, event.time)
                    if let item = event.item { ends[item.hashValue] = event.event }
                } catch {
                    report.add(path, "line \(number): \(error)")
                }
            }
            report.bytesChecked += lines.bytesRead
            if lines.isIncomplete { report.add(path, "its last line is incomplete") }
        } catch let error as FileSystemError {
            report.add(path, "cannot be read: \(error)")
            return nil
        }
        // Somebody may set the clock during a run.
        if goesBack > 0 { report.notes.append("\(path): the time goes back \(counted(goesBack, "time"))") }
        return ends
    }

    /// Checks the last event of one item.
    /// - Parameter ends: from ``lastEvents(flag:_:)``.
    func checkEvent(of item: JournalItem, _ ends: [Int: BatchEvent.Kind], _ report: inout VerificationReport) {
        guard let fault = contradiction(item, ends[item.name.hashValue]) else { return }
        report.add(output.events, "\(item.name): \(fault)")
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
