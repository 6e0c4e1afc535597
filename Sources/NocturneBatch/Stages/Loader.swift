import NocturneConcurrency
import NocturneSystem

/// Decodes an item's source into memory, on threads that may wait for the disk.
actor Loader<Source: Sendable, Loaded: Sendable>: StageActor {
    nonisolated let link: StageLink<Source, Loaded>
    var active = ActiveItems()
    private let load: StageFunction<Source, Loaded>

    /// Two at once: while one waits for the disk the other decodes.
    nonisolated var workers: Int { 2 }

    init(_ link: StageLink<Source, Loaded>, _ load: @escaping StageFunction<Source, Loaded>) {
        self.link = link
        self.load = load
    }

    func work(on message: StageMessage<Source>) async throws -> Loaded {
        try await link.environment.blocking.run { [load] in
            let item = message.item
            try FaultPoint.stage.pass(of: item.item.name)
            let loaded = try load(message.payload, item.item, item.context)
            // What was read while it was being replaced is not what the fingerprint was made of.
            try item.checkInputs()
            return loaded
        }
    }
}
