import NocturneSystem

/// A table of separated values whose first row names the columns, such as spreadsheets save.
package struct NamedTable: Sendable {
    /// Why the text is not such a table. The caller adds what was expected.
    package typealias Fault = DelimitedText.Fault

    /// A row that is not empty.
    package struct Row: Sendable {
        /// Of its first line in the file, from 1.
        package let number: Int
        private let fields: [String]
        private let columns: [String]

        fileprivate init(_ row: DelimitedText.Row, _ columns: [String]) {
            number = row.number
            fields = row.fields
            self.columns = columns
        }

        /// Without surrounding spaces, and without the apostrophe in front of what begins like a formula; nil for an empty field and for
        /// a column that the table does not have.
        package subscript(_ column: String) -> String? {
            guard let place = columns.firstIndex(of: column), fields.indices.contains(place) else { return nil }
            let text = CSVField.original(NamedTable.trimmed(fields[place]))
            return text.isEmpty ? nil : text
        }

        fileprivate var isEmpty: Bool { fields.allSatisfy { $0.allSatisfy(\.isWhitespace) } }
    }

    /// In lower case.
    package let columns: [String]
    /// Without the header and without empty rows.
    package let rows: [Row]
    /// The byte by which the header was split.
    package let separator: UInt8

    private static let separators = ["\t", ";", ","].flatMap(\.utf8)

    /// - Parameters:
    ///   - bytes: as ``DelimitedText/utf8(_:)`` takes them; fields are separated by tabs, semicolons or commas, with which the first
    ///     row names the required columns, and most columns.
    ///   - required: columns, in lower case.
    /// - Throws: ``Fault`` for a workbook, an empty table, a missing column or a broken quote.
    package init(_ bytes: [UInt8], required: [String]) throws(Fault) {
        let bytes = try DelimitedText.utf8(bytes)
        let headers = Self.separators.map { ($0, Self.header(bytes, $0)) }
        guard let first = headers.max(by: { $0.1.count < $1.1.count }), first.1.contains(where: { !$0.isEmpty }) else {
            throw Fault(detail: "is empty")
        }
        let understood = headers.filter { header in required.allSatisfy(header.1.contains) }
            .max { $0.1.count < $1.1.count }
        let (separator, columns) = understood ?? first
        if let name = required.first(where: { !columns.contains($0) }) {
            throw Fault(detail: "has no column \(name)")
        }
        rows = try DelimitedText.rows(bytes, separator: separator).dropFirst().map { Row($0, columns) }
            .filter { !$0.isEmpty }
        (self.columns, self.separator) = (columns, separator)
    }

    /// The names in the first row; none for a broken quote.
    private static func header(_ bytes: [UInt8], _ separator: UInt8) -> [String] {
        // Another separator may do; if none does, the reason is found when the rows are read.
        let names = (try? DelimitedText.firstRow(bytes, separator: separator)) ?? []
        return names.map { trimmed($0).lowercased() }
    }

    private static func trimmed(_ text: String) -> String {
        let start = text.drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
    }

    /// Reads a file and what is in it, with messages for a user.
    /// - Parameters:
    ///   - what: the table's name in messages, such as "the reference table".
    ///   - expected: what follows a fault of the columns or of the file as a whole; empty for nothing.
    /// - Throws: ``BatchError`` that names the file and the fault.
    package static func read<Content>(
        _ path: String,
        limit: Int,
        called what: String,
        expected: String = "",
        _ parse: ([UInt8]) throws(Fault) -> Content
    ) throws(BatchError) -> Content {
        do {
            return try parse(try FileSystem.read(path, limit: limit))
        } catch let fault as Fault {
            let row = fault.row.map { ", row \($0):" } ?? ""
            let advice = fault.row == nil ? expected : ""
            throw BatchError(.inputMissing, path: "", detail: "\(what) \(path)\(row) \(fault.detail)\(advice)")
        } catch let error as FileSystemError {
            throw BatchError(.inputMissing, path: "", detail: error.unreadable("\(what) \(path)"))
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "\(what) cannot be read: \(error)")
        }
    }
}
