import Synchronization

/// Thrown by `send` after ``BoundedChannel/finish()``; it carries no element, because the sender still owns it.
public struct ChannelFinished: Error, Sendable, CustomStringConvertible {
    /// The fact alone: which stage had finished the channel is known to whoever sends.
    public var description: String { "the channel was finished, nothing more can be sent" }
}

/// A first-in first-out queue between two pipeline stages, with hard bounds in items and in bytes.
///
/// Any number of tasks may send and receive. Sends are served in the order in which they arrived, whatever their size,
/// and so are receives. The buffer never exceeds either bound, with one exception: an element larger than the byte
/// bound is accepted when the buffer is empty, because it could never be sent otherwise. Elements of waiting sends are
/// not counted: they still belong to the sender.
///
/// A cancelled send throws, so an element is either delivered or still with its sender. `AsyncChannel` of
/// swift-async-algorithms returns from a cancelled send without sending, and `AsyncStream` has no bound for its senders.
///
/// ```swift
/// let channel = BoundedChannel<[Float]>(items: 8, bytes: 64 << 20)
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask {
///         for slice in slices { try await channel.send(slice, cost: slice.count * 4) }
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

        mutating func takeSenders(_ ids: [ChannelWaiterID]) -> [CheckedContinuation<Void, any Error>] {
            ids.compactMap { senders.removeValue(forKey: $0) }
        }

        mutating func takeReceivers(_ ids: [ChannelWaiterID]) -> [CheckedContinuation<Element?, any Error>] {
            ids.compactMap { receivers.removeValue(forKey: $0) }
        }
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - items: The maximum number of elements in the buffer, at least 1.
    ///   - bytes: The maximum number of bytes in the buffer, at least 1.
    public init(items: Int, bytes: Int = .max) {
        state = Mutex(State(machine: Machine(itemLimit: items, byteLimit: bytes)))
    }

    /// The number of elements in the buffer and their total cost in bytes, for progress displays.
    public var occupancy: (items: Int, bytes: Int) {
        state.withLock { ($0.machine.bufferedCount, $0.machine.bufferedBytes) }
    }

    /// The number of sends and receives that wait now; it shows which side is slower.
    public var waiting: (senders: Int, receivers: Int) { state.withLock { ($0.senders.count, $0.receivers.count) } }

    /// Puts `element` into the buffer or passes it to a waiting receiver; waits until there is space.
    ///
    /// When this throws, the element was not sent: no receiver will get it.
    /// - Parameter cost: The size of the element in bytes, 0 or more.
    /// - Throws: `CancellationError` when the task was cancelled before the element was accepted, and
    ///   ``ChannelFinished`` after ``finish()``.
    public nonisolated(nonsending) func send(_ element: Element, cost: Int = 0) async throws {
        let id = newID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                beginSend(element, cost: cost, id: id, continuation)
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
        let receivers = state.withLock { $0.takeReceivers($0.machine.finish()) }
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
        cost: Int,
        id: ChannelWaiterID,
        _ continuation: CheckedContinuation<Void, any Error>
    ) {
        // An earlier cancellation is detected here, under the lock; a later one finds the waiter.
        let (outcome, receiver) = state.withLock {
            state -> (Result<Void, any Error>?, CheckedContinuation<Element?, any Error>?) in
            if Task.isCancelled { return (.failure(CancellationError()), nil) }
            switch state.machine.send(element, cost: cost, id: id) {
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
        let (outcome, senders) = state.withLock {
            state -> (Result<Element?, any Error>?, [CheckedContinuation<Void, any Error>]) in
            if Task.isCancelled { return (.failure(CancellationError()), []) }
            switch state.machine.receive(id: id) {
            case .deliver(let element, let admitted): return (.success(element), state.takeSenders(admitted))
            case .end: return (.success(nil), [])
            case .wait:
                state.receivers[id] = continuation
                return (nil, [])
            }
        }
        for sender in senders { sender.resume() }
        if let outcome { continuation.resume(with: outcome) }
    }

    private func cancelSend(_ id: ChannelWaiterID) {
        let (cancelled, admitted) = state.withLock {
            state -> (CheckedContinuation<Void, any Error>?, [CheckedContinuation<Void, any Error>]) in
            guard case .cancelled(let admitted) = state.machine.cancelSend(id: id) else { return (nil, []) }
            return (state.senders.removeValue(forKey: id), state.takeSenders(admitted))
        }
        cancelled?.resume(throwing: CancellationError())
        for sender in admitted { sender.resume() }
    }

    private func cancelReceive(_ id: ChannelWaiterID) {
        let cancelled = state.withLock { state -> CheckedContinuation<Element?, any Error>? in
            guard case .cancelled = state.machine.cancelReceive(id: id) else { return nil }
            return state.receivers.removeValue(forKey: id)
        }
        cancelled?.resume(throwing: CancellationError())
    }
}
