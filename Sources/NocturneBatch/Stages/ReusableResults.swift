package import NocturneJournal
import NocturneOutput
import NocturneSystem

extension JournalSetting<[String]> {
    /// The output folders of the batches whose results were taken last, for later runs that name none.
    package static var reusedBatches: Self { Self(json: "reusedBatches") }
}

/// Results that other batches have completed, which a run takes instead of making them again.
///
/// Those batches are only read, their journals from copies: whatever a run of theirs does meanwhile, a result is checked once it is copied.
package struct ReusableResults: Sendable {
    private let batches: [(output: OutputFolder, journal: Journal)]

    /// - Parameters:
    ///   - given: output folders of batches; with none, those of the last run that named any.
    ///   - note: called for a batch that an earlier run named and that cannot be read now: it is left out.
    /// - Returns: nil without batches.
    /// - Throws: ``BatchError`` for a given folder without a batch; `JournalError`.
    package init?(_ given: [String], _ journal: Journal, note: (String) async -> Void) async throws {
        let paths = given.isEmpty ? try await journal.value(of: .reusedBatches) ?? [] : given
        var batches: [(OutputFolder, Journal)] = []
        for path in paths {
            let output = OutputFolder(path)
            do {
                try output.checkHoldsBatch()
                batches.append((output, try await Journal.copy(of: output.journal)))
            } catch  where given.isEmpty {
                await note("\(error). Nothing is taken from this batch")
            }
        }
        if !given.isEmpty { try await journal.set(.reusedBatches, to: given) }
        guard !batches.isEmpty else { return nil }
        self.batches = batches
    }

    /// Closes the copies of the journals; until then they take space in the folder for temporary files.
    package func close() async {
        for batch in batches { await batch.journal.close() }
    }

    /// The result of an item with this name, which is in its files; nil where no batch has one that is complete.
    /// - Parameter source: what it was made from; nil for any source and options.
    package func result(_ name: String, of source: DiscoveredSource?) async -> ReusableResult? {
        for (output, journal) in batches {
            guard let item = try? await journal.items(named: [name])[name], item.state == .completed,
                item.reason?.code != .thinned,
                await Self.isMade(item, from: source, journal),
                let files = try? await journal.writtenFiles(of: item.id), !files.isEmpty
            else { continue }
            return ReusableResult(folder: output.item(name), files: files)
        }
        return nil
    }

    private static func isMade(_ item: JournalItem, from source: DiscoveredSource?, _ journal: Journal) async -> Bool {
        guard let source else { return true }
        guard item.fingerprint == source.fingerprint,
            let inputs = try? await journal.discovered([item.id])[item.id]?.inputs
        else { return false }
        // Where the files lie does not matter.
        return inputs.map(\.text) == source.inputs.map(\.text)
    }
}

/// A result of another batch, as its journal has it. Nobody has checked its files.
package struct ReusableResult: Sendable {
    /// The folder of the result.
    package let folder: String
    let files: [ItemFile]

    var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

    /// Whether `result.json`, by whose digests a recipe checks the other files, is as it was recorded.
    package var hasRecordedDigests: Bool {
        files.first { $0.path == "result.json" }.map(ResultFolder(folder).isUnchanged) ?? false
    }

    /// Copies the files, which are independent of those of the other batch from then on, and checks the copies.
    /// - Parameters:
    ///   - recognize: ``Recipe/recognize(folder:fingerprint:)`` of the item's recipe.
    ///   - place: an empty folder.
    /// - Throws: ``NotReusable`` for a result that is not as the other batch has recorded it; `CancelledError`; `FileSystemError` when
    ///   nothing can be written.
    func copy(to place: String, flag: CancellationFlag, recognize: (String) throws -> ItemProduct?) throws
        -> ItemProduct
    {
        do {
            for file in files {
                try flag.check()
                try ResultFolder(folder).copy(file.path, to: place)
            }
            let record = try FileSystem.read(folder + "/run.json", limit: 1 << 20)
            guard let record = RunFacts.reused(record, from: folder) else {
                throw NotReusable(folder: folder, fact: "run.json is damaged")
            }
            try FileSystem.write(place + "/run.json", record)
        } catch let error as FileSystemError where FileSystem.isWithin(error.path, folder) {
            throw NotReusable(folder: folder, fact: "\(error)")
        }
        // The digests are computed of the copies: what a run of the other batch has changed meanwhile is noticed.
        guard var product = try? recognize(place), Set(product.files) == Set(files) else {
            throw NotReusable(folder: folder, fact: "its files are not as that batch has recorded them")
        }
        product.origin = Self.origin(folder)
        return product
    }

    static func origin(_ folder: String) -> ItemReason {
        ItemReason(.reused, "the result was taken from \(file: folder)")
    }
}

/// A result of another batch cannot be taken: its item is processed.
struct NotReusable: CodedError, SentenceConvertible, CustomStringConvertible {
    let folder: String
    let fact: String
    var faultCode: FaultCode { .notReusable }
    var sentence: Sentence { "the result in \(file: folder) cannot be taken, and is made here: \(fact)" }
    var description: String { sentence.description }
}
