import Foundation
import NocturneCore

/// Holds the files of a batch against its journal.
public struct BatchVerification {
    public struct Fault: Codable, Sendable, Hashable {
        public let path: String
        public let detail: String
    }

    public struct Report: Codable, Sendable {
        public var itemsChecked = 0
        public var filesChecked = 0
        public var bytesChecked = 0
        public var faults: [Fault] = []
    }

    private let output: OutputFolder

    public init(_ output: OutputFolder) { self.output = output }

    /// Hashes every recorded file, and looks for what is missing, changed, or not recorded.
    /// - Throws: ``BatchError`` when the journal cannot be read.
    public func run() throws -> Report {
        let journal = try Journal(path: output.journal)
        defer { journal.close() }
        let items = try journal.items()
        let files = try journal.files()
        var report = Report()
        for item in items where item.state == .completed {
            report.itemsChecked += 1
            check(item, files[item.id] ?? [], &report)
        }
        checkOrphans(Set(items.filter { $0.state == .completed }.map(\.name)), Set(items.map(\.name)), &report)
        checkCounts(items, &report)
        return report
    }

    private func check(_ item: JournalItem, _ recorded: [ItemFile], _ report: inout Report) {
        let folder = output.item(item.name)
        if recorded.isEmpty { report.faults.append(Fault(path: folder, detail: "the journal records no files")) }
        for file in recorded {
            let path = folder + "/" + file.path
            do {
                let (bytes, digest) = try FileSystem.digest(path)
                report.filesChecked += 1
                report.bytesChecked += bytes
                if bytes != file.bytes {
                    report.faults.append(Fault(path: path, detail: "has \(bytes) bytes, \(file.bytes) were recorded"))
                } else if digest.hex != file.sha256 {
                    report.faults.append(Fault(path: path, detail: "the content differs from what was recorded"))
                }
            } catch {
                report.faults.append(Fault(path: path, detail: FileSystem.exists(path) ? "\(error)" : "is missing"))
            }
        }
        let known = Set(recorded.map(\.path)).union(["run.json"])
        for path in FileSystem.files(below: folder) where !known.contains(path) {
            report.faults.append(Fault(path: folder + "/" + path, detail: "is not recorded"))
        }
    }

    private func checkOrphans(_ completed: Set<String>, _ all: Set<String>, _ report: inout Report) {
        for entry in FileSystem.entries(output.path) where !entry.hasPrefix(".") {
            let path = output.path + "/" + entry
            guard !completed.contains(entry), !FileSystem.entries(path).isEmpty else { continue }
            let detail = all.contains(entry) ? "a result of an item that is not completed" : "belongs to no item"
            report.faults.append(Fault(path: path, detail: detail))
        }
    }

    private func checkCounts(_ items: [JournalItem], _ report: inout Report) {
        struct Written: Decodable { let counts: BatchCounts }
        guard let bytes = try? FileSystem.read(output.account),
            let written = try? JSONDecoder().decode(Written.self, from: Data(bytes))
        else {
            report.faults.append(Fault(path: output.account, detail: "cannot be read"))
            return
        }
        if written.counts != BatchCounts(of: items) {
            report.faults.append(Fault(path: output.account, detail: "its counts are not those of the journal"))
        }
    }
}
