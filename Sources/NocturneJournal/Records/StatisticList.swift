internal import Foundation

/// The measures of a result as text of the journal: one a line, with label, measure, value and unit separated by tabs.
///
/// JSON would take more than ten times as long to read, and the reports of a batch read the measures of all items. It is
/// still read, from journals of earlier versions, and written for texts that contain tabs or line breaks.
enum StatisticList {
    private static let tab = UInt8(ascii: "\t")
    private static let lineBreak = UInt8(ascii: "\n")

    /// - Throws: `EncodingError` for a value that is not finite.
    static func text(of list: [Statistic]) throws -> String {
        guard !list.isEmpty else { return "[]" }
        var text = ""
        for entry in list {
            guard let line = line(of: entry) else {
                return String(decoding: try JSONEncoder().encode(list), as: UTF8.self)
            }
            text += line
        }
        return text
    }

    /// - Throws: ``JournalError`` for a damaged journal.
    static func read(_ text: String) throws(JournalError) -> [Statistic] {
        var text = text
        if text.utf8.first == UInt8(ascii: "[") {
            do { return try JSONDecoder().decode([Statistic].self, from: Data(text.utf8)) } catch {
                throw JournalError(error)
            }
        }
        let list = text.withUTF8 { bytes in lines(bytes) }
        guard let list else { throw JournalError(damagedBy: text) }
        return list
    }

    private static func line(of entry: Statistic) -> String? {
        for field in [entry.label, entry.measure, entry.unit]
        where field.utf8.contains(where: { $0 == tab || $0 == lineBreak }) { return nil }
        if let value = entry.value, !value.isFinite { return nil }
        // A list that begins with a bracket is JSON.
        if entry.label.utf8.first == UInt8(ascii: "[") { return nil }
        return "\(entry.label)\t\(entry.measure)\t\(entry.value?.description ?? "")\t\(entry.unit)\n"
    }

    /// Nil for text in another form.
    private static func lines(_ bytes: UnsafeBufferPointer<UInt8>) -> [Statistic]? {
        var list: [Statistic] = []
        for line in bytes.split(separator: lineBreak) {
            let fields = line.split(separator: tab, omittingEmptySubsequences: false)
            guard fields.count == 4 else { return nil }
            let number = String(decoding: fields[2], as: UTF8.self)
            let value = Double(number)
            guard value != nil || number.isEmpty else { return nil }
            list.append(
                Statistic(
                    label: String(decoding: fields[0], as: UTF8.self),
                    measure: String(decoding: fields[1], as: UTF8.self),
                    value: value,
                    unit: String(decoding: fields[3], as: UTF8.self)
                )
            )
        }
        return list
    }
}
