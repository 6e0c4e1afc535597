/// The decisions of a ``PressureGate``, without locks or tasks.
///
/// Invariants, checked by the tests after every input: unless the run is paused, no ticket waits below critical, and at critical the
/// oldest registered ticket does not wait. While it is paused, nobody passes.
package struct PressureGateStateMachine: Hashable, Sendable {
    /// Tickets are ordered by sequence, then by registration number.
    package struct Ticket: Hashable, Sendable, Comparable {
        /// The age of the item: lower is older.
        package let sequence: Int
        /// The order of registration, which decides between equal sequences.
        package let registration: UInt64

        /// - Parameters:
        ///   - sequence: lower for items that began earlier.
        ///   - registration: not used before at this gate.
        package init(sequence: Int, registration: UInt64) {
            self.sequence = sequence
            self.registration = registration
        }

        /// Older tickets come first.
        package static func < (left: Ticket, right: Ticket) -> Bool {
            (left.sequence, left.registration) < (right.sequence, right.registration)
        }
    }

    /// The level that was set last.
    package private(set) var level = PressureLevel.normal
    /// Whether everybody waits, whatever the level is.
    package private(set) var isPaused = false
    /// All registered tickets, waiting or not.
    package private(set) var tickets: Set<Ticket> = []
    /// Suspended passes, and the tickets they belong to.
    package private(set) var waiters: [UInt64: Ticket?] = [:]

    /// A gate at the level normal, without tickets.
    package init() {}

    /// The ticket that continues at critical; nil without tickets. O(n) in the tickets, of which there is one per
    /// active item.
    package var oldest: Ticket? { tickets.min() }

    /// A new ticket may be older than the one that continues alone; that one then stops at its next tile.
    package mutating func register(_ ticket: Ticket) { tickets.insert(ticket) }

    /// - Returns: The waiters that continue, in no particular order.
    package mutating func unregister(_ ticket: Ticket) -> [UInt64] {
        tickets.remove(ticket)
        return wake()
    }

    /// What the caller of ``pass(_:id:)`` does.
    package enum PassAction: Hashable {
        case go
        /// The caller waits until another input returns its id.
        case wait
    }

    /// Lets a ticket pass, or registers the pass under `id`. Without a ticket only a pause makes it wait.
    package mutating func pass(_ ticket: Ticket?, id: UInt64) -> PassAction {
        if mayPass(ticket) { return .go }
        waiters.updateValue(ticket, forKey: id)
        return .wait
    }

    /// - Returns: The waiters that continue, in no particular order.
    package mutating func setLevel(_ level: PressureLevel) -> [UInt64] {
        self.level = level
        return wake()
    }

    /// - Returns: The waiters that continue, in no particular order.
    package mutating func setPaused(_ isPaused: Bool) -> [UInt64] {
        self.isPaused = isPaused
        return wake()
    }

    /// - Returns: Whether the waiter was still registered and must be resumed.
    package mutating func cancel(id: UInt64) -> Bool { waiters.removeValue(forKey: id) != nil }

    private func mayPass(_ ticket: Ticket?) -> Bool {
        if isPaused { return false }
        // An unregistered ticket never blocks other tickets and is never blocked.
        guard level == .critical, let ticket, tickets.contains(ticket) else { return true }
        return ticket == oldest
    }

    private mutating func wake() -> [UInt64] {
        let going = waiters.filter { mayPass($0.value) }.map(\.key)
        for id in going { waiters.removeValue(forKey: id) }
        return going
    }
}
