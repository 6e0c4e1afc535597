import Foundation
package import NocturneConcurrency
import NocturneFormats
import NocturneJournal
package import NocturneReport
package import NocturneSystem

/// A result whose files can be checked against it.
package protocol InspectableResult: ItemResult {
    /// The version of the schema that the document states.
    var schemaVersion: Int { get }
    /// The name of the item that the result belongs to.
    var item: String { get }
    /// Checks the files that the result names. Faults go to the inspection.
    /// - Throws: `CancelledError`.
    func inspectFiles(_ inspection: inout ItemInspection) throws
    /// Files outside the item folders that the result refers to.
    var batchFiles: Set<String> { get }
}

extension InspectableResult {
    /// None.
    package var batchFiles: Set<String> { [] }

    /// Checks the files of a finished item against its `result.json`.
    /// - Throws: `CancelledError`. Every fault of the item is among the findings.
    package static func findings(
        of item: CommittedItem,
        _ document: JSONValue,
        schema: JSONSchema,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        var inspection = ItemInspection(item: item, flag: flag)
        // Without the right form nothing else can be checked. Three faults show what is wrong; a document may have thousands.
        let misfits = schema.faults(in: document)
        guard misfits.isEmpty else {
            inspection.add("result.json", "does not match its schema: \(misfits.prefix(3).joined(separator: "; "))")
            return inspection.findings
        }
        let result: Self
        do {
            result = try JSONDecoder().decode(Self.self, from: Data(item.result))
        } catch {
            inspection.add("result.json", "cannot be parsed: \(error)")
            return inspection.findings
        }
        if result.item != item.name {
            inspection.add("result.json", "belongs to the item \(result.item), not to \(item.name)")
        }
        if result.fingerprint != item.fingerprint {
            inspection.add(
                "result.json",
                "belongs to another source, model or set of options: its fingerprint differs from the journal's"
            )
        }
        try result.inspectFiles(&inspection)
        inspection.findings.product = result.product(ownBytes: item.result)
        inspection.findings.batchFiles = result.batchFiles
        return inspection.findings
    }
}

/// The files of one item during inspection.
package struct ItemInspection {
    /// The item as the journal has it.
    package let item: CommittedItem
    /// Ends the inspection.
    package let flag: CancellationFlag
    /// What was found up to now.
    package fileprivate(set) var findings = ResultFindings()

    /// Serial: items are inspected in parallel.
    package var scope: ComputeScope { .serial(flag) }

    /// The path of a file of the item.
    package func path(_ file: String) -> String { item.folder + "/" + file }

    /// Adds a fault of a file.
    package mutating func add(_ file: String, _ detail: String) { findings.add(file, detail) }

    /// Inspects a file whose digest matches the journal. A file that differs has already been reported.
    ///
    /// An error thrown by a reader is a fault of the file, except cancellation, which ends the inspection.
    package mutating func inspect(_ file: String, _ body: (inout ItemInspection, _ path: String) throws -> Void) throws
    {
        try flag.check()
        guard item.wholeFiles.contains(file) else { return }
        do {
            try body(&self, path(file))
        } catch {
            // An error after a cancellation is a consequence of it, not a fault of the file.
            try flag.check()
            let message = "\(error)"
            let own = path(file) + ": "
            add(file, message.hasPrefix(own) ? String(message.dropFirst(own.count)) : message)
        }
    }

    /// Inspects a JSON document of the item, other than `result.json`; one that does not match its schema is reported.
    /// - Parameter limit: the most bytes that are read.
    package mutating func inspect<Document: Decodable>(
        _ file: String,
        as schema: JSONSchema,
        limit: Int = 64 << 20,
        _ body: (inout ItemInspection, Document) throws -> Void
    ) throws {
        try inspect(file) { inspection, path in
            let bytes = try FileSystem.read(path, limit: limit)
            if let misfit = try schema.faults(in: bytes).first {
                return inspection.add(file, "does not match its schema: \(misfit)")
            }
            try body(&inspection, JSONDecoder().decode(Document.self, from: Data(bytes)))
        }
    }

    /// Checks the size of a picture in its header.
    /// - Parameter size: the expected size; nil for any.
    package mutating func inspectPicture(_ file: String, size: (width: Int, height: Int)? = nil, of what: String = "")
        throws
    {
        try inspect(file) { inspection, path in
            let facts = try PhotoReader.readHeader(at: path)
            guard let size, (facts.storedWidth, facts.storedHeight) != size else { return }
            inspection.add(
                file,
                "has \(facts.storedWidth)×\(facts.storedHeight) pixels; expected \(size.width)×\(size.height), "
                    + "the size of \(what)"
            )
        }
    }
}
