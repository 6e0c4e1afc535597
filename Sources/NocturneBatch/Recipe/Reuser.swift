import NocturneConcurrency
import NocturneJournal
import NocturneSystem

/// Copies results of other batches into staging, in place of all stages, and hands them to the committer.
actor Reuser: StageActor {
    /// A result, and how it is recognized.
    struct Request: Sendable {
        let result: ReusableResult
        /// `Recipe.recognize` of the item's recipe, with its fingerprint.
        let recognize: @Sendable (_ folder: String) throws -> ItemProduct?
    }

    nonisolated let link: StageLink<Request, ItemProduct>

    /// As many as those of the writer, so that their commits share one flush.
    nonisolated var workers: Int { 16 }

    init(_ environment: StageEnvironment, _ committer: Committer) {
        link = StageLink(
            stage: .write,
            input: BoundedChannel(items: 16),
            environment: environment,
            send: { await committer.commit($0) },
            finish: {}
        )
    }

    /// The plan of an item whose result is taken: it needs no memory, and has no tiles.
    nonisolated func plan(_ source: DiscoveredSource, _ request: Request) -> PlannedItem {
        let plan = ItemPlan(buffers: [], steps: 0, diskBytes: request.result.bytes)
        return PlannedItem(source: source, plan: plan) { [input = link.input] active in
            try await input.send(StageMessage(item: active, payload: request))
        }
    }

    /// No further item will be started.
    nonisolated func finishRequests() { link.input.finish() }

    func work(on message: StageMessage<Request>) async throws -> ItemProduct {
        try await link.environment.blocking.run {
            let (item, request) = (message.item, message.payload)
            try FaultPoint.stage.pass(of: item.item.name)
            try item.checkInputs()
            let folder = try item.makeStagedResult()
            return try request.result.copy(to: folder, flag: item.flag, recognize: request.recognize)
        }
    }
}
