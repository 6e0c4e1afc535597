import Foundation
import NocturneOutput
package import NocturneSystem

/// The file of `--metadata`: one row per picture, with columns for the picture, age, sex and site in any order, under
/// the names of ISIC, HAM10000 and similar tables (``MetadataTable/Columns``). Other columns are ignored.
///
/// Fields are separated by commas, semicolons or tabs: the first of these with which the first row names a column of
/// pictures. The encoding is UTF-8, UTF-16 or Windows-1252. A picture is named by its path, the end of its path or its
/// file name, each also without extension; the most specific one that a row has is used. Rows under the others that can only mean
/// this picture have to agree with it.
package struct MetadataTable: Sendable {
    /// For messages.
    package let fileName: String
    /// Which columns are missing, if others are not used.
    package var notes: [String] { columns.notes.map { "\(fileName): \($0)" } }

    private let columns: Columns
    private let separator: UInt8
    private var rows: [String: [Entry]] = [:]

    private struct Entry: Sendable {
        /// Of the row, for messages.
        let number: Int
        /// Nil for a row whose number of fields, ``count``, is not that of the columns.
        let texts: Texts?
        let count: Int
    }

    /// The fields that are read; nil where there is none.
    private struct Texts: Sendable {
        let age: String?
        let sex: String?
        let site: String?
    }

    /// - Throws: `BatchError` for a file that cannot be read, has unmatched quotes, or has no column of pictures; `CancelledError`.
    package init(path: String, flag: CancellationFlag = CancellationFlag()) throws {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, limit: 1 << 28, accepts: .filesAndStreams)
        } catch {
            throw BatchError(
                .inputMissing,
                path: "",
                detail: error.unreadable("the metadata \(path)", option: "--metadata")
            )
        }
        try self.init(bytes: bytes, path: path, flag: flag)
    }

    /// Reads the bytes of a table.
    /// - Parameter path: names it in messages.
    package init(bytes: [UInt8], path: String, flag: CancellationFlag = CancellationFlag()) throws {
        fileName = (path as NSString).lastPathComponent
        let text: [UInt8]
        do throws(DelimitedText.Fault) {
            text = try DelimitedText.utf8(bytes)
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "the metadata \(error)")
        }
        (columns, separator) = try Columns.read(text, path: path)
        do throws(DelimitedText.Fault) {
            var isHeader = true
            try DelimitedText.read(text, separator: separator) { row in
                if !isHeader { add(row) }
                isHeader = false
                return !flag.isCancelled
            }
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "the metadata is not CSV: \(error)")
        }
        try flag.check()
    }

    private mutating func add(_ row: DelimitedText.Row) {
        func field(_ meaning: Columns.Meaning) -> String? {
            columns[meaning].flatMap { $0 < row.fields.count ? row.fields[$0] : nil }
        }
        let key = NamedTable.inputName((field(.image) ?? "").trimmingCharacters(in: .whitespaces))
        if key.isEmpty { return }
        // Spreadsheets write empty fields after the last column.
        let isWhole =
            row.fields.count >= columns.names.count
            && row.fields.dropFirst(columns.names.count).allSatisfy { $0.allSatisfy(\.isWhitespace) }
        let texts = isWhole ? Texts(age: field(.age), sex: field(.sex), site: field(.site)) : nil
        rows[key, default: []].append(Entry(number: row.number, texts: texts, count: row.fields.count))
    }

    /// The notes about rows that belong to none of these pictures, and about those that mean several.
    /// - Parameter paths: of the pictures, each once.
    package func rowNotes(_ paths: [String]) -> [String] {
        func first(_ keys: some Sequence<String>) -> (number: Int, key: String)? {
            keys.compactMap { key in rows[key].map { (number: $0[0].number, key: key) } }.min { $0.number < $1.number }
        }
        var notes: [String] = []
        let keys = matches(of: paths)
        let unmatched = Set(rows.keys).subtracting(keys.joined())
        if let row = first(unmatched) {
            notes.append(
                "\(fileName): \(unmatched.count) of the \(counted(rows.count, "photo")) that it names are not among the inputs, such "
                    + "as \"\(EventText.oneLine(row.key))\" (row \(row.number)); \(NamedTable.inputNameAdvice)"
            )
        }
        let ambiguous = Self.ambiguous(keys, paths)
        if let row = first(ambiguous.keys), let ends = ambiguous[row.key] {
            notes.append(
                "\(fileName): \(counted(ambiguous.count, "name")) \(ambiguous.count == 1 ? "means" : "mean") several photos, such as "
                    + "\"\(EventText.oneLine(row.key))\" (row \(row.number)). Write the end of the path: \(ends)"
            )
        }
        return notes
    }

    /// - Parameter pictures: their paths.
    /// - Throws: `BatchError` for a table that names none of these pictures.
    package func checkMatches(_ pictures: [String], path: String) throws {
        if rows.isEmpty, !pictures.isEmpty {
            let detail = "the table has no row for a photo. Check the file"
            throw BatchError(.inputMissing, path: path, detail: detail)
        }
        let isMatched = pictures.contains { NamedTable.inputNames(of: $0).contains { rows[$0] != nil } }
        let row = rows.min { $0.value[0].number < $1.value[0].number }
        guard !isMatched, let row, let first = pictures.first else { return }
        let name = (first as NSString).lastPathComponent
        let detail =
            "no photo in the table is among the inputs. Row \(row.value[0].number) names \(Columns.list([row.key])), the first "
            + "input is \(Columns.list([name])). Check that the table belongs to these photos; \(NamedTable.inputNameAdvice)"
        throw BatchError(.inputMissing, path: path, detail: detail)
    }

    /// The row for each picture, or why there is none.
    ///
    /// - Parameters:
    ///   - paths: of the pictures, each once.
    ///   - isStrict: whether a value that is not understood is a fault, rather than unknown with a note.
    /// - Returns: for each picture what was understood, nil if no row matches, or the fault with file and row.
    package func assign(
        _ paths: [String],
        sites: BodySites,
        isStrict: Bool = false
    ) -> [Result<ClinicalMetadata.Reading?, ClinicalMetadata.ReadingError>] {
        let keys = matches(of: paths)
        let ambiguous = Self.ambiguous(keys, paths)
        let unshared = Self.unshared(keys)
        return keys.map { own in
            guard let key = own.first else { return .success(nil) }
            let entries = ([key] + own.dropFirst().filter(unshared.contains)).flatMap { rows[$0] ?? [] }
            if ambiguous[key] != nil {
                // Names of other photos are not for the result of this one: a note of the run has them.
                return fault(
                    "\(fileName) row \(entries[0].number) means several photos. Write the end of the path of one, as the run's "
                        + "note shows"
                )
            }
            var first: ClinicalMetadata.Reading?
            for entry in entries {
                do throws(ClinicalMetadata.ReadingError) {
                    let reading = try self.reading(entry, sites, isStrict: isStrict)
                    if let first, first != reading {
                        return fault("\(fileName) rows \(entries[0].number) and \(entry.number) have different values")
                    }
                    first = reading
                } catch {
                    return .failure(error)
                }
            }
            return .success(first)
        }
    }

    /// The keys of each picture that have rows, the most specific first.
    private func matches(of paths: [String]) -> [[String]] {
        paths.map { path in NamedTable.inputNames(of: path).filter { rows[$0] != nil } }
    }

    /// The keys that are the most specific ones of several pictures, with ends of the paths that mean one of them.
    private static func ambiguous(_ keys: [[String]], _ paths: [String]) -> [String: String] {
        NamedTable.ambiguousNames(
            zip(paths, keys).compactMap { path, own in own.first.map { (name: $0, path: path) } }
        )
    }

    /// The keys of a single picture: it may have rows with and without the ending or the folder.
    private static func unshared(_ keys: [[String]]) -> Set<String> {
        Set(Dictionary(keys.joined().map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value == 1 }.keys)
    }

    private func reading(
        _ entry: Entry,
        _ sites: BodySites,
        isStrict: Bool
    ) throws(ClinicalMetadata.ReadingError) -> ClinicalMetadata.Reading {
        let place = "\(fileName) row \(entry.number)"
        guard let texts = entry.texts else {
            let fields = counted(entry.count, "field")
            let detail = "\(place) has \(fields), but the table has \(counted(columns.names.count, "column"))"
            throw ClinicalMetadata.ReadingError(detail: detail)
        }
        let fields = ClinicalMetadata.Fields(
            age: .init(name: columns.name(of: .age), text: texts.age),
            sex: .init(name: columns.name(of: .sex), text: texts.sex),
            site: .init(name: columns.name(of: .site), text: texts.site),
            allowsDecimalComma: separator != UInt8(ascii: ",")
        )
        return try ClinicalMetadata.Reading(fields, sites: sites, place: place, isStrict: isStrict)
    }

    private func fault(_ text: String) -> Result<ClinicalMetadata.Reading?, ClinicalMetadata.ReadingError> {
        .failure(ClinicalMetadata.ReadingError(detail: text))
    }
}
