import Foundation
import NocturneSystem

/// Separated values as in RFC 4180: quoted fields may contain separators, line ends and doubled quotes.
///
/// Line ends are LF, CRLF or CR; a leading byte-order mark and empty lines are skipped.
package enum DelimitedText {
    /// A record, with the number of its first line, from 1.
    package struct Row: Hashable, Sendable {
        /// Of its first line, from 1: a field with line ends takes several lines.
        package let number: Int
        /// Without quotes; at least one, and as many as the row has: rows may differ.
        package let fields: [String]
    }

    /// Why bytes are not such a text.
    package struct Fault: Error, Hashable, Sendable, CustomStringConvertible {
        /// The number of the first line of the record, from 1; nil for the text as a whole.
        package let row: Int?
        /// The fact in one line, which a message puts after the row; about the whole table it completes "the table …".
        package let detail: String
        /// "row N: FACT".
        package var description: String { (row.map { "row \($0): " } ?? "") + detail }

        /// - Parameters:
        ///   - row: the number of the first line of the record, from 1; nil for the text as a whole.
        ///   - detail: the fact; fields of the table in it may have line feeds.
        package init(row: Int? = nil, detail: String) { (self.row, self.detail) = (row, EventText.oneLine(detail)) }
    }

    /// All rows in the order of the text, also the first one, which may be a header.
    /// - Throws: ``Fault`` for a quote that is never closed, text after a closing quote, too many rows or fields, or
    ///   a field that is too long.
    package static func rows(_ bytes: [UInt8], separator: UInt8 = UInt8(ascii: ",")) throws(Fault) -> [Row] {
        var rows: [Row] = []
        try read(bytes, separator: separator) {
            rows.append($0)
            return true
        }
        return rows
    }

    /// The fields of the first row; none for an empty text.
    package static func firstRow(_ bytes: [UInt8], separator: UInt8) throws(Fault) -> [String] {
        var fields: [String] = []
        try read(bytes, separator: separator) {
            fields = $0.fields
            return false
        }
        return fields
    }

    /// Reads row by row.
    /// - Parameter take: returns false to read no further.
    package static func read(_ bytes: [UInt8], separator: UInt8, _ take: (Row) -> Bool) throws(Fault) {
        var reader = Reader(separator: separator)
        try reader.read(bytes, take)
    }
}

/// Fields of tables of comma-separated values.
package enum CSVField {
    /// The fewest digits that read back to the same number; whole numbers without a point.
    package static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }

    /// A text, quoted where it must be (RFC 4180).
    ///
    /// Names of regions and segments come from other people's files, and spreadsheets run what begins like a formula: such
    /// a name gets an apostrophe in front.
    package static func text(_ name: String) -> String {
        let field = needsApostrophe(name) ? "'" + name : name
        // Bytes, not characters: CR LF is one character.
        guard field.utf8.contains(where: { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D }) else { return field }
        return "\"" + field.replacing("\"", with: "\"\"") + "\""
    }

    /// A text without the apostrophe that ``text(_:)`` has put in front.
    static func original(_ field: String) -> String {
        let rest = String(field.dropFirst())
        return field.first == "'" && needsApostrophe(rest) ? rest : field
    }

    /// Whether a text begins like a formula, or would be read as one that ``text(_:)`` has written.
    private static func needsApostrophe(_ text: String) -> Bool {
        text.drop { $0 == "'" }.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
    }
}

extension DelimitedText {
    /// Splits bytes into rows.
    private struct Reader {
        let separator: UInt8
        private var fields: [String] = []
        private var field: [UInt8] = []
        private var line = 1
        private var begin = 1
        private var count = 0
        private var isStopped = false

        private enum Place { case start, plain, quoted, closed }

        /// More than any list of pictures has; a row takes some hundred bytes of memory, independent of its length.
        private static let largestRowCount = 2_000_000
        private static let largestFieldCount = 10_000
        /// In bytes. Fields come into messages and results.
        private static let largestField = 1 << 16

        init(separator: UInt8) { self.separator = separator }

        mutating func read(_ bytes: [UInt8], _ take: (DelimitedText.Row) -> Bool) throws(DelimitedText.Fault) {
            let (quote, feed, carriage) = (UInt8(ascii: "\""), UInt8(10), UInt8(13))
            var place = Place.start
            var index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                if place == .quoted {
                    if byte == quote {
                        if index < bytes.count, bytes[index] == quote {
                            field.append(quote)
                            index += 1
                        } else {
                            place = .closed
                        }
                    } else {
                        if byte == feed { line += 1 }
                        field.append(byte)
                    }
                } else if byte == separator {
                    try endField()
                    place = .start
                } else if byte == feed || byte == carriage {
                    if byte == carriage, index < bytes.count, bytes[index] == feed { index += 1 }
                    try endRow(isEmpty: place == .start, take)
                    if isStopped { return }
                    place = .start
                } else if place == .closed {
                    throw DelimitedText.Fault(row: begin, detail: "there is text after a closing quote")
                } else if byte == quote, place == .start {
                    place = .quoted
                } else {
                    field.append(byte)
                    place = .plain
                }
            }
            if place == .quoted { throw DelimitedText.Fault(row: begin, detail: "a quote is never closed") }
            try endRow(isEmpty: place == .start, take)
        }

        private mutating func endField() throws(DelimitedText.Fault) {
            guard fields.count < Self.largestFieldCount else {
                throw DelimitedText.Fault(row: begin, detail: "there are more than \(Self.largestFieldCount) fields")
            }
            guard field.count <= Self.largestField else {
                let (bytes, most) = (ByteCount(field.count), ByteCount(Self.largestField))
                throw DelimitedText.Fault(row: begin, detail: "a field has \(bytes); the most is \(most)")
            }
            fields.append(String(decoding: field, as: UTF8.self))
            field.removeAll(keepingCapacity: true)
        }

        private mutating func endRow(
            isEmpty: Bool,
            _ take: (DelimitedText.Row) -> Bool
        ) throws(DelimitedText.Fault) {
            if !(isEmpty && fields.isEmpty) {
                try endField()
                guard count < Self.largestRowCount else {
                    throw DelimitedText.Fault(row: begin, detail: "there are more than \(Self.largestRowCount) rows")
                }
                count += 1
                isStopped = !take(DelimitedText.Row(number: begin, fields: fields))
            }
            fields = []
            line += 1
            begin = line
        }
    }
}
