/// The decisions of a ``PressureGate``, without locks or tasks.
///
/// Invariants, checked by the tests after every input: unless the run is paused, every ticket may pass below critical, and at critical
/// the oldest registered ticket may. While it is paused, nobody passes.
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
    package var level = PressureLevel.normal
    /// Whether everybody waits, whatever the level is.
    package var isPaused = false
    /// All registered tickets.
    package private(set) var tickets: Set<Ticket> = []

    /// A gate at the level normal, without tickets.
    package init() {}

    /// The ticket that continues at critical; nil without tickets. O(n) in the tickets, of which there is one per
    /// active item.
    package var oldest: Ticket? { tickets.min() }

    /// A new ticket may be older than the one that continues alone; that one then stops at its next tile.
    package mutating func register(_ ticket: Ticket) { tickets.insert(ticket) }

    /// Another ticket may then be the oldest.
    package mutating func unregister(_ ticket: Ticket) { tickets.remove(ticket) }

    /// Whether a pass with this ticket goes on now. Without a ticket only a pause makes it wait.
    package func mayPass(_ ticket: Ticket?) -> Bool {
        if isPaused { return false }
        // An unregistered ticket never blocks other tickets and is never blocked.
        guard level == .critical, let ticket, tickets.contains(ticket) else { return true }
        return ticket == oldest
    }
}
