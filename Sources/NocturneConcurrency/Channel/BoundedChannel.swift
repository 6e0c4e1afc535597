import Synchronization

/// Thrown by `send` after ``BoundedChannel/finish()``; it carries no element, because the sender still owns it.
public struct ChannelFinished: Error, Sendable, CustomStringConvertible {
    /// The fact alone: which stage had finished the channel is known to whoever sends.
    public var description: String { "the channel was finished, nothing more can be sent" }
}

/// A first-in first-out queue between two pipeline stages, with a hard bound in items. Memory is bounded by
/// the leases of a ``MemoryBudget``.
///
/// Any number of tasks may send and receive. Sends are served in the order in which they arrived, and so are receives.
/// Elements of waiting sends are not counted: they still belong to the sender.
///
/// A cancelled send throws, so an element is either delivered or still with its sender. `AsyncChannel` of
/// swift-async-algorithms returns from a cancelled send without sending, and `AsyncStream` has no bound for its senders.
///
/// ```swift
/// let channel = BoundedChannel<[Float]>(items: 8)
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask {
///         for slice in slices { try await channel.send(slice) }
///         channel.finish()
///     }
///     group.addTask {
///         while let slice = try await channel.receive() { try store(slice) }
///     }
///     // The first error cancels the other task, which then throws from its send or receive.
///     try await group.waitForAll()
/// }
/// ```
public final class BoundedChannel<Element: Sendable>: Sendable {
    private typealias Machine = BoundedChannelStateMachine<Element>

    private struct State {
        var machine: Machine
        var nextID: ChannelWaiterID = 0
        var senders: [ChannelWaiterID: CheckedContinuation<Void, any Error>] = [:]
        var receivers: [ChannelWaiterID: CheckedContinuation<Element?, any Error>] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter items: The maximum number of elements in the buffer, at least 1.
    public init(items: Int) { state = Mutex(State(machine: Machine(itemLimit: items))) }

    /// The number of elements in the buffer; for tests.
    package var occupancy: Int { state.withLock { $0.machine.bufferedCount } }

    /// The number of sends and receives that wait now; for tests.
    package var waiting: (senders: Int, receivers: Int) { state.withLock { ($0.senders.count, $0.receivers.count) } }

    /// Puts `element` into the buffer or passes it to a waiting receiver; waits until there is space.
    ///
    /// When this throws, the element was not sent: no receiver will get it.
    /// - Throws: `CancellationError` when the task was cancelled before the element was accepted, and
    ///   ``ChannelFinished`` after ``finish()``.
    public nonisolated(nonsending) func send(_ element: Element) async throws {
        let id = newID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                beginSend(element, id: id, continuation)
            }
        } onCancel: {
            cancelSend(id)
        }
    }

    /// Returns the oldest element, or nil once the channel is finished and empty.
    ///
    /// A cancelled receive removes no element.
    /// - Throws: `CancellationError` when the task was cancelled before an element arrived.
    public nonisolated(nonsending) func receive() async throws -> Element? {
        let id = newID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Element?, any Error>) in
                beginReceive(id: id, continuation)
            }
        } onCancel: {
            cancelReceive(id)
        }
    }

    /// Marks the end of the input. Elements already sent, and those of sends that already wait, are still delivered;
    /// after that `receive` returns nil. Further calls do nothing.
    public func finish() {
        let receivers = state.withLock { state in
            state.machine.finish().compactMap { state.receivers.removeValue(forKey: $0) }
        }
        for receiver in receivers { receiver.resume(returning: nil) }
    }

    private func newID() -> ChannelWaiterID {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    private func beginSend(
        _ element: Element,
        id: ChannelWaiterID,
        _ continuation: CheckedContinuation<Void, any Error>
    ) {
        // An earlier cancellation is detected here, under the lock; a later one finds the waiter.
        let (outcome, receiver) = state.withLock {
            state -> (Result<Void, any Error>?, CheckedContinuation<Element?, any Error>?) in
            if Task.isCancelled { return (.failure(CancellationError()), nil) }
            switch state.machine.send(element, id: id) {
            case .accept: return (.success(()), nil)
            case .deliver(let receiver): return (.success(()), state.receivers.removeValue(forKey: receiver))
            case .reject: return (.failure(ChannelFinished()), nil)
            case .wait:
                state.senders[id] = continuation
                return (nil, nil)
            }
        }
        receiver?.resume(returning: element)
        if let outcome { continuation.resume(with: outcome) }
    }

    private func beginReceive(id: ChannelWaiterID, _ continuation: CheckedContinuation<Element?, any Error>) {
        let (outcome, sender) = state.withLock {
            state -> (Result<Element?, any Error>?, CheckedContinuation<Void, any Error>?) in
            if Task.isCancelled { return (.failure(CancellationError()), nil) }
            switch state.machine.receive(id: id) {
            case .deliver(let element, let admitted):
                return (.success(element), admitted.flatMap { state.senders.removeValue(forKey: $0) })
            case .end: return (.success(nil), nil)
            case .wait:
                state.receivers[id] = continuation
                return (nil, nil)
            }
        }
        sender?.resume()
        if let outcome { continuation.resume(with: outcome) }
    }

    private func cancelSend(_ id: ChannelWaiterID) {
        let sender = state.withLock { $0.machine.cancelSend(id: id) ? $0.senders.removeValue(forKey: id) : nil }
        sender?.resume(throwing: CancellationError())
    }

    private func cancelReceive(_ id: ChannelWaiterID) {
        let receiver = state.withLock { $0.machine.cancelReceive(id: id) ? $0.receivers.removeValue(forKey: id) : nil }
        receiver?.resume(throwing: CancellationError())
    }
}
