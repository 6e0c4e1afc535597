internal import Foundation
import NocturneSystem

/// An item with what the journal keeps of its result.
///
/// Lists stay in the form in which they are stored until they are asked for: a result may have hundreds of measures, and
/// most readers need one of the lists.
public struct ItemRecord: Sendable {
    public let item: JournalItem
    private let statisticsText: String
    private let filesText: String
    private let partsText: String

    init(_ item: JournalItem, statistics: String, files: String, parts: String) {
        self.item = item
        statisticsText = statistics
        filesText = files
        partsText = parts
    }

    /// Empty unless the item is completed.
    /// - Throws: ``JournalError`` for a damaged journal.
    public func statistics() throws(JournalError) -> [Statistic] {
        item.state == .completed ? try StatisticList.read(statisticsText) : []
    }

    /// The files of the result; empty unless the item is completed.
    /// - Throws: ``JournalError`` for a damaged journal.
    public func files() throws(JournalError) -> [ItemFile] {
        let files: [ItemFile] = try list(filesText)
        for file in files where !RelativePath.staysBelow(file.path) { throw JournalError(damagedBy: file.path) }
        return files
    }

    /// Entries of a review queue; empty unless the item is completed.
    /// - Throws: ``JournalError`` for a damaged journal.
    public func parts() throws(JournalError) -> [ItemPart] { try list(partsText) }

    private func list<Value: Decodable>(_ text: String) throws(JournalError) -> [Value] {
        guard item.state == .completed, text != "[]" else { return [] }
        do {
            return try JSONDecoder().decode([Value].self, from: Data(text.utf8))
        } catch {
            throw JournalError(error)
        }
    }
}
