import NocturneConcurrency
import NocturneJournal
import NocturneSystem

/// Copies results of other batches into staging, in place of all stages, and hands them to the committer.
struct Reuser {
    /// A result, and how it is recognized.
    struct Request: Sendable {
        let result: ReusableResult
        /// `Recipe.recognize` of the item's recipe, with its fingerprint.
        let recognize: @Sendable (_ folder: String) throws -> ItemProduct?
    }

    let stage: BlockingStage<Request, ItemProduct>

    init(_ environment: StageEnvironment, _ committer: Committer) {
        // As many as those of the writer, so that their commits share one flush.
        let workers = 16
        let link = StageLink<Request, ItemProduct>(from: BoundedChannel(items: workers), to: committer, environment)
        stage = BlockingStage(link, workers: workers) { message, _ in
            let (item, request) = (message.item, message.payload)
            try item.checkInputs()
            let folder = try item.makeStagedResult()
            return try request.result.copy(to: folder, flag: item.flag, recognize: request.recognize)
        }
    }

    /// The plan of an item whose result is taken: it needs no memory, and has no tiles.
    func plan(_ source: DiscoveredSource, _ request: Request) -> PlannedItem {
        let plan = ItemPlan(buffers: [], steps: 0, diskBytes: request.result.bytes)
        return PlannedItem(source: source, plan: plan) { [input = stage.link.input] active in
            try await input.send(StageMessage(item: active, payload: request))
        }
    }

    /// No further item will be started.
    func finishRequests() { stage.link.input.finish() }
}
