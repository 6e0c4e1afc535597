import NocturneConcurrency
import NocturneCore
package import NocturneJournal
import NocturneSystem

/// Writes the files about the whole batch at the end of a run: the report, and what recipes write about all items.
struct BatchReportWriter {
    let context: RunContext

    private var output: OutputFolder { context.output }
    private var journal: Journal { context.journal }
    private var control: RunControl { context.control }
    private var progress: ProgressReporter { context.progress }

    /// Writes what is older than the journal. It waits while the disk is full, and retries a failing disk three times. Where
    /// nothing can be written the run is given up: the journal has everything that the report is made of.
    func bringUpToDate() async throws -> BatchCounts {
        for attempt in 0...3 {
            if let reason = await context.health.fault() { return try await giveUp(reason) }
            do {
                return try await context.disk.retryingWhenFull { try await write() }
            } catch let full as BatchError where full.code == .outputFull {
                return try await giveUp(full.detail)
            } catch let error as any SystemCallError where error.isTransient && control.mode != .cancelled {
                guard attempt < 3 else {
                    if error.isOutOfRoom { return try await giveUp("\(error)") }
                    throw error
                }
                await progress.note("writing the report again: \(error)")
                try? await context.time.sleep(for: .seconds(1 << (2 * attempt)))
            }
        }
        return try await write()
    }

    /// Writes the report of a batch that has just begun, in which nothing is done yet.
    func writeFirst() async throws {
        let exists = await context.blocking.run { [output] in FileSystem.exists(output.report) }
        if !exists { _ = try await bringUpToDate() }
    }

    private func giveUp(_ reason: String) async throws -> BatchCounts {
        if control.givenUp == nil { await progress.note("Stopping without a new report: \(reason).") }
        control.giveUp(reason)
        // Where another run has the folder, the journal may not be readable any more.
        return BatchCounts(of: (try? await journal.items()) ?? [])
    }

    /// The report is a function of the journal, which knows whether it changed since the last report.
    private func write() async throws -> BatchCounts {
        let items = try await journal.items()
        // `nocturne merge` reports on all shards.
        guard output.shard == nil else { return BatchCounts(of: items) }
        let files = [output.report, output.statistics, output.retryList]
        if try await journal.value(of: .isReportUpToDate) == true,
            try await journal.value(of: .reportVersion) == BatchReport.version,
            await context.blocking.run({ files.allSatisfy(FileSystem.exists) })
        {
            return BatchCounts(of: items)
        }
        if try await journal.value(of: .reportVersion) != BatchReport.version {
            for note in try await context.blocking.run({ try output.keepForeignReports() }) {
                await progress.note(note)
            }
        }
        let report = try await journal.report(items, context.options.description)
        let reported = ReportedBatch(output: output, report: report)
        let isComplete = try await context.blocking.run {
            [recipes = context.recipes, output, page = context.options.page, flag = control.flag] () throws -> Bool in
            try FaultPoint.batchReport.pass()
            try report.write(into: output)
            let completed = items.filter { $0.state == .completed }.map { output.item($0.name) }
            do {
                for recipe in recipes { try recipe.summarize(folders: completed, into: output.path, flag: flag) }
                try page?.write(reported, flag: flag)
            } catch is CancelledError {
                // The next run does it: the report is not marked as up to date.
                return false
            }
            try FileSystem.flush(output.path)
            return true
        }
        if isComplete {
            try await journal.set(.reportVersion, to: BatchReport.version)
            try await journal.set(.isReportUpToDate, to: true)
        }
        return BatchCounts(of: items)
    }
}

extension Journal {
    /// What the report about these items is made of.
    package func report(_ items: [JournalItem], _ description: BatchDescription) throws(JournalError) -> BatchReport {
        BatchReport(
            items: items,
            statistics: try statistics(),
            description: description,
            marks: try marks(),
            ranges: try value(of: .referenceRanges) ?? []
        )
    }
}
