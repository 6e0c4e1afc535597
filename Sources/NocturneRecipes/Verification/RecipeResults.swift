import Foundation
public import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
public import NocturneSystem

/// Looks into the results of all recipes: `nocturne verify`. No model is needed.
///
/// Which recipe made a result is told by its `task`; that of a segmented volume has none.
public struct RecipeResults: ResultInspection {
    public init() {}

    public func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: item.result)
        } catch {
            var findings = ResultFindings()
            findings.add("result.json", "\(error)")
            return findings
        }
        switch document["task"]?.text {
        case nil: return try Look<SegmentationResult>(item, document, RecipeSchemas.segmentation, flag).findings()
        case ExistingLabels.model:
            return try Look<ExistingLabelsResult>(item, document, RecipeSchemas.existingLabels, flag).findings()
        case ModelTask.photoClassification.rawValue:
            return try Look<PhotoClassificationResult>(item, document, RecipeSchemas.classification, flag).findings()
        case ModelTask.photoInstances.rawValue:
            return try Look<PhotoInstancesResult>(item, document, RecipeSchemas.instances, flag).findings()
        case let task?:
            var findings = ResultFindings()
            findings.add("result.json", "no recipe writes results of the task \(task)")
            return findings
        }
    }

    public func inspectBatchFile(at path: String) -> String? {
        path.hasSuffix(".pdf") ? PDFCheck.fault(at: path) : nil
    }
}

/// A result whose own files can be held against it.
protocol InspectableResult: ItemResult {
    var schemaVersion: Int { get }
    var item: String { get }
    func inspectFiles(_ look: inout ItemInspection) throws
    /// Files beside the items that it promises.
    var batchFiles: Set<String> { get }
}

extension InspectableResult {
    var batchFiles: Set<String> { [] }
}

/// The files of one item while they are looked into.
struct ItemInspection {
    let item: CommittedItem
    let flag: CancellationFlag
    private(set) var findings = ResultFindings()

    init(_ item: CommittedItem, _ flag: CancellationFlag) {
        self.item = item
        self.flag = flag
    }

    var scope: ComputeScope { .serial(flag) }

    func path(_ file: String) -> String { item.folder + "/" + file }

    mutating func add(_ file: String, _ detail: String) { findings.add(file, detail) }

    /// Looks into a file that is what was recorded; one that is not has been told of already.
    ///
    /// What a reader throws is a fault of the file, but the cancellation, which ends everything.
    mutating func inspect(_ file: String, _ body: (inout ItemInspection, _ path: String) throws -> Void) throws {
        try flag.check()
        guard item.wholeFiles.contains(file) else { return }
        do {
            try body(&self, path(file))
        } catch {
            try flag.check()
            let words = "\(error)"
            let own = path(file) + ": "
            add(file, words.hasPrefix(own) ? String(words.dropFirst(own.count)) : words)
        }
    }

    /// The size of a picture by its header.
    /// - Parameter size: what it has to be; nil for any.
    mutating func inspectPicture(_ file: String, size: (width: Int, height: Int)? = nil, of what: String = "") throws {
        try inspect(file) { look, path in
            let facts = try PhotoReader.readHeader(at: path)
            guard let size, (facts.storedWidth, facts.storedHeight) != size else { return }
            look.add(
                file,
                "has \(facts.storedWidth)×\(facts.storedHeight) pixels, \(what) is \(size.width)×\(size.height)"
            )
        }
    }

    mutating func finish(_ product: ItemProduct, _ batchFiles: Set<String>) {
        findings.product = product
        findings.batchFiles = batchFiles
    }
}

/// From the text of a result to what is wrong with the item.
private struct Look<Result: InspectableResult> {
    let item: CommittedItem
    let document: JSONValue
    let schema: JSONSchema
    let flag: CancellationFlag

    init(_ item: CommittedItem, _ document: JSONValue, _ schema: JSONSchema, _ flag: CancellationFlag) {
        self.item = item
        self.document = document
        self.schema = schema
        self.flag = flag
    }

    func findings() throws -> ResultFindings {
        var look = ItemInspection(item, flag)
        let misfits = schema.faults(in: document)
        guard misfits.isEmpty else {
            look.add("result.json", "does not fit its schema: \(misfits.prefix(3).joined(separator: "; "))")
            return look.findings
        }
        let result: Result
        do {
            result = try JSONDecoder().decode(Result.self, from: Data(item.result))
        } catch {
            look.add("result.json", "cannot be understood: \(error)")
            return look.findings
        }
        if result.item != item.name { look.add("result.json", "is of the item \(result.item), not of \(item.name)") }
        if result.fingerprint != item.fingerprint {
            look.add(
                "result.json",
                "is of another source, model or other options: its fingerprint is not the journal's"
            )
        }
        try result.inspectFiles(&look)
        look.finish(result.product(ownBytes: item.result), result.batchFiles)
        return look.findings
    }
}
