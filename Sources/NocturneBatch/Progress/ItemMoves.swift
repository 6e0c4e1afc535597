/// Where the items of a run have come to since the reporter last looked, in order.
package struct ItemMoves: Sendable {
    package enum Change: Sendable {
        case entered(Stage)
        case left(Stage)
        /// The part of the inference that is done, 0 to 1.
        case stepped(share: Double)
    }

    package struct Move: Sendable {
        package let id: Int64
        package let change: Change
        /// Of the monotonic clock.
        package let time: Duration

        package init(id: Int64, change: Change, time: Duration) {
            self.id = id
            self.change = change
            self.time = time
        }
    }

    private var moves: [Move] = []
    private var lastRefresh: Duration
    private static let refreshInterval = Duration.milliseconds(200)

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
