import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneSupervisor

extension EngineCommand {
    /// Shows what changed options affect in the batch, and asks on a terminal whether to continue.
    ///
    /// The user is asked where the command line does not confirm changed options, where results are made again
    /// that take long (with inference, or more than a minute), and where labels that people have edited may be replaced.
    /// - Returns: whether the user wants to continue.
    /// - Throws: ``NocturneExit/stoppedEarly`` when the user does not.
    func confirmChanges() throws -> Bool {
        // Only the first process asks, and not while a run is active: the engine would refuse in any case.
        guard let consent, folder.holdsBatch, ProcessHandover.received == nil, !BatchLock.state(of: folder).isHeld
        else { return false }
        let isAsking = consent.mayAsk && Terminal.canAsk
        // Without either the engine refuses at once, or nobody reads it.
        guard isAsking || consent.isGiven && !show.quiet else { return false }
        // In another process, which may start threads: the supervisor is to have none.
        guard ChangePreview.run(Program.arguments) == ChangePreview.asking, isAsking else { return false }
        guard Terminal.ask("Continue?") else {
            Terminal.printMessage("Nothing was changed.")
            throw NocturneExit.stoppedEarly
        }
        return true
    }

    /// The process that shows the changes.
    /// - Returns: its exit code. Errors are left to the engine, which reports them.
    func previewChanges() async -> Int32 {
        // What cannot be read is reported by the engine, with the right exit code.
        guard let consent, let report = try? await changes(), let batch = report.batch else { return 0 }
        let edits = Dictionary(
            grouping: (try? await ExistingBatch.editsInUse(folder)) ?? [],
            by: \.item
        )
        var replaced: [LabelEdit] = []
        var seconds = 0.0
        try? report.items.forEach { item in
            guard [.repeat, .remake].contains(item.state) else { return }
            seconds += item.seconds ?? 0
            replaced += edits[item.item] ?? []
        }
        Terminal.printMessage(PlanText.changes(batch) + "\n" + Self.text(batch, seconds))
        if !replaced.isEmpty { Terminal.printMessage(replaced.lossWarning) }
        let isLong = batch.count(.repeat) > 0 || batch.withdrawn > 0 || seconds > Self.shortSeconds
        return !consent.isGiven || isLong || !replaced.isEmpty ? ChangePreview.asking : 0
    }

    /// Results that are made again in this time are not worth a question.
    private static var shortSeconds: Double { 60 }

    /// Nil when no result can be affected: the engine reports what is new.
    private func changes() async throws -> PlanReport? {
        let description = try await description()
        let earlier = try await ExistingBatch.description(of: folder)
        guard !description.changes(from: earlier).differences.isEmpty else { return nil }
        let batch = try await PlannedBatch.read(folder)
        return try await PlanReport(
            description,
            resources.machine.limits,
            existing: PlanReport.Existing(batch, retries: retries),
            reuse: resources.attachments.reusedBatches
        )
    }

    private static func text(_ batch: PlanReport.Batch, _ seconds: Double) -> String {
        let (again, remade) = (batch.count(.repeat), batch.count(.remake))
        var lines: [String] = []
        if batch.withdrawn > 0 { lines.append(PlanText.withdrawn(batch.withdrawn)) }
        guard again + remade > 0 else {
            return (lines + ["No result is made again."]).joined(separator: "\n")
        }
        let all = again + remade + batch.count(.completed)
        let how =
            remade == 0
            ? "with inference" : again == 0 ? "without inference" : "\(again) with and \(remade) without inference"
        lines.append(
            "\(again + remade) of \(all) results are made again, \(how); about \(EventText.duration(seconds))."
        )
        return lines.joined(separator: "\n")
    }
}
