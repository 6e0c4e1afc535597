package import NocturneJournal
package import NocturneOutput
package import NocturneSystem

/// Which items of a watched folder have stopped changing.
///
/// The clock of a file server may differ from this machine's, so the times of a file show little about how long ago it
/// changed: an item is taken once all of its files were seen unchanged for the quiet time, counted by this machine's
/// monotonic clock. A slice that is added to a series changes the item. Only what was last touched more than a day ago is
/// taken at once.
///
/// Files may come with pauses that are longer than the quiet time. An item that has changed after such a pause must be
/// unchanged for twice as long as its longest pause, and one that would be refused, as a series with a gap is, for ten quiet
/// times: until then a note states that it seems incomplete. Once an item was taken, only files that are added within ten quiet
/// times are still part of its arrival: the time until any other change is not counted as a pause.
package struct SettlingInputs: Sendable {
    private struct Observation {
        /// Of all files of the item.
        var stamps: Int
        var files: Int
        var since: Duration
        /// The longest time without a change before a change, of those longer than the quiet time.
        var longestPause = Duration.zero
        /// Whether the item was taken as it is now.
        var isTaken = false

        /// How long the item must be unchanged.
        func patience(_ problem: ItemProblem?, quiet: Duration) -> Duration {
            if case .refused = problem { return max(quiet * SettlingInputs.refusedFactor, longestPause * 2) }
            return max(quiet, longestPause * 2)
        }
    }

    private let quiet: Duration
    private let identifiers: IdentifierPolicy
    private var observations: [String: Observation] = [:]
    /// How many items the last search has left out.
    package private(set) var waiting = 0

    private static let oldSeconds = 86_400
    private static let refusedFactor = 10

    /// - Parameter quiet: how long an item must be unchanged.
    package init(quiet: Duration, identifiers: IdentifierPolicy) {
        self.quiet = quiet
        self.identifiers = identifiers
    }

    /// Leaves out the items that may still change; a later search finds them again.
    /// - Parameter now: the monotonic time of the search.
    /// - Returns: notes about those that seem incomplete.
    package mutating func settle(_ table: FoundTable, at now: Duration, _ wallClock: WallTime) throws -> [String] {
        var notes: [String] = []
        var current: [String: Observation] = [:]
        var waiting = 0
        try table.removeAll { item in
            guard !item.inputs.isEmpty else { return false }
            let isWaiting = mayChange(item, at: now, wallClock, &current, &notes)
            if isWaiting { waiting += 1 }
            return isWaiting
        }
        (observations, self.waiting) = (current, waiting)
        return notes
    }

    private func mayChange(
        _ item: DiscoveredItem,
        at now: Duration,
        _ wallClock: WallTime,
        _ current: inout [String: Observation],
        _ notes: inout [String]
    ) -> Bool {
        guard let touched = SettlingInputs.lastTouched(item) else { return true }
        if wallClock.seconds &- touched > SettlingInputs.oldSeconds { return false }
        var seen = observation(of: item, at: now)
        defer { current[item.key] = seen }
        let unchanged = now - seen.since
        guard unchanged < seen.patience(item.problem, quiet: quiet) else {
            seen.isTaken = true
            return false
        }
        if observations[item.key]?.isTaken == true, !seen.isTaken { notes.append(changed(item)) }
        if unchanged >= quiet, case .refused(let reason) = item.problem { notes.append(incomplete(item, reason)) }
        return true
    }

    private func observation(of item: DiscoveredItem, at now: Duration) -> Observation {
        let stamps = item.inputs.hashValue
        let new = Observation(stamps: stamps, files: item.inputs.count, since: now)
        guard var seen = observations[item.key] else { return new }
        if seen.stamps != stamps {
            let pause = now - seen.since
            let isArriving = item.inputs.count > seen.files && pause <= quiet * SettlingInputs.refusedFactor
            if seen.isTaken, !isArriving { return new }
            if pause > quiet { seen.longestPause = max(seen.longestPause, pause) }
            seen = Observation(stamps: stamps, files: item.inputs.count, since: now, longestPause: seen.longestPause)
        }
        return seen
    }

    private func incomplete(_ item: DiscoveredItem, _ reason: ItemReason) -> String {
        let names = ShownNames(identifiers, words: item.words)
        let text = names.shown(reason.sentence, of: [item.path])
        return "\(names.shown(item.path)): seems incomplete, waiting for more files: \(text)"
    }

    private func changed(_ item: DiscoveredItem) -> String {
        let name = ShownNames(identifiers, words: item.words).shown(item.path)
        return "\(name): has changed since it was taken, waiting until it stops changing"
    }

    /// When a file of the item was last touched, in seconds since 1970; nil when one of them is gone.
    private static func lastTouched(_ item: DiscoveredItem) -> Int? {
        let times = item.inputs.map(\.touchedSeconds)
        return times.contains(nil) ? nil : times.compactMap { $0 }.max()
    }
}
