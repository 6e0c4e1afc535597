/// What part of an item's time its stages take: as measured in this run, and until an item has ended, as of a large CT.
package struct StageWeights: Sendable, Equatable {
    private var seconds: [Stage: Double] = [
        .load: 0.05, .prepare: 0.05, .infer: 0.75, .finish: 0.05, .render: 0.05, .write: 0.05,
    ]
    private var items = 0

    /// The weights of a large CT, until an item has ended.
    package init() {}

    /// An item has ended; a recipe may lack some of the stages.
    package mutating func add(_ stages: [Stage: Double]) {
        if items == 0 { seconds = [:] }
        items += 1
        seconds.merge(stages) { $0 + $1 }
    }

    /// The share of an item's time that is over, 0 to 1.
    /// - Parameters:
    ///   - stage: the one that it is in, or that it waits for.
    ///   - tiles: the share of its tiles that is done.
    ///   - elapsed: the seconds that it has spent in the stage.
    package func share(in stage: Stage, tiles: Double, elapsed: Double) -> Double {
        let all = seconds.values.reduce(0, +)
        guard all > 0 else { return tiles }
        let before = seconds.filter { $0.key < stage }.values.reduce(0, +)
        let own = seconds[stage] ?? 0
        // Before the first item has ended, the seconds are shares, with which none can be compared.
        let expected = own / Double(items)
        let part = stage == .infer ? tiles : expected > 0 ? min(elapsed / expected, 1) : 0
        return min(1, (before + part * own) / all)
    }
}

/// Where the items of a run have come to since the reporter last looked, in order.
package struct ItemMoves: Sendable {
    /// What has become of an item.
    package enum Change: Sendable {
        case entered(Stage)
        case left(Stage)
        /// The part of the inference that is done, 0 to 1.
        case stepped(share: Double)
    }

    /// One change of one item.
    package struct Move: Sendable {
        /// Of the item in the journal.
        package let id: Int64
        /// What has become of it.
        package let change: Change
        /// Of the monotonic clock.
        package let time: Duration

        /// - Parameters:
        ///   - id: of the item in the journal.
        ///   - change: what has become of it.
        ///   - time: of the monotonic clock.
        package init(id: Int64, change: Change, time: Duration) {
            self.id = id
            self.change = change
            self.time = time
        }
    }

    private var moves: [Move] = []
    private var lastRefresh: Duration
    private static let refreshInterval = Duration.milliseconds(200)

    /// The first view is due after the interval that begins at this time.
    package init(since start: Duration) { lastRefresh = start }

    /// - Returns: whether a view is due: a few times a second at most, and not because an item has left a stage.
    package mutating func add(_ move: Move) -> Bool {
        moves.append(move)
        if case .left = move.change { return false }
        guard move.time - lastRefresh > Self.refreshInterval else { return false }
        lastRefresh = move.time
        return true
    }

    /// The moves since the last call.
    package mutating func take() -> [Move] {
        defer { moves = [] }
        return moves
    }
}
