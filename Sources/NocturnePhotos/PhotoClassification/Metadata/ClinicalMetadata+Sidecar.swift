import Foundation
import NocturneSystem

/// The sidecar file `<picture>.json` of a picture, or `<picture without extension>.json`: `age_approx`, `sex` and `anatom_site_general`, at
/// the top level, or in `metadata.clinical` or `meta.clinical`, where the ISIC archive puts them now and did before.
extension ClinicalMetadata.Reading {
    /// The fields that are read.
    static let sidecarFields = ["age_approx", "sex", "anatom_site_general"]

    /// The one with the picture's whole name first, which cannot be that of another picture.
    static func sidecarPath(of picture: String) -> String {
        let whole = picture + ".json"
        return FileSystem.exists(whole) ? whole : (picture as NSString).deletingPathExtension + ".json"
    }

    /// - Parameter isStrict: whether a value that is not understood is an error, rather than unknown with a note.
    /// - Returns: nil if the file contains none of these fields.
    /// - Throws: ``ClinicalMetadata/ReadingError`` that names the file.
    package static func sidecar(
        at path: String,
        sites: BodySites,
        isStrict: Bool = false
    ) throws(ClinicalMetadata.ReadingError) -> ClinicalMetadata.Reading? {
        let name = (path as NSString).lastPathComponent
        let document: Any
        do {
            document = try JSONSerialization.jsonObject(with: Data(try FileSystem.read(path, limit: 1 << 20)))
        } catch let error as FileSystemError where error.isNotRegularFile {
            throw ClinicalMetadata.ReadingError(
                detail: "\(name) is not a regular file: remove it, or put a JSON file there"
            )
        } catch let error as FileSystemError {
            throw ClinicalMetadata.ReadingError(detail: "\(name) cannot be read: \(error)")
        } catch {
            throw ClinicalMetadata.ReadingError(detail: "\(name) is not valid JSON")
        }
        guard let whole = document as? [String: Any] else { return nil }
        let places = ["metadata", "meta"].compactMap { (whole[$0] as? [String: Any])?["clinical"] as? [String: Any] }
        let known = (places + [whole]).first { fields in sidecarFields.contains { fields[$0] != nil } }
        guard let fields = known else { return nil }
        let given: ClinicalMetadata.Fields
        do throws(ClinicalMetadata.ReadingError) {
            given = ClinicalMetadata.Fields(
                age: try field(fields, "age_approx"),
                sex: try field(fields, "sex"),
                site: try field(fields, "anatom_site_general")
            )
        } catch {
            throw ClinicalMetadata.ReadingError(detail: "\(name): \(error.detail)")
        }
        return try ClinicalMetadata.Reading(given, sites: sites, place: name, isStrict: isStrict)
    }

    private static func field(
        _ fields: [String: Any],
        _ key: String
    ) throws(ClinicalMetadata.ReadingError) -> ClinicalMetadata.Fields.Field {
        ClinicalMetadata.Fields.Field(name: key, text: try text(fields[key], key))
    }

    private static func text(_ value: Any?, _ key: String) throws(ClinicalMetadata.ReadingError) -> String? {
        switch value {
        case nil, is NSNull: return nil
        case let text as String: return text
        case let number as NSNumber: return "\(number)"
        default: throw ClinicalMetadata.ReadingError(detail: "\(key) is neither text nor number")
        }
    }
}
