public import NocturneJournal

/// The numbers of a batch. They add up to the inputs.
public struct BatchCounts: Sendable, Codable, Hashable {
    /// The sum of all others.
    public var inputs = 0
    /// Items with a result.
    public var completed = 0
    /// Items that ended with an error.
    public var failed = 0
    /// Inputs that were set aside: not for this batch's models.
    public var skipped = 0
    /// Items that `nocturne cancel` named.
    public var cancelled = 0
    /// Items at which the engine crashed twice.
    public var quarantined = 0
    /// Items that wait or were interrupted.
    public var notReached = 0

    /// The counts of a batch without inputs.
    public init() {}

    /// Counts items by their states.
    public init(of items: some Sequence<JournalItem>) {
        for item in items { add(1, item.state) }
    }

    /// - Parameter numbers: of items in each state.
    package init(_ numbers: [ItemState: Int]) {
        for (state, number) in numbers { add(number, state) }
    }

    /// Counts items of one state; ``inputs`` grows with them, so that the sum always holds.
    package mutating func add(_ number: Int, _ state: ItemState) {
        inputs += number
        switch state {
        case .completed: completed += number
        case .failed: failed += number
        case .skipped: skipped += number
        case .cancelled: cancelled += number
        case .quarantined: quarantined += number
        case .pending, .started: notReached += number
        }
    }
}
