import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes

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
    func faults(threads: ComputePool? = nil) async throws -> [String] {
        let report = try await BatchVerification(output, inspection: RecipeResults()).run(on: threads)
        return report.faults.map { "\($0.path.dropFirst(output.path.count + 1)): \($0.detail)" }
    }

    /// The same without a journal.
    func copyFaults(_ pool: ComputePool) async throws -> [String] {
        let report = try await BatchVerification(output, inspection: RecipeResults()).runWithoutJournal(on: pool)
        return report.faults.map { "\($0.path.dropFirst(output.path.count + 1)): \($0.detail)" }
    }

    /// What is found that is no fault.
    func notes() async throws -> [String] {
        try await BatchVerification(output, inspection: RecipeResults()).run().notes
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
    func recordAnew(_ item: String) async throws {
        let folder = output.item(item)
        let data = try Data(contentsOf: url(item + "/result.json"))
        var result = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
        let listed = (result["files"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String }
        let files = try listed.map { try measured($0, in: folder) }
        result["files"] = files.map { ["path": $0.path, "bytes": $0.bytes, "sha256": $0.sha256] as [String: Any] }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        try JSONSerialization.data(withJSONObject: result, options: options).write(to: url(item + "/result.json"))
        try await change(item) { $0.files = files + [try measured("result.json", in: folder)] }
    }

    /// Changes what the journal has of an item.
    func change(_ item: String, _ body: (inout ItemProduct) throws -> Void) async throws {
        try await Journal.with(path: output.journal) { journal in
            let records = try await journal.records(after: 0, limit: .max)
            guard let found = records.first(where: { $0.item.name == item }) else { return }
            var product = found.written
            try body(&product)
            try await journal.complete([(id: found.item.id, product: product)], at: SystemTime().wallClock.timestamp)
            try await journal.set(.isReportUpToDate, to: true)
        }
    }

    private func measured(_ file: String, in folder: String) throws -> ItemFile {
        let (bytes, digest) = try FileSystem.digest(folder + "/" + file)
        return ItemFile(path: file, bytes: bytes, sha256: digest.hex)
    }
}
