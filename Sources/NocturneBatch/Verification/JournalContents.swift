import NocturneJournal

/// Everything that the journal holds about a batch, read in one call.
struct JournalContents: Sendable {
    let items: [JournalItem]
    let files: [Int64: [ItemFile]]
    let statistics: [Int64: [Statistic]]
    let parts: [Int64: [ItemPart]]
    let marks: [ReviewMark]
    let ranges: [ReferenceRange]
    /// Nil when the batch never got so far.
    let description: BatchDescription?
    /// Whether the report was written since the journal last changed.
    let isReportUpToDate: Bool
    /// Whether the report on the disk has this version's form.
    let hasThisReportVersion: Bool

    /// What was recorded of a completed item.
    func product(of item: JournalItem) -> ItemProduct {
        ItemProduct(
            files: files[item.id] ?? [],
            statistics: statistics[item.id] ?? [],
            notes: item.notes,
            parts: parts[item.id] ?? []
        )
    }

    /// What the report has to be.
    /// - Throws: ``BatchError`` when the journal does not describe the batch.
    func report(of output: OutputFolder) throws(BatchError) -> BatchReport {
        guard let description else {
            throw BatchError(.notABatch, path: output.path, detail: "the journal has no description of the batch")
        }
        return BatchReport(
            items: items,
            statistics: statistics,
            description: description,
            marks: marks,
            ranges: ranges
        )
    }
}

extension Journal {
    func contents() throws(JournalError) -> JournalContents {
        JournalContents(
            items: try items(),
            files: try files(),
            statistics: try statistics(),
            parts: try parts(),
            marks: try marks(),
            ranges: try value(of: .referenceRanges) ?? [],
            description: try value(of: .batchDescription),
            isReportUpToDate: try value(of: .isReportUpToDate) ?? false,
            hasThisReportVersion: try value(of: .reportVersion) == BatchReport.version
        )
    }
}
