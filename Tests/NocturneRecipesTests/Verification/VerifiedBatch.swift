import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneRecipes
import NocturneSystem

/// A finished batch that is damaged on purpose and verified.
struct VerifiedBatch {
    let output: OutputFolder
    /// Whoever made it, and takes its folder away in the end.
    private let maker: AnyObject?

    init(output: OutputFolder, by maker: AnyObject?) {
        self.output = output
        self.maker = maker
    }

    /// What is found, as paths below the output folder with the fact.
    func faults(threads: ComputePool? = nil) throws -> [String] {
        let report = try BatchVerification(output, inspection: RecipeResults())
            .run(scope: ComputeScope(pool: threads, flag: CancellationFlag()))
        return report.faults.map { "\($0.path.dropFirst(output.path.count + 1)): \($0.detail)" }
    }

    func url(_ path: String) -> URL { URL(fileURLWithPath: output.path + "/" + path) }

    func change(_ path: String, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = try FileSystem.read(url(path).path)
        body(&bytes)
        try FileSystem.write(url(path).path, bytes)
    }

    /// Replaces the first of a text in a file.
    func replace(_ path: String, _ old: String, _ new: String) throws {
        var text = try String(contentsOf: url(path), encoding: .utf8)
        guard let range = text.range(of: old) else { throw NoSuchText(path: path, text: old) }
        text.replaceSubrange(range, with: new)
        try FileSystem.write(url(path).path, Array(text.utf8))
    }

    private struct NoSuchText: Error {
        let path: String
        let text: String
    }

    /// Makes `result.json` and the journal agree with the files as they are now, so that only their content can tell.
    func recordAnew(_ item: String) throws {
        let folder = output.item(item)
        let data = try Data(contentsOf: url(item + "/result.json"))
        var result = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
        let listed = (result["files"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String }
        let files = try listed.map { try measured($0, in: folder) }
        result["files"] = files.map { ["path": $0.path, "bytes": $0.bytes, "sha256": $0.sha256] as [String: Any] }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        try JSONSerialization.data(withJSONObject: result, options: options).write(to: url(item + "/result.json"))
        try change(item) { $0.files = files + [try measured("result.json", in: folder)] }
    }

    /// Changes what the journal has of an item.
    func change(_ item: String, _ body: (inout ItemProduct) throws -> Void) throws {
        let journal = try Journal(path: output.journal)
        defer { journal.close() }
        guard let found = try journal.items().first(where: { $0.name == item }) else { return }
        var product = ItemProduct(
            files: try journal.files()[found.id] ?? [],
            statistics: try journal.statistics()[found.id] ?? [],
            notes: found.notes,
            parts: try journal.parts()[found.id] ?? []
        )
        try body(&product)
        try journal.complete([(found.id, product)], at: Timestamp.now())
        try journal.setSetting("accounted", "yes")
    }

    private func measured(_ file: String, in folder: String) throws -> ItemFile {
        let (bytes, digest) = try FileSystem.digest(folder + "/" + file)
        return ItemFile(path: file, bytes: bytes, sha256: digest.hex)
    }
}
