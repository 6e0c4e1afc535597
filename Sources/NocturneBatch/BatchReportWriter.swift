import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

/// Writes the files about the whole batch at the end of a run: the report, and what recipes write about all items.
struct BatchReportWriter {
    /// The remarks are nil where the report was not written.
    typealias Outcome = (counts: BatchCounts, remarks: ReportRemarks?)

    let context: RunContext

    private var output: OutputFolder { context.output }
    private var journal: Journal { context.journal }
    private var control: RunControl { context.control }
    private var progress: ProgressReporter { context.progress }

    /// Writes what is older than the journal. It waits while the disk is full, and retries a failing disk three times. Where
    /// nothing can be written the run is given up: the journal has everything that the report is made of.
    func bringUpToDate() async throws -> Outcome {
        var attempt = 0
        while true {
            if let reason = await context.health.fault() { return try await giveUp(reason) }
            do {
                return try await context.disk.retryingWhenFull { try await write() }
            } catch let full as BatchError where full.code == .outputFull {
                return try await giveUp(full.detail)
            } catch let error as any SystemCallError where error.isTransient {
                // A run that a full disk has stopped is cancelled, and the disk is still full.
                guard control.mode != .cancelled, attempt < 3 else {
                    if error.isOutOfRoom { return try await giveUp("\(error)") }
                    throw error
                }
                await progress.note("writing the report again: \(error)")
                try? await context.time.sleep(for: .seconds(1 << (2 * attempt)))
                attempt += 1
            }
        }
    }

    /// Writes the report of a batch that has just begun, in which nothing is done yet.
    func writeFirst() async throws {
        let exists = await context.blocking.run { [output] in FileSystem.exists(output.report) }
        if !exists { _ = try await bringUpToDate() }
    }

    private func giveUp(_ reason: String) async throws -> Outcome {
        if control.givenUp == nil { await progress.noteStop("Stopping without a new report: \(reason).") }
        control.giveUp(reason)
        // Where another run has the folder, the journal may no longer be readable.
        return (BatchCounts((try? await journal.stateCounts()) ?? [:]), nil)
    }

    /// The report is a function of the journal, which knows whether it changed since the last report.
    private func write() async throws -> Outcome {
        let counts = BatchCounts(try await journal.stateCounts())
        // `nocturne merge` reports on all shards.
        guard output.shard == nil, try await !isUpToDate() else {
            return (counts, output.shard == nil ? try await journal.value(of: .reportRemarks) : nil)
        }
        // A run that was stopped writes its page, too, where that takes no longer than a person waits.
        let flag = counts.inputs <= Self.mostItemsOfStoppedPage ? CancellationFlag() : control.flag
        do {
            let before = try await journal.value(of: .reportRemarks)?.unusedRanges
            let report = try await writing(flag).write(context.options.description, on: context.blocking)
            // Not in every round of a watch.
            if let text = report.remarks.unusedRangesText, report.remarks.unusedRanges != before {
                await progress.note(text)
            }
            return (report.counts, report.remarks)
        } catch is CancelledError {
            // The next run does it: the report is not marked as up to date.
            return (counts, nil)
        }
    }

    private static let mostItemsOfStoppedPage = 5000

    private func writing(_ flag: CancellationFlag) -> ReportWriting {
        ReportWriting(
            journal: journal,
            output: output,
            page: context.options.page,
            summaries: context.recipes.map { recipe in
                { try recipe.summarize(folders: $0, into: $1, flag: $2) }
            },
            flag: flag
        )
    }

    /// Writes the report of the items so far, while others are processed. What cannot be written now is written at the end.
    func writeMeanwhile() async {
        guard output.shard == nil, control.mode == .running, await context.health.fault() == nil else { return }
        _ = try? await writing(control.flag).write(context.options.description, on: context.blocking, isCurrent: false)
    }

    private func isUpToDate() async throws -> Bool {
        guard try await journal.value(of: .isReportUpToDate) == true,
            try await journal.value(of: .reportVersion) == BatchReport.version
        else { return false }
        let files = [output.report, output.statistics, output.measurements, output.retryList]
        return await context.blocking.run { files.allSatisfy(FileSystem.exists) }
    }
}
