import Foundation
import NocturneOutput
package import NocturneSystem

/// The file of `--metadata`: one row per picture, with columns for the picture, age, sex and site in any order, under
/// the names of ISIC, HAM10000 and similar tables (``MetadataTable/Columns``). Other columns are ignored.
///
/// Fields are separated by commas, semicolons or tabs: the first of these with which the first row names a column of
/// pictures. The encoding is UTF-8, UTF-16 or Windows-1252. A picture is named by its path relative to the input, its file
/// name, or one of them without extension; the first of these that matches a row is used. Rows under the others that can only mean
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
        var key = (field(.image) ?? "").trimmingCharacters(in: .whitespaces)
        while key.hasPrefix("./") { key = String(key.dropFirst(2)) }
        if key.isEmpty { return }
        // Spreadsheets write empty fields after the last column.
        let isWhole =
            row.fields.count >= columns.names.count
            && row.fields.dropFirst(columns.names.count).allSatisfy { $0.allSatisfy(\.isWhitespace) }
        let texts = isWhole ? Texts(age: field(.age), sex: field(.sex), site: field(.site)) : nil
        rows[key, default: []].append(Entry(number: row.number, texts: texts, count: row.fields.count))
    }

    /// The note about rows that belong to none of these pictures; nil where there are none.
    /// - Parameter names: paths relative to the inputs.
    package func unmatchedRows(_ names: [String]) -> String? {
        let keys = matches(of: names)
        let used = Self.unshared(keys).union(keys.compactMap(\.first))
        let unmatched = rows.filter { !used.contains($0.key) }
        guard let first = unmatched.min(by: { $0.value[0].number < $1.value[0].number }) else { return nil }
        return
            "\(fileName): \(unmatched.count) of the \(counted(rows.count, "photo")) that it names are not among the inputs, such as "
            + "\"\(EventText.oneLine(first.key))\" (row \(first.value[0].number)); names are compared with file "
            + "names and with paths inside the input folder"
    }

    /// - Parameter names: paths relative to the inputs.
    /// - Throws: `BatchError` for a table that names none of these pictures.
    package func checkMatches(_ names: [String], path: String) throws {
        if rows.isEmpty, !names.isEmpty {
            let detail = "the table has no row for a photo. Check the file"
            throw BatchError(.inputMissing, path: path, detail: detail)
        }
        let isMatched = names.contains { MetadataTable.keys(of: $0).contains { rows[$0] != nil } }
        guard !isMatched, let name = names.first, let row = rows.min(by: { $0.value[0].number < $1.value[0].number })
        else { return }
        let detail =
            "no photo in the table is among the inputs. Row \(row.value[0].number) names \(Columns.list([row.key])), the first "
            + "input is \(Columns.list([name])). Check that the table belongs to these photos. It may name them with or without "
            + "extension, and with their path inside the input folder"
        throw BatchError(.inputMissing, path: path, detail: detail)
    }

    /// The row for each picture, or why there is none.
    ///
    /// - Parameters:
    ///   - names: paths relative to the inputs.
    ///   - isStrict: whether a value that is not understood is a fault, rather than unknown with a note.
    /// - Returns: for each picture what was understood, nil if no row matches, or the fault with file and row.
    package func assign(
        _ names: [String],
        sites: BodySites,
        isStrict: Bool = false
    ) -> [Result<ClinicalMetadata.Reading?, ClinicalMetadata.ReadingError>] {
        let keys = matches(of: names)
        var picturesByKey: [String: [String]] = [:]
        for (name, own) in zip(names, keys) { if let key = own.first { picturesByKey[key, default: []].append(name) } }
        let unshared = Self.unshared(keys)
        return zip(names, keys).map { name, own in
            guard let key = own.first else { return .success(nil) }
            let entries = ([key] + own.dropFirst().filter(unshared.contains)).flatMap { rows[$0] ?? [] }
            let place = "\(fileName) row \(entries[0].number)"
            let matching = picturesByKey[key] ?? []
            guard matching.count == 1 || key == name else {
                let pictures = matching.prefix(4).joined(separator: ", ")
                return fault(
                    "\(place): \"\(key)\" matches several pictures (\(pictures)); give the path relative to the input"
                )
            }
            var first: ClinicalMetadata.Reading?
            for entry in entries {
                do throws(ClinicalMetadata.ReadingError) {
                    let reading = try self.reading(entry, sites, isStrict: isStrict)
                    if let first, first != reading {
                        return fault(
                            "\(fileName) rows \(entries[0].number) and \(entry.number) have different values for \"\(key)\""
                        )
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
    private func matches(of names: [String]) -> [[String]] {
        names.map { name in MetadataTable.keys(of: name).filter { rows[$0] != nil } }
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

    /// The names by which a row may refer to a picture, the most specific first, each once.
    private static func keys(of name: String) -> [String] {
        let file = (name as NSString).lastPathComponent
        let keys = [name, file, (name as NSString).deletingPathExtension, (file as NSString).deletingPathExtension]
        return keys.enumerated().filter { !keys[..<$0.offset].contains($0.element) }.map(\.element)
    }
}
