internal import DequeModule

/// Identifies one suspended `send` or `receive`. Never reused within one channel.
package typealias ChannelWaiterID = UInt64

/// The decisions of a ``BoundedChannel``, without locks or tasks: inputs are methods, and the returned enums specify
/// what the caller must do after it has released the lock.
///
/// Invariants, checked by the tests after every input:
/// - the buffer is within its bound;
/// - a sender waits only while the buffer is full and a receiver only while it is empty, so no waiter is stuck;
/// - elements leave in the order in which their sends arrived.
package struct BoundedChannelStateMachine<Element> {
    /// A send that waits for space. Its element belongs to the sender until it is admitted.
    package struct WaitingSender {
        /// By which the send is admitted or withdrawn.
        package let id: ChannelWaiterID
        /// Not counted among the elements of the buffer.
        package let element: Element
    }

    /// The most elements in the buffer, at least 1.
    package let itemLimit: Int
    /// Whether no new sends are accepted; elements already sent are still delivered.
    private var isFinished = false
    private var buffer = Deque<Element>()
    private var senders = Deque<WaitingSender>()
    private var receivers = Deque<ChannelWaiterID>()

    /// An open, empty channel. Traps unless the limit is at least 1.
    package init(itemLimit: Int) {
        precondition(itemLimit > 0, "a channel needs capacity for at least one element")
        self.itemLimit = itemLimit
    }

    /// The buffered elements, oldest first. O(n): for tests.
    package var bufferedElements: [Element] { Array(buffer) }
    /// The number of buffered elements. O(1).
    package var bufferedCount: Int { buffer.count }
    /// Sends that wait, in the order in which they will be admitted. O(n): for tests.
    package var waitingSenders: [WaitingSender] { Array(senders) }
    /// Receives that wait, in the order in which they will be served. O(n): for tests.
    package var waitingReceivers: [ChannelWaiterID] { Array(receivers) }

    /// What the caller of ``send(_:id:)`` does.
    package enum SendAction {
        /// The send is complete.
        case accept
        /// The send is complete; this receiver gets the element.
        case deliver(to: ChannelWaiterID)
        /// The sender waits until another action returns its id.
        case wait
        /// The channel is finished.
        case reject
    }

    /// Accepts an element, or registers the sender under `id`. O(1).
    package mutating func send(_ element: Element, id: ChannelWaiterID) -> SendAction {
        if isFinished { return .reject }
        if let receiver = receivers.popFirst() { return .deliver(to: receiver) }
        guard buffer.count < itemLimit else {
            senders.append(WaitingSender(id: id, element: element))
            return .wait
        }
        buffer.append(element)
        return .accept
    }

    /// What the caller of ``receive(id:)`` does.
    package enum ReceiveAction {
        /// The element, and the sender whose element takes its place.
        case deliver(Element, admitted: ChannelWaiterID?)
        /// The receiver waits until another action returns its id.
        case wait
        /// Finished and drained.
        case end
    }

    /// Takes the oldest element, or registers the receiver under `id`. O(1).
    package mutating func receive(id: ChannelWaiterID) -> ReceiveAction {
        if let element = buffer.popFirst() {
            let admitted = senders.popFirst()
            if let admitted { buffer.append(admitted.element) }
            return .deliver(element, admitted: admitted?.id)
        }
        if isFinished { return .end }
        receivers.append(id)
        return .wait
    }

    /// Withdraws a waiting send. O(n) in the waiting senders.
    /// - Returns: Whether it waited, and its sender gets a `CancellationError`; false if its action was decided earlier.
    package mutating func cancelSend(id: ChannelWaiterID) -> Bool {
        guard let index = senders.firstIndex(where: { $0.id == id }) else { return false }
        senders.remove(at: index)
        return true
    }

    /// Withdraws a waiting receive. No element is lost: a receiver waits only while the buffer is empty.
    /// - Returns: As of ``cancelSend(id:)``.
    package mutating func cancelReceive(id: ChannelWaiterID) -> Bool {
        guard let index = receivers.firstIndex(of: id) else { return false }
        receivers.remove(at: index)
        return true
    }

    /// - Returns: The receivers that now get nil. Waiting senders stay queued, and their elements are still delivered.
    package mutating func finish() -> [ChannelWaiterID] {
        isFinished = true
        defer { receivers.removeAll() }
        return Array(receivers)
    }
}
