import Foundation
import Glibc
public import NocturneConcurrency
import NocturneJournal
import NocturneOutput
public import NocturneSystem

/// A copy of the results without the journal.
extension BatchVerification {
    /// Checks results by their own statements: every file against the size and the digest in `result.json`, what the
    /// files contain, and that `batch.json` has the items that are there.
    ///
    /// What only the journal knows is not checked: whether `result.json` is the one that was written, tables and events.
    /// - Parameters:
    ///   - isJournalDamaged: whether there is a journal that cannot be used, which is a fault.
    ///   - progress: called after each item, from several threads.
    /// - Throws: ``BatchError`` with `linkInOutput`: a link in place of the journal's folder is not a folder without a journal.
    ///   `CancelledError` soon after the flag is raised.
    public func runWithoutJournal(
        on pool: ComputePool,
        flag: CancellationFlag = CancellationFlag(),
        isJournalDamaged: Bool = false,
        progress: @escaping @Sendable (_ done: Int, _ all: Int) -> Void = { _, _ in }
    ) async throws -> VerificationReport {
        try output.checkOwnFolders()
        let scope = ComputeScope(pool: pool, flag: flag)
        return try await pool.run {
            // Without a journal, the folders that hold a result are the items.
            let names = FileSystem.entries(output.path).filter { !$0.hasPrefix(".") && output.holdsResult($0) }
            let own = part.map { names.filter($0.contains) } ?? names
            var ofReport = VerificationReport()
            // First, since only the report knows which items have lost files to a watch.
            let thinned = checkReport(names: names, &ofReport)
            let parts = try forEachItem(own.count, scope, { progress($0, own.count) }) {
                try? checkCopy(own[$0], isThinned: thinned.contains(own[$0]), flag)
            }
            var report = parts.reduce(into: VerificationReport()) { $0.add($1) }
            report.add(ofReport)
            if isJournalDamaged { report.add(output.journal, "is damaged") }
            let missing =
                output.isClosed ? "this user cannot read the journal (\(errnoText(EACCES)))" : "there is no journal"
            let cause = isJournalDamaged ? "the journal is damaged" : missing
            report.notes.append("\(cause): files were compared with result.json and batch.json only")
            return report
        }
    }

    /// - Parameter isThinned: whether a watch has removed files of the result that show it.
    private func checkCopy(_ name: String, isThinned: Bool, _ flag: CancellationFlag) throws(CancelledError)
        -> VerificationReport
    {
        var report = VerificationReport()
        report.itemsChecked = 1
        let folder = output.item(name)
        do {
            let result = try FileSystem.read(folder + "/result.json")
            report.filesChecked += 1
            report.bytesChecked += result.count
            func inspected(_ whole: Set<String>) throws -> ResultFindings {
                let fingerprint = (try? JSONValue(parsing: result))?["fingerprint"]?.text ?? ""
                let item = CommittedItem(
                    name: name,
                    folder: folder,
                    fingerprint: fingerprint,
                    wholeFiles: whole,
                    result: result
                )
                return try inspection.inspect(item, flag: flag)
            }
            // First the result's statements, then the content of the files that agree with them.
            let first = try inspected([])
            guard let product = first.product else {
                for fault in first.faults { report.add(folder + "/" + fault.file, fault.detail) }
                return report
            }
            let files = product.files.filter { file in
                let isRemoved =
                    isThinned && DisplayFiles.contain(file.path)
                    && FileSystem.kind(folder + "/" + file.path) == .nothing
                // result.json cannot state its own digest, and paths that lead out of the folder are not followed.
                return file.path != "result.json" && FileSystem.staysBelow(file.path) && !isRemoved
            }
            let whole = try hash(files, in: folder, flag, &report)
            for fault in try inspected(whole).faults { report.add(folder + "/" + fault.file, fault.detail) }
            noteForeignFiles(
                name,
                product.files + [ItemFile(path: "result.json", bytes: 0, sha256: "")],
                in: folder,
                &report
            )
            checkRun(folder, &report)
        } catch let error as CancelledError {
            throw error
        } catch {
            report.add(folder, "cannot be read: \(error)")
        }
        return report
    }

    /// Whether the report has the items that are there as completed, and no others.
    /// - Returns: the items that have lost files which show their results.
    private func checkReport(names: [String], _ report: inout VerificationReport) -> Set<String> {
        guard FileSystem.kind(output.report) == .file else {
            report.add(output.report, Self.absence(of: output.report))
            return []
        }
        report.filesChecked += 1
        report.bytesChecked += FileSystem.size(output.report) ?? 0
        guard let head = readBatch(&report) else { return [] }
        let completed = Set(head.items.filter { $0.state == ItemState.completed.rawValue }.map(\.item))
        for name in completed.subtracting(names).sorted() {
            // In a folder that this user cannot open no result is found.
            let absence = Self.absence(of: output.item(name) + "/result.json")
            report.add(output.item(name), "\(absence): batch.json has the item as completed")
        }
        for name in names where !completed.contains(name) {
            // A note: the report of a run that was killed is older than its last results.
            report.notes.append("\(name): batch.json does not have the item as completed")
        }
        return Set(head.items.filter { $0.code == FaultCode.thinned.rawValue }.map(\.item))
    }

    /// What `batch.json` holds; nil for a file that cannot be used, which is a fault then.
    private func readBatch(_ report: inout VerificationReport) -> ReportText.Head? {
        do {
            let bytes = try FileSystem.read(output.report, limit: 1 << 32)
            if let first = try JSONSchema.batch.faults(in: bytes).first {
                report.add(output.report, "does not match its schema: \(first)")
                return nil
            }
            return try JSONDecoder().decode(ReportText.Head.self, from: Data(bytes))
        } catch {
            report.add(output.report, "cannot be read: \(error)")
            return nil
        }
    }
}
