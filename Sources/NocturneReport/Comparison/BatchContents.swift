package import NocturneJournal
package import NocturneOutput

/// What is compared of a batch.
package struct BatchContents: Sendable {
    /// Where the results are.
    package let output: OutputFolder
    /// All items, in the order of discovery.
    package let items: [JournalItem]
    /// Of completed items, by id.
    package let statistics: [Int64: [Statistic]]
    /// Empty where the journal does not describe the batch.
    package let models: [BatchDescription.Model]

    /// - Parameters:
    ///   - output: where the results are.
    ///   - items: in the order of discovery.
    ///   - statistics: of completed items, by id.
    ///   - models: those of the batch.
    package init(
        output: OutputFolder,
        items: [JournalItem],
        statistics: [Int64: [Statistic]],
        models: [BatchDescription.Model]
    ) {
        self.output = output
        self.items = items
        self.statistics = statistics
        self.models = models
    }

    /// - Throws: ``BatchError`` with `notABatch`, and with `divided` before the shards are merged; `JournalError`.
    package static func read(_ output: OutputFolder) async throws -> BatchContents {
        try await output.checkIsWhole()
        return try await output.reading { journal in
            BatchContents(
                output: output,
                items: try await journal.items(),
                statistics: try await journal.statistics(),
                models: try await journal.value(of: .batchDescription)?.models ?? []
            )
        }
    }
}
