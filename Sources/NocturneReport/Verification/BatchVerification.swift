import Foundation
public import NocturneConcurrency
import NocturneJournal
public import NocturneOutput
public import NocturneSystem
import Synchronization

/// Checks a batch against its journal: every file, what it contains, and the report.
///
/// Files are hashed first. One that differs from what was recorded is reported as such and not read further; the others are,
/// while the system still has them in memory.
public struct BatchVerification: Sendable {
    /// The batch that is checked.
    package let output: OutputFolder
    /// Reads what the files of a result contain.
    package let inspection: any ResultInspection
    /// Whether sources that are missing or have changed are noted.
    private let checksSources: Bool
    /// Whose results are checked; nil for all.
    let part: VerificationPart?

    /// - Parameters:
    ///   - checksSources: whether to note which sources have changed since their results were made.
    ///   - part: whose results are checked; nil for all. Tables and events are always checked.
    public init(
        _ output: OutputFolder,
        inspection: any ResultInspection,
        checksSources: Bool = false,
        part: VerificationPart? = nil
    ) {
        self.output = output
        self.inspection = inspection
        self.checksSources = checksSources
        self.part = part
    }

    /// Records that a verification has found no fault.
    /// - Throws: ``BatchError`` while a run is active, or where the folder cannot be written; `JournalError`.
    public func record(at time: String) async throws -> VerifiedParts {
        try await output.changing { [part] journal in
            var parts = try await journal.value(of: .verifiedParts) ?? VerifiedParts()
            parts.add(part, at: time)
            try await journal.set(.verifiedParts, to: parts)
            return parts
        }
    }

    /// Faults are listed in the order of items and files, for any number of threads.
    /// - Parameter progress: called after each item, from several threads.
    /// - Throws: ``BatchError`` when the journal cannot be read; `CancelledError` soon after the scope's flag is raised.
    /// - Complexity: two reads of every file, the second from the system's memory; one item a thread at a time.
    /// - Parameter pool: on which items are checked side by side; nil for one thread.
    public func run(
        on pool: ComputePool? = nil,
        flag: CancellationFlag = CancellationFlag(),
        progress: @escaping @Sendable (_ done: Int, _ all: Int) -> Void = { _, _ in }
    ) async throws -> VerificationReport {
        let used = try pool ?? ComputePool(width: 1)
        defer { if pool == nil { used.shutdown() } }
        let scope = ComputeScope(pool: used, flag: flag)
        return try await output.reading { journal in
            try await check(journal, scope, used, progress)
        }
    }

    private func check(
        _ journal: Journal,
        _ scope: ComputeScope,
        _ pool: ComputePool,
        _ progress: @escaping @Sendable (_ done: Int, _ all: Int) -> Void
    ) async throws -> VerificationReport {
        let all = try await journal.stateCounts()[.completed] ?? 0
        var checked = Checked()
        var done = 0
        try await journal.forEachPart { records, _ in
            let completed = records.filter { $0.item.state == .completed }
            let before = done
            let own = part.map { part in completed.filter { part.contains($0.item.name) } } ?? completed
            checked.add(try await pool.run { try check(own, scope) { progress(before + $0, all) } })
            done += completed.count
        }
        var report = checked.report
        // After the items, so that faults are listed in the order items, folders, tables, events.
        try await checkOrphans(journal, scope, pool, &report)
        try await checkReport(journal, promised: checked.promised, scope.flag, &report)
        let (read, ends) = try await pool.run { [report] () throws in
            var report = report
            let ends = try lastEvents(flag: scope.flag, &report)
            return (report, ends)
        }
        report = read
        try await journal.forEachPart { records, _ in
            try scope.check()
            let sources = checksSources ? try await journal.discovered(records.map(\.item.id)) : [:]
            report = await pool.run { [report] in
                var report = report
                for record in records {
                    if let ends { checkEvent(of: record.item, ends, &report) }
                    if let note = sourceNote(record.item, sources[record.item.id]?.inputs ?? []) {
                        report.notes.append(note)
                    }
                }
                return report
            }
        }
        return report
    }

    private func check(
        _ completed: [ItemRecord],
        _ scope: ComputeScope,
        _ progress: @escaping @Sendable (_ done: Int) -> Void
    ) throws -> Checked {
        let checked = try forEachItem(completed.count, scope, progress) { index -> Checked? in
            let item = completed[index].item
            do {
                return try check(item, completed[index].product, scope.flag)
            } catch is CancelledError {
                return nil
            } catch {
                var checked = Checked()
                checked.report.add(output.item(item.name), "cannot be read: \(error)")
                return checked
            }
        }
        return checked.reduce(into: Checked()) { $0.add($1) }
    }

    /// Checks items side by side.
    /// - Parameter check: of the item with a number; nil once the flag is raised, when the loop itself throws at its end.
    /// - Returns: what was found, in the order of items.
    func forEachItem<Found: Sendable>(
        _ count: Int,
        _ scope: ComputeScope,
        _ progress: @Sendable (_ done: Int) -> Void,
        _ check: @Sendable (Int) -> Found?
    ) throws -> [Found] {
        let done = Atomic(0)
        return try scope.map(count) { index in
            let found = check(index)
            if found != nil { progress(done.add(1, ordering: .relaxed).newValue) }
            return found
        }.compactMap(\.self)
    }

    // MARK: Items

    private struct Checked: Sendable {
        var report = VerificationReport()
        /// Files of the batch that the item promises.
        var promised: Set<String> = []

        mutating func add(_ other: Checked) {
            report.add(other.report)
            promised.formUnion(other.promised)
        }
    }

    private func check(_ item: JournalItem, _ product: ItemProduct, _ flag: CancellationFlag) throws -> Checked {
        var checked = Checked()
        checked.report.itemsChecked = 1
        let folder = output.item(item.name)
        guard FileSystem.kind(folder) == .folder else {
            let isThere = FileSystem.kind(folder) != .nothing
            checked.report.add(folder, isThere ? "is not a folder" : Self.absence(of: folder))
            return checked
        }
        if product.files.isEmpty { checked.report.add(folder, "the journal records no files") }
        let whole = try hash(product.files, in: folder, flag, &checked.report)
        noteForeignFiles(item.name, product.files, in: folder, &checked.report)
        checkRun(folder, &checked.report)
        // A result.json that is not the recorded one is a fault already: what it states is not worth a comparison.
        guard whole.contains("result.json") else { return checked }
        let result = try FileSystem.read(folder + "/result.json")
        let findings = try inspection.inspect(
            CommittedItem(
                name: item.name,
                folder: folder,
                fingerprint: item.fingerprint,
                wholeFiles: whole.subtracting(["result.json"]),
                result: result
            ),
            flag: flag
        )
        for fault in findings.faults { checked.report.add(folder + "/" + fault.file, fault.detail) }
        checked.promised = findings.batchFiles
        if var found = findings.product {
            // A watch has removed these files: result.json still lists them, the journal does not.
            if item.reason?.code == .thinned {
                let kept = Set(product.files.map(\.path))
                found.files.removeAll { !kept.contains($0.path) && DisplayFiles.contain($0.path) }
            }
            for detail in Agreement(found: found, recorded: product).faults {
                checked.report.add(folder + "/result.json", detail)
            }
        }
        return checked
    }

    // MARK: The batch

    private func checkOrphans(
        _ journal: Journal,
        _ scope: ComputeScope,
        _ pool: ComputePool,
        _ report: inout VerificationReport
    ) async throws {
        // Hidden entries and the folders of the batch itself do not belong to items.
        let entries = FileSystem.entries(output.path).filter {
            !$0.hasPrefix(".") && ![output.kept, output.reviewFolder].contains(output.item($0))
        }
        for start in stride(from: 0, to: entries.count, by: BatchReport.itemsPerPart) {
            try scope.check()
            let portion = Array(entries[start...].prefix(BatchReport.itemsPerPart))
            let items = try await journal.items(named: portion)
            report = await pool.run { [report] in
                var report = report
                checkOrphans(portion, items, &report)
                return report
            }
        }
    }

    private func checkOrphans(
        _ entries: [String],
        _ items: [String: JournalItem],
        _ report: inout VerificationReport
    ) {
        for entry in entries where items[entry]?.state != .completed {
            let path = output.path + "/" + entry
            // Files and empty folders are not results.
            guard !FileSystem.entries(path).isEmpty else { continue }
            guard let item = items[entry] else {
                report.notes.append("\(entry): a folder of no item of this batch, not checked")
                continue
            }
            if item.reason?.code == .vanished, output.holdsResult(item.name) {
                report.notes.append(
                    "\(entry): the result is no longer part of the batch; it stays, not checked"
                )
            } else if isOfBefore(item) {
                let word = BatchReport.name(of: item.state)
                let fact = "its folder holds the result of an earlier source, model or options"
                report.notes.append("\(entry): \(word); \(fact)")
            } else {
                report.add(path, "is a result of an item that is not completed")
            }
        }
    }

    /// Whether the folder holds a whole result from before something about the item changed: it stays until a new one
    /// replaces it, however the item ends.
    private func isOfBefore(_ item: JournalItem) -> Bool {
        guard output.holdsResult(item.name),
            let result = try? JSONValue(parsing: FileSystem.read(output.item(item.name) + "/result.json")),
            let fingerprint = result["fingerprint"]?.text
        else { return false }
        return fingerprint != item.fingerprint
    }

    /// By size and time of modification of all source files, as they were when the item was found: a file that was changed without
    /// a change of both is not noticed.
    private func sourceNote(_ item: JournalItem, _ inputs: [InputStamp]) -> String? {
        guard item.state == .completed else { return nil }
        let changed = inputs.filter { !$0.holds }
        guard let first = changed.first else { return nil }
        let fact = FileSystem.exists(first.path) ? "is not the file that the result was made of" : "no longer exists"
        let others =
            changed.count > 1 ? "; \(changed.count) of its \(inputs.count) source files differ or are gone" : ""
        return "\(item.name): its source \(first.path) \(fact)\(others)"
    }
}

extension BatchVerification {
    /// Compares the `result.json` of an item with the journal.
    private struct Agreement {
        let found: ItemProduct
        let recorded: ItemProduct

        var faults: [String] {
            var faults: [String] = []
            let files = Dictionary(recorded.files.map { ($0.path, $0) }) { first, _ in first }
            for file in found.files where files[file.path] != file {
                faults.append(
                    files[file.path] == nil
                        ? "lists the file \(file.path), which the journal does not have"
                        : "has another size or digest of \(file.path) than the journal"
                )
            }
            let named = Set(found.files.map(\.path))
            for file in recorded.files where !named.contains(file.path) {
                faults.append("does not list the file \(file.path), which the journal has")
            }
            faults += rows
            if found.notes.texts != recorded.notes.texts || found.notes.codes != recorded.notes.codes {
                faults.append("its notes are not those of the journal")
            }
            if found.parts != recorded.parts { faults.append("its parts are not those of the journal") }
            return faults
        }

        /// In any order: another version of the program may write them in another one.
        private var rows: [String] {
            var left = recorded.statistics
            let missing = found.statistics.filter { row in
                guard let place = left.firstIndex(of: row) else { return true }
                // Every row is used once, so that rows that occur twice are counted too.
                left.remove(at: place)
                return false
            }
            guard let row = missing.first else {
                return left.first.map {
                    ["the journal has \($0.measure) of \($0.label), \(text($0)), which it does not have"]
                } ?? []
            }
            let other = left.first { $0.label == row.label && $0.measure == row.measure }
            return [
                "\(row.measure) of \(row.label) is \(text(row)), in the journal it is \(other.map(text) ?? "missing")"
            ]
        }

        private func text(_ row: Statistic) -> String { row.value.map { "\($0)" } ?? "not measured" }
    }
}
