public import NocturneJournal

/// The numbers of a batch. They add up to the inputs.
public struct BatchCounts: Sendable, Codable, Hashable {
    /// The sum of all others.
    public var inputs = 0
    public var completed = 0
    public var failed = 0
    public var skipped = 0
    public var cancelled = 0
    public var quarantined = 0
    public var notReached = 0

    public init() {}

    /// Counts items by their states.
    public init(of items: some Sequence<JournalItem>) {
        for item in items { add(1, item.state) }
    }

    /// - Parameter numbers: of items in each state.
    package init(_ numbers: [ItemState: Int]) {
        for (state, number) in numbers { add(number, state) }
    }

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
