import Foundation
import NocturneBatch
import NocturneCore
package import NocturneInference
package import NocturneJournal
import NocturneSystem

/// What the `result.json` of every recipe has in common: a function of input, model and options, with nothing of when
/// and where.
package protocol ItemResult: Codable {
    var fingerprint: String { get }
    /// All files of the item but `result.json` and `run.json`.
    var files: [ItemFile] { get }
    var notes: [String] { get set }
    /// Rows for the table of the batch.
    var statistics: [Statistic] { get }
    var parts: [ItemPart] { get }
}

extension ItemResult {
    package var parts: [ItemPart] { [] }

    /// Writes `result.json`, and gives what goes into the journal. In both, notes name files as the policy lets them.
    /// - Throws: `FileSystemError`.
    package func write(into folder: String, of source: some ItemSource) throws -> ItemProduct {
        let policy = source.identifiers ?? .hash
        var result = self
        result.notes = notes.map { policy.shown(in: $0, of: source.namedFiles) }
        let bytes = try StableJSON.encode(result)
        try FileSystem.write(folder + "/result.json", bytes)
        return result.product(ownBytes: bytes)
    }

    /// The product of a folder that holds a whole result of `fingerprint`: every file there, with its recorded digest.
    package static func adopt(folder: String, fingerprint: String) throws -> ItemProduct? {
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
    /// Measures a file that was written.
    package init(_ path: String, in folder: String) throws {
        let (bytes, digest) = try FileSystem.digest(folder + "/" + path)
        self.init(path: path, bytes: bytes, sha256: digest.hex)
    }
}

/// Which package a result comes from.
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

/// What ran its networks: all that the last bits may depend on.
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
