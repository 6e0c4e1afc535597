import Synchronization

/// The results of the strips of a parallel loop, read in the order of strips once the loop has ended.
final class StripResults<Value: Sendable>: Sendable {
    private let store: Mutex<[Value?]>

    init(count: Int) { store = Mutex(Array(repeating: nil, count: count)) }

    func set(_ index: Int, _ value: Value) { store.withLock { $0[index] = value } }

    /// Of the strips that were completed.
    var values: [Value] { store.withLock { $0.compactMap(\.self) } }
}
