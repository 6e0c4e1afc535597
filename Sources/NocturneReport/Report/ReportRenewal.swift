import NocturneConcurrency
public import NocturneJournal
public import NocturneOutput
public import NocturneSystem

/// Calls a closure with the folder of each completed item of a batch, in the order of discovery.
public typealias CompletedFolders = (_ body: (_ folder: String) throws -> Void) throws -> Void

/// Writes a recipe's files about the whole batch, as ``Recipe/summarize(folders:into:flag:)`` does.
public typealias BatchSummary =
    @Sendable (_ folders: CompletedFolders, _ output: String, _ flag: CancellationFlag) throws -> Void

/// Writes the report of a batch on which no run works, after marks were added or files were lost.
public struct ReportRenewal: Sendable {
    /// What the report counts.
    public struct Outcome: Sendable {
        /// Of all items, by their states.
        public let counts: BatchCounts
        /// How many items a person may want to look at.
        public let remarks: ReportRemarks
    }

    /// The folder of the batch.
    public let output: OutputFolder
    private let page: any BatchPage
    private let summaries: [BatchSummary]

    /// - Parameter summaries: what recipes write about all items; those that lie in the folder stay where there is none.
    public init(_ output: OutputFolder, page: any BatchPage, summaries: [BatchSummary] = []) {
        self.output = output
        self.page = page
        self.summaries = summaries
    }

    /// Changes the journal, then writes the report and the page.
    /// - Parameter change: what is done before, such as adding marks.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active, or `notABatch`; `JournalError`; `FileSystemError`.
    public func write(
        after change: (Journal) async throws -> Void = { _ in }
    ) async throws -> Outcome {
        try await output.changing { journal in
            guard let description = try await journal.value(of: .batchDescription) else {
                throw BatchError(notDescribed: output)
            }
            try await change(journal)
            let writing = ReportWriting(
                journal: journal,
                output: output,
                page: page,
                summaries: summaries,
                flag: CancellationFlag()
            )
            let pool = try BlockingPool(width: 1)
            defer { pool.shutdown() }
            let report = try await writing.write(description, on: pool)
            return Outcome(counts: report.counts, remarks: report.remarks)
        }
    }
}

/// How many items a person may want to look at: completed ones, but for ``reasons``.
public struct ReportRemarks: Sendable, Codable, Equatable {
    /// With notes.
    public package(set) var noted = 0
    /// With values that are unusual in the batch.
    public package(set) var unusual = 0
    /// Without an output that was asked for.
    public package(set) var incomplete = 0
    /// That could not be compared with their references.
    public package(set) var notCompared = 0
    /// Whether none could be compared, although references were given; nil for no.
    public package(set) var isNothingCompared: Bool?
    /// Whose results were taken from other batches.
    public package(set) var reused = 0
    /// Whose labels were compared with those of the same number, since the reference has no names.
    public package(set) var comparedByNumber = 0
    /// How many items did not complete, by the codes of their reasons; nil without any.
    public package(set) var reasons: [String: Int]?
    /// The notes of completed items, by their codes; nil without any.
    public package(set) var notes: [String: Notes]?

    /// How many results are without something that was asked for: an output, or their comparison where the batch has none at all.
    public var lacking: Int { incomplete + (isNothingCompared == true ? notCompared : 0) }

    /// The message about ``isNothingCompared``, without a full stop, with the reason of the first item.
    public var nothingComparedText: String? {
        guard isNothingCompared == true, let first = notes?[Note.Code.notCompared.rawValue] else { return nil }
        return "No item could be compared with its reference; \(first.item): \(first.text). "
            + "Check the names and the files in the folder of --compare"
    }

    /// What the rows of the reference table are about that no completed item has a value for; nil without any.
    public package(set) var unusedRanges: [String]?

    /// The message about ``unusedRanges``; nil without any.
    public var unusedRangesText: String? {
        unusedRanges.map {
            "No result has the values of \(counted($0.count, "row")) of --norms: \(listed($0, most: 5)). "
                + "Compare the labels, measures and models of the table with statistics.csv."
        }
    }

    /// Notes with one code.
    public struct Notes: Sendable, Codable, Equatable {
        /// The first item with one, and that note.
        public let item: String
        /// Without a policy for names: as the item's result has it.
        public let text: String
        /// How many items have one.
        public internal(set) var count = 0
    }

    /// Of no items.
    package init() {}

    /// Takes the next item. Items are counted: one may have several notes of one kind.
    mutating func add(_ item: JournalItem, _ notes: [Note]) {
        if item.state != .completed, let code = item.reason?.code.rawValue {
            reasons = reasons ?? [:]
            reasons?[code, default: 0] += 1
        }
        if item.isReused { reused += 1 }
        if notes.contains(where: { $0.code == .outputMissing }) { incomplete += 1 }
        guard !notes.isEmpty else { return }
        noted += 1
        self.notes = self.notes ?? [:]
        var codes: Set<Note.Code> = []
        for note in notes where codes.insert(note.code).inserted {
            self.notes?[note.code.rawValue, default: Notes(item: item.name, text: note.description)].count += 1
        }
        if codes.contains(.comparedByNumber) { comparedByNumber += 1 }
        if codes.contains(.notCompared) { notCompared += 1 }
    }
}
