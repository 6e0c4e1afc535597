import Foundation
import NocturneBatch
import NocturneCore
package import NocturneInference
package import NocturneJournal
import NocturneSystem

/// The common part of the `result.json` of all recipes: a function of input, model and options only. It contains no
/// times and no locations.
package protocol ItemResult: Codable {
    var fingerprint: String { get }
    /// All files of the item except `result.json` and `run.json`.
    var files: [ItemFile] { get }
    var notes: [String] { get set }
    /// Rows for the batch's statistics table.
    var statistics: [Statistic] { get }
    var parts: [ItemPart] { get }
}

extension ItemResult {
    package var parts: [ItemPart] { [] }

    /// Writes `result.json` and returns the values for the journal. In both, notes name files as the identifier policy
    /// allows.
    /// - Throws: `FileSystemError`.
    package func write(into folder: String, of source: some ItemSource) throws -> ItemProduct {
        let names = source.shownNames
        var result = self
        result.notes = notes.map { names.shown(in: $0, of: source.namedFiles) }
        let bytes = try StableJSON.encode(result)
        try FileSystem.write(folder + "/result.json", bytes)
        return result.product(ownBytes: bytes)
    }

    /// The product of a folder that holds a complete result with `fingerprint`: every file exists and has its recorded
    /// digest.
    package static func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        let bytes = try FileSystem.read(folder + "/result.json")
        guard let result = try? JSONDecoder().decode(Self.self, from: Data(bytes)), result.fingerprint == fingerprint,
            FileSystem.exists(folder + "/run.json")
        else { return nil }
        for file in result.files where try ItemFile(file.path, in: folder) != file { return nil }
        return result.product(ownBytes: bytes)
    }

    package func product(ownBytes bytes: [UInt8]) -> ItemProduct {
        var digester = ContentDigester()
        digester.update(bytes)
        let own = ItemFile(path: "result.json", bytes: bytes.count, sha256: digester.finish().hex)
        return ItemProduct(files: files + [own], statistics: statistics, notes: notes, parts: parts)
    }
}

extension ItemFile {
    /// Measures a written file.
    package init(_ path: String, in folder: String) throws {
        let (bytes, digest) = try FileSystem.digest(folder + "/" + path)
        self.init(path: path, bytes: bytes, sha256: digest.hex)
    }
}

/// The package that made a result.
package struct ResultModel: Codable, Sendable {
    package let id: String
    package let name: String
    package let version: String
    package let description: String
    package let digest: String

    package init(_ package: ModelPackage) {
        id = package.id
        name = package.name
        version = package.version
        description = package.description
        digest = package.digest.hex
    }
}

/// What ran the networks: everything the last bits may depend on.
package struct ResultEngine: Codable, Sendable {
    package let name: String
    package let precision: String
    package let instructionSet: String

    package init(name: String, precision: InferencePrecision, instructionSet: String) {
        self.name = name
        self.precision = precision.rawValue
        self.instructionSet = instructionSet
    }
}
