import Foundation
import NocturneBatch
import NocturneOutput
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

extension EngineCommand {
    /// Shows what changed options affect in the batch, and asks on a terminal whether to continue.
    ///
    /// The user is asked where the command line does not confirm changed options, where results are made again
    /// that take long (with inference, or more than a minute), and where labels that people have edited or titles that they have
    /// imported are lost.
    /// - Returns: whether the engine need not refuse the changes: the user wants to continue, or the options are named on the
    ///   command line and no work of people is lost.
    /// - Throws: ``NocturneExit/stoppedEarly`` when the user does not want to continue.
    func confirmChanges() throws -> Bool {
        // Only the first process asks, and not while a run is active: the engine would refuse in any case.
        guard let consent, folder.holdsBatch, ProcessHandover.received == nil, !BatchLock.state(of: folder).isHeld
        else { return false }
        let isAsking = consent.mayAsk && Terminal.canAsk
        // Otherwise the engine refuses at once, or all is confirmed and nobody reads it.
        guard isAsking || consent.isGiven && (consent.mayAsk || !show.quiet) else { return false }
        // In another process, which may start threads: the supervisor is to have none.
        let effect = ChangePreview.run(Program.arguments).flatMap(ChangePreview.Effect.init)
        guard isAsking, effect == .long || effect == .losses else {
            return consent.isGiven && (effect == .short || effect == .long)
        }
        guard Terminal.ask("Continue?") else {
            Terminal.printMessage("Nothing was changed.")
            throw NocturneExit.stoppedEarly
        }
        return true
    }

    /// The process that shows the changes.
    /// - Returns: nil for an error, which is left to the engine: it reports what cannot be read, with the right exit code.
    func previewChanges() async -> ChangePreview.Effect? {
        let report: PlanReport?
        do { report = try await changes() } catch { return nil }
        guard let consent, let batch = report?.batch else { return .short }
        var seconds = 0.0
        try? report?.items.forEach { item in
            if [.repeat, .remake].contains(item.state) { seconds += item.seconds ?? 0 }
        }
        let isLong = batch.count(.repeat) > 0 || batch.withdrawn > 0 || seconds > Self.shortSeconds
        let effect: ChangePreview.Effect =
            !PlanText.losses(batch).isEmpty ? .losses : isLong || !consent.isGiven ? .long : .short
        if effect != .short || !show.quiet {
            Terminal.printMessage(PlanText.changes(batch) + "\n" + Self.text(batch, seconds))
        }
        return effect
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
        lines += PlanText.losses(batch)
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
