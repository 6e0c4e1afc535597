import NocturneConcurrency
import NocturneJournal
import NocturneSystem

/// Writes an item's files into staging and hands the folder to the committer.
actor Writer<Rendered: Sendable>: StageActor {
    typealias Write = @Sendable (consuming Rendered, String, RecipeItem, StageContext) throws -> ItemProduct

    nonisolated let link: StageLink<Rendered, ItemProduct>
    var active = ActiveItems()
    private let write: Write
    private let facts: RunFacts

    /// Many at once, so that the commits of small items meet and share one flush.
    nonisolated var workers: Int { 16 }

    init(_ link: StageLink<Rendered, ItemProduct>, facts: RunFacts, _ write: @escaping Write) {
        self.link = link
        self.facts = facts
        self.write = write
    }

    func work(on message: StageMessage<Rendered>) async throws -> ItemProduct {
        let time = link.environment.time
        // Without the time of pauses, as all other stages measure.
        let gate = link.environment.gate
        let begun = gate.workTime - .seconds(active.seconds(of: message.item.id, at: gate.workTime))
        return try await link.environment.blocking.run { [write, facts] in
            let item = message.item
            try FaultPoint.stage.pass(of: item.item.name)
            // A source that changed while it was processed has no valid result.
            try item.checkInputs()
            let folder = item.stagedResult
            try FileSystem.makeFolder(item.context.staging)
            try FileSystem.makeEmptyFolder(folder)
            let product = try write(message.payload, folder, item.item, item.context)
            var seconds = message.seconds
            seconds[.write] = (gate.workTime - begun).inSeconds
            let report = try facts.report(
                seconds: seconds,
                itemPeakBytes: item.plan.peak(),
                finishedAt: time.wallClock.timestamp
            )
            try FileSystem.write(folder + "/run.json", report)
            return product
        }
    }
}

extension ActiveItem {
    /// The folder in staging that becomes the item's result.
    var stagedResult: String { context.staging + "/result" }
}
