import ArgumentParser
import Foundation
import NocturneBatch
import NocturneRecipes
import NocturneSupervisor

/// How a command continues a batch with changed options.
struct ChangeConsent {
    /// Whether the command line says that they are meant; otherwise the user is asked, or the run is refused.
    var isGiven: Bool
    /// Whether the user may be asked.
    var mayAsk: Bool
}

/// The option that answers the question.
struct ConsentArguments: ParsableArguments {
    @Flag(help: "Continue with changed options without asking.")
    var yes = false
}

extension EngineCommand {
    /// Says what changed options affect in the batch, and asks on a terminal whether to continue.
    ///
    /// The user is asked where the command line does not say that changed options are meant, and where results are made again
    /// that take long: with inference, or more than a minute.
    /// - Returns: whether the user wants to continue.
    /// - Throws: ``NocturneExit/stoppedEarly`` when the user does not.
    func confirmChanges() throws -> Bool {
        guard let consent, folder.holdsBatch, ProcessHandover.received == nil, !BatchLock.state(of: folder).isHeld
        else { return false }
        let isAsking = consent.mayAsk && Terminal.canAsk
        // Without either the engine refuses at once, or nobody reads it.
        guard isAsking || consent.isGiven && !show.quiet else { return false }
        guard ChangePreview.run(Nocturne.arguments) == ChangePreview.asking, isAsking else { return false }
        guard Terminal.ask("Continue?") else {
            Terminal.printMessage("Nothing was changed.")
            throw NocturneExit.stoppedEarly
        }
        return true
    }

    /// The process that says it.
    /// - Returns: its exit code. Errors are left to the engine, which reports them.
    func previewChanges() async -> Int32 {
        guard let consent, let report = try? await changes(), let batch = report.batch else { return 0 }
        let changed = report.items.filter { [.repeat, .remake].contains($0.state) }
        let seconds = changed.reduce(0) { $0 + ($1.seconds ?? 0) }
        Terminal.printMessage(PlanText.changes(batch) + "\n" + Self.text(batch, seconds))
        let isLong = batch.count(.repeat) > 0 || seconds > Self.shortSeconds
        return !consent.isGiven || isLong ? ChangePreview.asking : 0
    }

    /// Results that are made again in this time are not worth a question.
    private static var shortSeconds: Double { 60 }

    /// Nil when nothing has changed.
    private func changes() async throws -> PlanReport? {
        let description = try await description()
        let earlier = try await ExistingBatch.description(of: folder)
        guard !description.differences(from: earlier).isEmpty else { return nil }
        let recorded = try await RecordedItems.read(folder)
        return try await PlanReport(
            description,
            resources.limits,
            existing: PlanReport.Existing(recorded, retries: retries)
        )
    }

    private static func text(_ batch: PlanReport.Batch, _ seconds: Double) -> String {
        let (again, remade) = (batch.count(.repeat), batch.count(.remake))
        guard again + remade > 0 else { return "No result is made again." }
        let all = again + remade + batch.count(.completed)
        let how =
            remade == 0
            ? "with inference" : again == 0 ? "without inference" : "\(again) with and \(remade) without inference"
        return "\(again + remade) of \(all) results are made again, \(how); about \(EventText.duration(seconds))."
    }
}
