import Foundation
import NocturneBatch
import NocturneRecipeSupport
import NocturneSystem

/// The file of `--metadata`: one row per picture, with the columns `image`, `age_approx`, `sex` and
/// `anatom_site_general` as ISIC names them, in any order. Other columns are ignored.
///
/// `image` is a picture's path relative to the input, its file name, or its file name without extension; the first of
/// these that matches a row is used.
package struct MetadataTable: Sendable {
    /// For messages.
    package let fileName: String
    private var rows: [String: [Entry]] = [:]

    private struct Entry: Sendable {
        let number: Int
        let fields: Result<[String: String], ClinicalMetadataError>
    }

    /// - Throws: `BatchError` for a file that cannot be read, has unmatched quotes, or has no column `image`.
    package init(path: String) throws {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, limit: 1 << 28, acceptsPipes: true)
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "the metadata cannot be read: \(error)")
        }
        try self.init(bytes: bytes, path: path)
    }

    package init(bytes: [UInt8], path: String) throws {
        fileName = (path as NSString).lastPathComponent
        let text: DelimitedText
        do throws(DelimitedText.Fault) {
            text = try DelimitedText(bytes)
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "the metadata is not CSV: \(error)")
        }
        let names = (text.rows.first?.fields ?? []).map {
            $0.trimmingCharacters(in: .whitespaces).lowercased()
        }
        guard names.contains("image"), Set(names).count == names.count else {
            throw BatchError(
                .inputMissing,
                path: path,
                detail: "the first row must name every column once, including image; it is "
                    + "\"\(names.joined(separator: ",").prefix(200))\""
            )
        }
        for row in text.rows.dropFirst() {
            let pairs = Dictionary(zip(names, row.fields)) { first, _ in first }
            var key = (pairs["image"] ?? "").trimmingCharacters(in: .whitespaces)
            while key.hasPrefix("./") { key = String(key.dropFirst(2)) }
            if key.isEmpty { continue }
            let wanted = pairs.filter { ["age_approx", "sex", "anatom_site_general"].contains($0.key) }
            let isWhole = row.fields.count == names.count
            let fault = ClinicalMetadataError(detail: "\(row.fields.count) fields for \(names.count) columns")
            rows[key, default: []].append(
                Entry(number: row.number, fields: isWhole ? .success(wanted) : .failure(fault))
            )
        }
    }

    /// The row for each picture, or why there is none.
    ///
    /// - Parameter names: paths relative to the inputs.
    /// - Returns: for each picture the metadata, nil if no row matches, or the fault with file and row.
    package func assign(
        _ names: [String],
        settings: PhotoMetadataSettings
    ) -> [Result<ClinicalMetadata?, ClinicalMetadataError>] {
        let keys = names.map { name in MetadataTable.keys(of: name).first { rows[$0] != nil } }
        var picturesByKey: [String: [String]] = [:]
        for (name, key) in zip(names, keys) { if let key { picturesByKey[key, default: []].append(name) } }
        return zip(names, keys).map { name, key in
            guard let key, let entries = rows[key] else { return .success(nil) }
            let place = "\(fileName) row \(entries[0].number)"
            let matching = picturesByKey[key] ?? []
            guard matching.count == 1 || key == name else {
                let pictures = matching.prefix(4).joined(separator: ", ")
                return fault(
                    "\(place): \"\(key)\" matches several pictures (\(pictures)); give the path relative to the input"
                )
            }
            let found = entries.map { parsed($0, settings) }
            for case .failure(let error) in found { return .failure(error) }
            guard Set(found.compactMap { try? $0.get() }).count == 1 else {
                return fault("\(place): \"\(key)\" has another row, \(entries[1].number), with different values")
            }
            return found[0].map { $0 }
        }
    }

    private func parsed(_ entry: Entry, _ settings: PhotoMetadataSettings)
        -> Result<ClinicalMetadata, ClinicalMetadataError>
    {
        do throws(ClinicalMetadataError) {
            let fields = try entry.fields.get()
            return .success(
                try ClinicalMetadata(
                    age: fields["age_approx"],
                    sex: fields["sex"],
                    site: fields["anatom_site_general"],
                    settings: settings
                )
            )
        } catch {
            return .failure(ClinicalMetadataError(detail: "\(fileName) row \(entry.number): \(error.detail)"))
        }
    }

    private func fault(_ text: String) -> Result<ClinicalMetadata?, ClinicalMetadataError> {
        .failure(ClinicalMetadataError(detail: text))
    }

    /// The names by which a row may refer to a picture, the most specific first.
    private static func keys(of name: String) -> [String] {
        let file = (name as NSString).lastPathComponent
        return [name, file, (name as NSString).deletingPathExtension, (file as NSString).deletingPathExtension]
    }
}
