import ArgumentParser
import Foundation
import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSupervisor
import NocturneSystem
import Synchronization

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every result file against the journal, its schema and its own metadata.",
        discussion: """
            Hashes every file, counts every label map, reads every surface, picture and document, and compares the \
            report, retry list, statistics and events with the journal. Exits with 3 if anything differs. No \
            model is needed. Large batches can be verified in parts, such as one a day: `status` shows the age of the oldest. \
            Without a journal that can be read, as in a copy of the results or in the batch of another user, results are \
            checked against result.json and batch.json.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @OptionGroup private var compute: ThreadArguments

    @Option(
        help: ArgumentHelp(
            "Check this part of the items, K of N. For one N an item is always in the same part.",
            valueName: "k/n"
        ),
        transform: VerificationPart.parse
    )
    var part: VerificationPart?

    @Flag(help: "Also list sources that are missing or have changed since their results were made.")
    var sources = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        // A folder with a report but without a journal, such as a copy for archiving: it is checked against its report.
        let hasReport = FileSystem.kind(folder.report) == .file
        let isCopy = (folder.isClosed || !folder.holdsBatch) && hasReport
        if !isCopy { try check(folder) }
        let flag = CancellationFlag()
        let signal = Mutex<Int32?>(nil)
        // The first signal counts for the exit code; each of them only stops the check.
        try SignalListener.start([SIGINT, SIGTERM]) { event in
            if case .signal(let number) = event { signal.withLock { $0 = $0 ?? number } }
            flag.cancel()
            return nil
        }
        let pool = try ComputePool(width: compute.width)
        defer { pool.shutdown() }
        // A program that reads the JSON needs no count.
        let count = Terminal.isInteractive && !json ? TerminalCounter("items checked", time: Program.time) : nil
        let verification = BatchVerification(
            folder,
            inspection: RecipeResults(),
            checksSources: sources,
            part: part
        )
        let report: VerificationReport
        do {
            let progress: @Sendable (Int, Int) -> Void = { done, all in count?.show(done, of: all) }
            if isCopy {
                report = try await verification.runWithoutJournal(on: pool, flag: flag, progress: progress)
            } else {
                do {
                    try await checkJournal(folder)
                    report = try await verification.run(on: pool, flag: flag, progress: progress)
                } catch let error as JournalError where hasReport && error.isFileDamaged {
                    Terminal.printMessage("\(error)")
                    report = try await verification.runWithoutJournal(
                        on: pool,
                        flag: flag,
                        isJournalDamaged: true,
                        progress: progress
                    )
                }
            }
            count?.clear()
        } catch is CancelledError {
            count?.clear()
            throw NocturneExit(stoppedBy: signal.withLock { $0 } ?? SIGINT)
        }
        // The time is recorded only for results without a fault, and not for a copy, which has no journal. First: it holds also
        // where the report cannot be printed.
        let recorded = report.faults.isEmpty && !isCopy ? await record(verification) : nil
        if json { try Terminal.printJSON(report) } else { try Terminal.printResult(text(report)) }
        if !report.faults.isEmpty { throw NocturneExit.someFailed }
        if part != nil, !json, let recorded { try Terminal.printResult(recorded) }
    }

    /// Records the time.
    /// - Returns: how much is verified by now; nil for a folder that cannot be written.
    private func record(_ verification: BatchVerification) async -> String? {
        do {
            return StatusReport.Verified(try await verification.record(at: Program.time.wallClock.timestamp)).text
        } catch {
            // Who verifies in parts relies on the recorded times. Otherwise it does not matter that they are missing.
            if part != nil { Terminal.printMessage("The time of this verification is not recorded: \(error)") }
            return nil
        }
    }

    /// Whether the journal has what the batch was started with, and the batch is not divided.
    private func checkJournal(_ folder: OutputFolder) async throws {
        _ = try await ExistingBatch.description(of: folder)
        try await folder.checkIsWhole()
    }

    /// Whether there is a batch that no run works on.
    private func check(_ folder: OutputFolder) throws {
        try folder.checkHoldsBatch()
        let state = BatchLock.state(of: folder)
        // A run changes results and journal one after the other: what it is about to commit would look like faults.
        guard state.isHeld else { return }
        throw BatchError(inUse: folder, by: state)
    }

    private func text(_ report: VerificationReport) -> String {
        let lines = report.faults.map { "\($0.path): \($0.detail)" } + report.notes.map { "note: \($0)" }
        let faults = report.faults.count
        let summary =
            (part.map { "Part \($0): " } ?? "")
            + "\(counted(report.itemsChecked, "item")), \(counted(report.filesChecked, "file")), "
            + "\(ByteCount(report.bytesChecked)) read; "
            + (faults == 0 ? "all as recorded." : counted(faults, "fault") + ".")
        return (lines + [summary]).joined(separator: "\n")
    }
}
