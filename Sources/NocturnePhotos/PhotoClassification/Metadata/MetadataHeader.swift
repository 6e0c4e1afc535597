import NocturneBatch

/// The first row of a table of metadata, and the separator with which it was understood.
struct MetadataHeader: Sendable {
    /// Why no separator gives columns; ``detail`` is for people.
    struct Fault: Error, Hashable, Sendable { let detail: String }

    let columns: MetadataColumns
    let separator: UInt8

    /// In this order: a table that is understood with commas is one.
    private static let separators = [",", ";", "\t"].flatMap(\.utf8)

    /// - Parameter text: the table in UTF-8.
    init(_ text: [UInt8]) throws(Fault) {
        var found: [String] = []
        var unreadable: DelimitedText.Fault?
        for separator in Self.separators {
            var first: [String] = []
            do throws(DelimitedText.Fault) {
                first = try Self.firstRow(text, separator: separator)
            } catch {
                unreadable = unreadable ?? error
                continue
            }
            do throws(MetadataColumns.Fault) {
                columns = try MetadataColumns(first)
                self.separator = separator
                return
            } catch {
                if case .duplicate(let name) = error {
                    throw Fault(detail: "the first row of the metadata names \(MetadataColumns.list([name])) twice")
                }
                if first.count > found.count { found = first }
            }
        }
        if found.isEmpty, let unreadable { throw Fault(detail: "the metadata is not CSV: \(unreadable)") }
        throw Fault(detail: Self.noPicture(found, hasNUL: text.contains(0)))
    }

    private static func firstRow(_ text: [UInt8], separator: UInt8) throws(DelimitedText.Fault) -> [String] {
        var fields: [String] = []
        try DelimitedText.read(text, separator: separator) {
            fields = $0.fields
            return false
        }
        return fields
    }

    private static func noPicture(_ found: [String], hasNUL: Bool) -> String {
        let names = MetadataColumns.Meaning.image.names.joined(separator: ", ")
        let columns = found.isEmpty ? "the file has no row" : "the columns are \(MetadataColumns.list(found))"
        let hint = hasNUL ? "; it has NUL characters: save it as CSV in UTF-8" : ""
        return "no column of the metadata names the pictures: \(columns); understood are \(names)\(hint)"
    }
}
