import Foundation
import NocturneBatch
import NocturneSystem

/// Names of labels in a JSON file: nnU-Net's `dataset.json`, or an object of names and values.
///
/// Both directions are read: `{"labels": {"background": 0, "kidney": 1}}` and `{"labels": {"1": "kidney"}}`, with or without
/// the member `labels`. What is no single value, as a region of nnU-Net, names no label.
struct LabelNameFile {
    static let name = "dataset.json"
    private static let limit = 1 << 20

    /// By value, without the background.
    let names: [UInt16: String]

    /// - Throws: ``BatchError`` that names the file.
    init(_ path: String) throws(BatchError) {
        let names: [UInt16: String]?
        do {
            names = Self.names(try FileSystem.read(path, limit: Self.limit))
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "the names of labels cannot be read: \(error)")
        }
        guard let names, !names.isEmpty else {
            throw BatchError(
                .inputMissing,
                path: path,
                detail: "it names no labels; expected {\"labels\": {\"kidney\": 1, ...}}, as in nnU-Net's dataset.json"
            )
        }
        self.names = names
    }

    /// Nil for what is not JSON.
    static func names(_ bytes: [UInt8]) -> [UInt16: String]? {
        guard let json = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] else { return nil }
        var names: [UInt16: String] = [:]
        for (key, member) in json["labels"] as? [String: Any] ?? json {
            if let value = UInt16(key), let name = member as? String {
                names[value] = name
            } else if let number = member as? Int, let value = UInt16(exactly: number) {
                names[value] = key
            }
        }
        names[0] = nil
        return names
    }
}
