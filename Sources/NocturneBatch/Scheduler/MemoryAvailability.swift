package import NocturneSystem

/// Whether an item fits into the machine's memory, which other programs use too: the budget counts only what this run may
/// use.
package struct MemoryAvailability: Sendable {
    /// Whether there is memory for the item, and who could give it back.
    package enum Verdict: Hashable, Sendable {
        /// Also when waiting would be in vain: what only this process itself could give back, and what nobody knows.
        case fits
        /// The end of an active item will give it back.
        case heldByActiveItems
        case heldByOthers(availableBytes: Int)
    }

    /// What is needed.
    let bytes: Int
    /// What items that are active will still take is not among it.
    let available: Int
    /// What will come back when the active items have ended, compared with `available`.
    let heldByItems: Int
    let limit: Int
    let resident: Int
    let isAmongOthers: Bool

    /// - Parameters:
    ///   - bytes: what is needed.
    ///   - reading: of the machine and its groups, and of this process.
    ///   - leasedBytes: by the active items, without the item in question.
    ///   - engineBytes: what the process takes when nothing is active.
    ///   - isAmongOthers: whether other items are active.
    package init(bytes: Int, reading: MemoryReading, leasedBytes: Int, engineBytes: Int, isAmongOthers: Bool) {
        (self.bytes, self.isAmongOthers) = (bytes, isAmongOthers)
        limit = reading.limitBytes ?? .max / 2
        resident = reading.anonymousBytes ?? reading.residentBytes ?? 0
        let held = max(0, resident - engineBytes)
        // What was leased and is not resident yet will be taken: it is not available to others.
        let outstanding = max(0, leasedBytes - held)
        available = (reading.availableBytes ?? .max / 2) - outstanding
        heldByItems = held + outstanding
    }

    /// Without side effects: the same figures give the same verdict.
    package var verdict: Verdict {
        if available >= bytes { return .fits }
        if isAmongOthers {
            return available + heldByItems >= bytes ? .heldByActiveItems : .heldByOthers(availableBytes: available)
        }
        // Without the other programs it would not fit either: it is tried now or never.
        return bytes + resident <= limit ? .heldByOthers(availableBytes: available) : .fits
    }
}
