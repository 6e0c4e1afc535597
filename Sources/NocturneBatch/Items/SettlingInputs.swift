package import NocturneSystem

/// Which items of a watched folder have stopped changing.
///
/// The clock of a file server may differ from this machine's, so the times of a file say little about how long ago it
/// changed: an item is taken once all of its files were seen unchanged for the quiet time, counted by this machine's
/// monotonic clock. A slice that is added to a series changes the item. Only what was last touched more than a day ago is
/// taken at once.
package struct SettlingInputs: Sendable {
    private struct Observation {
        /// Of all files of the item.
        let stamps: Int
        let since: Duration
    }

    private var observations: [String: Observation] = [:]
    private static let oldSeconds = 86_400

    package init() {}

    /// Leaves out the items that may still change; a later search finds them again.
    /// - Parameters:
    ///   - quiet: how long an item must be unchanged.
    ///   - now: the monotonic time of the search.
    package mutating func settled(
        _ discovery: Discovery,
        quiet: Duration,
        at now: Duration,
        _ wallClock: WallTime
    ) -> Discovery {
        var result = discovery
        var current: [String: Observation] = [:]
        result.items.removeAll { item in
            guard !item.inputs.isEmpty else { return false }
            guard let touched = SettlingInputs.lastTouched(item) else { return true }
            if wallClock.seconds &- touched > SettlingInputs.oldSeconds { return false }
            let stamps = item.inputs.hashValue
            let since = observations[item.key].flatMap { $0.stamps == stamps ? $0.since : nil } ?? now
            current[item.key] = Observation(stamps: stamps, since: since)
            return now - since < quiet
        }
        observations = current
        return result
    }

    /// When a file of the item was last touched, in seconds since 1970; nil when one of them is gone.
    private static func lastTouched(_ item: DiscoveredItem) -> Int? {
        let times = item.inputs.map(\.touchedSeconds)
        return times.contains(nil) ? nil : times.compactMap { $0 }.max()
    }
}
