import Foundation
package import NocturneInference
package import NocturneJournal
package import NocturneSystem

/// The common part of the `result.json` of all recipes: a function of input, model and options only. It contains no
/// times and no locations.
package protocol ItemResult: Codable {
    var fingerprint: String { get }
    /// All files of the item except `result.json` and `run.json`.
    var files: [ItemFile] { get }
    /// As people read them.
    var notes: [String] { get }
    /// The kind of each note; nil where there is none, so that results without notes do not have the key.
    var noteCodes: [Note.Code]? { get }
    /// Rows for the batch's statistics table.
    var statistics: [Statistic] { get }
    var parts: [ItemPart] { get }
}

extension ItemResult {
    /// None.
    package var parts: [ItemPart] { [] }

    /// Writes `result.json` and returns the values for the journal.
    /// - Parameter notes: those of the result, with their arguments.
    /// - Throws: `FileSystemError`.
    package func write(into folder: String, _ notes: [Note]) throws -> ItemProduct {
        let bytes = try StableJSON.encode(self)
        try FileSystem.write(folder + "/result.json", bytes)
        var product = product(ownBytes: bytes)
        product.notes = notes
        return product
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

    /// The values for the journal.
    /// - Parameter bytes: those of `result.json`.
    package func product(ownBytes bytes: [UInt8]) -> ItemProduct {
        let own = ItemFile(path: "result.json", bytes: bytes.count, sha256: ContentDigest.of(bytes).hex)
        let codes = noteCodes ?? []
        let notes = notes.enumerated().map { place, text in
            Note(codes.indices.contains(place) ? codes[place] : .unknown, Sentence(shown: text))
        }
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
    /// The id of the package.
    package let id: String
    /// The name for display.
    package let name: String
    /// The version of the package.
    package let version: String
    /// What the model does, for a person.
    package let description: String
    /// SHA-256 of the package, hexadecimal.
    package let digest: String

    /// What results state of a package.
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
    /// The name of the engine, such as `builtin`.
    package let name: String
    /// The arithmetic, such as `float32`.
    package let precision: String
    /// The highest instruction set that was used.
    package let instructionSet: String

    /// What results state of an engine.
    package init(name: String, precision: InferencePrecision, instructionSet: String) {
        self.name = name
        self.precision = precision.rawValue
        self.instructionSet = instructionSet
    }
}

/// What runs the networks for one item, taken when its inference begins.
package struct EngineInUse: Sendable {
    /// What ran the networks.
    package let engine: ResultEngine
    /// Why it is not the one that was chosen.
    package let notes: [Note]
    private let network: any LoadedNetwork

    /// - Parameter name: of the engine that loaded the network.
    package init(_ network: any LoadedNetwork, name: String, precision: InferencePrecision) {
        self.network = network
        let substitute = network.substitute
        engine = ResultEngine(
            name: substitute?.engine ?? name,
            precision: precision,
            instructionSet: network.instructionSet
        )
        notes =
            substitute.map {
                [
                    Note(
                        "engine.substitute",
                        "the networks ran on the processor, with the engine \(own: $0.engine): \($0.fault)"
                    )
                ]
            } ?? []
    }

    /// Ends the inference of an item.
    /// - Throws: `DeviceFault` where the device failed meanwhile, for another item: a part of this one ran on it.
    package func end(_ item: String) throws {
        if let fault = network.substitute?.fault, notes.isEmpty { throw fault }
        network.ended(item)
    }
}
