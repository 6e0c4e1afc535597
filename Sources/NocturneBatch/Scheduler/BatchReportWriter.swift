import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Writes what is about the whole batch, at the end of a run: the account, and what recipes have to say of all items.
struct BatchReportWriter {
    let recipes: [any Recipe]
    let journal: Journal
    let output: OutputFolder
    let description: BatchDescription
    let control: RunControl
    let progress: ProgressReporter
    let room: DiskSpaceMonitor
    let health: OutputHealth

    /// Writes whatever the journal has outdated. A full disk is waited for, and one that fails for a moment is given three
    /// more chances. Where nothing can be written the run is given up: the journal has all there is to account for.
    func bringUpToDate() async throws -> BatchCounts {
        for attempt in 0...3 {
            if let words = await health.fault() { return try await giveUp(words) }
            do {
                return try await room.whenThereIsRoom(control, progress) { try write() }
            } catch let full as BatchError where full.code == .outputFull {
                return try await giveUp(full.detail)
            } catch let fault as any SystemCallError where fault.isTransient && control.mode != .cancelled {
                guard attempt < 3 else {
                    if fault.isOutOfRoom { return try await giveUp("\(fault)") }
                    throw fault
                }
                await progress.note("the account waits: \(fault)")
                try? await Task.sleep(for: .seconds(1 << (2 * attempt)))
            }
        }
        return try write()
    }

    private func giveUp(_ words: String) async throws -> BatchCounts {
        if control.givenUp == nil { await progress.note("Stopping, without a new account: \(words).") }
        control.giveUp(words)
        return BatchCounts(of: try journal.items())
    }

    /// The account is a function of the journal, which says whether anything was written to it since the last one.
    private func write() throws -> BatchCounts {
        let written = [output.account, output.statistics, output.retryList].allSatisfy(FileSystem.exists)
        if written, try journal.isAccounted() { return BatchCounts(of: try journal.items()) }
        try FaultPoint.account.pass()
        let counts = try BatchReport(output: output, journal: journal, description: description).write()
        let completed = try journal.items().filter { $0.state == .completed }.map { output.item($0.name) }
        do {
            for recipe in recipes {
                try recipe.summarize(folders: completed, into: output.path, flag: control.flag(for: ""))
            }
        } catch is CancelledError {
            // The next run does it: the account is not marked as up to date.
            return counts
        }
        try FileSystem.flush(output.path)
        try journal.markAccounted()
        return counts
    }
}
