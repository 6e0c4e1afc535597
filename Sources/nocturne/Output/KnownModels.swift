import Foundation
import NocturneSystem

/// A package that was imported and compared with the original library: an entry of `known-models.json`.
///
/// The file is part of the program. Nothing in it is downloaded until somebody imports an entry.
struct KnownModel: Codable {
    let id: String
    let name: String
    let task: String
    let modality: String
    /// Of a label map; empty for other models.
    let labels: [String]
    let licence: String
    /// What `models import` takes: pip:NAME==VERSION, or a folder.
    let source: String
    /// Where the source is from, with its version.
    let origin: String
    /// SHA-256 in hex of the wheel, or of the file of weights.
    let sha256: String
    /// The size of the package's files.
    let bytes: Int
    /// The largest memory of a run with two threads, as Tools/proofs/catalogue.py measures it.
    let memoryBytes: Int
    /// What was compared with the original library, and the result.
    let compared: String
    let citation: String
    /// The command that imports it.
    let command: String

    private static func all() throws -> [KnownModel] {
        try JSONDecoder().decode([KnownModel].self, from: Data(PackageResources.known_models_json))
    }

    /// The digest of a wheel that an entry names; nil for other sources.
    static func digest(of source: String) throws -> String? {
        try all().first { $0.source == source && source.hasPrefix("pip:") }?.sha256
    }

    /// Prints all entries.
    static func print(json: Bool) throws {
        let models = try all()
        if json { return try Terminal.printJSON(models) }
        for model in models {
            try Terminal.printResult(
                """
                \(model.id): \(model.name), \(model.modality), \(model.task), \(model.licence), \(ByteCount(model.bytes))
                  memory: \(ByteCount(model.memoryBytes)) in a measured run, with two threads
                  from: \(model.origin)
                  labels: \(model.labels.isEmpty ? "-" : model.labels.joined(separator: ", "))
                  compared: \(model.compared)
                  cite: \(model.citation)
                  \(model.command)
                """
            )
        }
        try Terminal.printResult(
            "For the time on this machine, import a model: nocturne plan CASES --model ID runs one patch of its network."
        )
    }
}
