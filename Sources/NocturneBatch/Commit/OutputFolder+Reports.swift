import Foundation
import NocturneSystem

/// Refusing to start where a user's own files would be overwritten.
extension OutputFolder {
    /// Files about the whole batch, which a run writes into the output folder.
    static let reportNames =
        [
            "batch.json", "statistics.csv", "retry.txt", "events.jsonl", "contact-sheet.pdf",
        ] + laterReportNames

    /// Names that version 0.1.0 did not use: in its output folders such a file is the user's.
    private static let laterReportNames = ["measurements.csv", "comparison.csv", "time.csv", "index.html", "review"]

    /// Before the first run in a folder: nothing may be there that has a name of the batch's own files, also while they are
    /// written. A folder with a journal, or with the lock that a run leaves, has passed this check before.
    /// - Throws: ``BatchError`` naming the file. Nothing was written.
    public func checkReportsAreOwn() throws(BatchError) {
        guard !holdsBatch, FileSystem.kind(lock) != .file else { return }
        for name in Self.reportNames + Self.reportNames.map({ $0 + ".part" })
        where FileSystem.kind(path + "/" + name) != .nothing {
            // A run that was killed before it took the lock may have written events.
            if name == "events.jsonl", BatchEvent.begins(path + "/" + name) { continue }
            throw BatchError(
                .outputUnwritable,
                path: path + "/" + name,
                detail: "this file would be overwritten, and it does not belong to a batch in this folder: "
                    + "move it away, or choose another output folder"
            )
        }
    }

    /// Moves files of the user away that have names of later reports, before the first of those is written in a batch that
    /// an earlier version began.
    /// - Returns: what the user should know.
    func keepForeignReports() throws(FileSystemError) -> [String] {
        var notes: [String] = []
        for name in Self.laterReportNames where FileSystem.kind(path + "/" + name) != .nothing && !isOwnReport(name) {
            try FileSystem.makeFolder(kept)
            var place = kept + "/" + name
            var number = 2
            while FileSystem.kind(place) != .nothing {
                place = kept + "/" + name + "-\(number)"
                number += 1
            }
            try FileSystem.move(path + "/" + name, to: place)
            notes.append("\(name) is a file of the report in this version; yours was moved to \(place)")
        }
        return notes
    }

    /// Whether this program has written it, by what it holds.
    private func isOwnReport(_ name: String) -> Bool {
        let place = path + "/" + name
        func begins(with text: String, within count: Int) -> Bool {
            guard FileSystem.kind(place) == .file,
                let bytes = try? FileDescriptor(reading: place).read(count: count)
            else { return false }
            return String(decoding: bytes, as: UTF8.self).contains(text)
        }
        switch name {
        case "measurements.csv": return begins(with: MeasurementTable.firstColumns, within: 200)
        case "comparison.csv": return begins(with: ReportText.comparisonHeader, within: 200)
        case "time.csv": return begins(with: TimeTable.header, within: 300)
        case "index.html": return begins(with: "content=\"Nocturne\"", within: 1000)
        default:
            let entries = FileSystem.entries(place)
            guard FileSystem.kind(place) == .folder, !entries.isEmpty else { return entries.isEmpty }
            return entries.contains("data")
                && FileSystem.entries(place + "/data").allSatisfy { $0.hasPrefix("items-") || $0.hasPrefix("batch.js") }
        }
    }
}

extension BatchEvent {
    /// Whether a file is empty or its first line is an event.
    static func begins(_ path: String) -> Bool {
        guard FileSystem.kind(path) == .file, var lines = try? LineReader(path) else { return false }
        do {
            guard let line = try lines.next() else { return true }
            return (try? JSONDecoder().decode(BatchEvent.self, from: Data(line))) != nil
        } catch {
            return false
        }
    }
}
