import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneRecipes
import NocturneSystem
import Synchronization

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read every result again, and hold it against the journal, its schema, and what it says of itself.",
        discussion: """
            Every file is hashed, every label map counted, every surface, picture and document read; the account, the \
            retry list, the statistics and the events have to be what the journal says. Leaves with 3 when something is \
            not as it should be. No model is needed.
            """
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @Option(help: "Items to look at at a time. Default: the cores there are.")
    var threads: Int?

    @Flag(help: "Note sources that are gone, or were changed after their results were made.")
    var sources = false

    @Flag(help: "As JSON.")
    var json = false

    func validate() throws {
        if let threads, !(1...1024).contains(threads) {
            throw ValidationError("--threads takes a number from 1 to 1024, not \(threads)")
        }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try ExistingBatch.description(of: folder)
        if let process = BatchLock.holder(of: folder) {
            throw BatchError(.outputInUse, path: folder.path, detail: "process \(process) is working on this batch")
        }
        let flag = CancellationFlag()
        let signal = Mutex<Int32?>(nil)
        SignalListener.start([SIGINT, SIGTERM]) { number in
            signal.withLock { $0 = $0 ?? number }
            flag.cancel()
        }
        let pool = ComputePool(width: threads ?? ProcessInfo.processInfo.activeProcessorCount)
        defer { pool.shutdown() }
        let count = Terminal.isInteractive && !json ? CountOnTerminal("items read again") : nil
        let verification = BatchVerification(folder, inspection: RecipeResults(), looksAtSources: sources)
        let report: VerificationReport
        do {
            report = try await pool.run {
                try verification.run(scope: ComputeScope(pool: pool, flag: flag)) { done, all in
                    count?.show(done, of: all)
                }
            }
            count?.clear()
        } catch is CancelledError {
            count?.clear()
            throw signal.withLock { $0 } == SIGTERM ? NocturneExit.terminated : NocturneExit.interrupted
        }
        if json { try Terminal.printJSON(report) } else { print(text(report)) }
        if !report.faults.isEmpty { throw NocturneExit.someFailed }
    }

    private func text(_ report: VerificationReport) -> String {
        let lines = report.faults.map { "\($0.path): \($0.detail)" } + report.notes.map { "note: \($0)" }
        let faults = report.faults.count
        let summary =
            "\(report.itemsChecked) items, \(report.filesChecked) files, \(report.bytesChecked) bytes read; "
            + (faults == 0 ? "all as recorded." : faults == 1 ? "1 fault." : "\(faults) faults.")
        return (lines + [summary]).map(EventText.printable).joined(separator: "\n")
    }
}

/// A count on one line of the terminal, for work of unknown length: nothing in the first second.
final class CountOnTerminal: Sendable {
    private let what: String
    private let begun = ContinuousClock.now
    private let shown = Mutex<ContinuousClock.Instant?>(nil)

    init(_ what: String) { self.what = what }

    func show(_ done: Int, of all: Int) {
        let now = ContinuousClock.now
        guard now - begun > .seconds(1) else { return }
        let isDue = shown.withLock { last in
            guard last.map({ now - $0 > .milliseconds(200) }) ?? true else { return false }
            last = now
            return true
        }
        if isDue { Terminal.write("\r\u{1B}[K\(done) of \(all) \(what)") }
    }

    func clear() {
        if shown.withLock({ $0 != nil }) { Terminal.write("\r\u{1B}[K") }
    }
}
