internal import DequeModule

/// Identifies one suspended `send` or `receive`. Never reused within one channel.
package typealias ChannelWaiterID = UInt64

/// The decisions of a ``BoundedChannel``, without locks or tasks: inputs are methods, and the returned enums specify
/// what the caller must do after it has released the lock.
///
/// Invariants, checked by the tests after every input:
/// - the buffer is within both bounds, or holds exactly one element;
/// - a sender waits only while the buffer is not empty and a receiver only while it is empty, so no waiter is stuck;
/// - elements leave in the order in which their sends arrived.
package struct BoundedChannelStateMachine<Element> {
    /// An element and its cost in bytes.
    package struct BufferedElement {
        /// What is handed over, from the sender to one receiver.
        package let element: Element
        /// In bytes, 0 or more.
        package let cost: Int
    }

    /// A send that waits for space. Its element belongs to the sender until it is admitted.
    package struct WaitingSender {
        /// By which the send is admitted or withdrawn.
        package let id: ChannelWaiterID
        /// Not counted among the bytes of the buffer.
        package let element: BufferedElement
    }

    /// The most elements in the buffer, at least 1.
    package let itemLimit: Int
    /// The most bytes in the buffer, at least 1; a single larger element is accepted when the buffer is empty.
    package let byteLimit: Int
    /// Whether no new sends are accepted; elements already sent are still delivered.
    private var isFinished = false
    /// The total cost of the buffered elements in bytes. Waiting senders are not counted.
    package private(set) var bufferedBytes = 0
    private var buffer = Deque<BufferedElement>()
    private var senders = Deque<WaitingSender>()
    private var receivers = Deque<ChannelWaiterID>()

    /// An open, empty channel. Traps unless both limits are at least 1.
    package init(itemLimit: Int, byteLimit: Int) {
        precondition(itemLimit > 0 && byteLimit > 0, "a channel needs capacity for at least one element")
        self.itemLimit = itemLimit
        self.byteLimit = byteLimit
    }

    /// The buffered elements, oldest first. O(n): for tests.
    package var bufferedElements: [BufferedElement] { Array(buffer) }
    /// The number of buffered elements. O(1).
    package var bufferedCount: Int { buffer.count }
    /// Sends that wait, in the order in which they will be admitted. O(n): for tests.
    package var waitingSenders: [WaitingSender] { Array(senders) }
    /// Receives that wait, in the order in which they will be served. O(n): for tests.
    package var waitingReceivers: [ChannelWaiterID] { Array(receivers) }

    /// What the caller of ``send(_:cost:id:)`` does.
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
    package mutating func send(_ element: Element, cost: Int, id: ChannelWaiterID) -> SendAction {
        precondition(cost >= 0, "the cost of an element cannot be negative")
        if isFinished { return .reject }
        if let receiver = receivers.popFirst() { return .deliver(to: receiver) }
        let buffered = BufferedElement(element: element, cost: cost)
        // The order is strict: a small element behind a large one waits even if it would fit.
        guard senders.isEmpty, hasSpace(for: cost) else {
            senders.append(WaitingSender(id: id, element: buffered))
            return .wait
        }
        store(buffered)
        return .accept
    }

    /// What the caller of ``receive(id:)`` does.
    package enum ReceiveAction {
        /// The element, and the senders whose elements fit into the freed space.
        case deliver(Element, admitted: [ChannelWaiterID])
        /// The receiver waits until another action returns its id.
        case wait
        /// Finished and drained.
        case end
    }

    /// Takes the oldest element, or registers the receiver under `id`. O(1), plus the senders that are admitted.
    package mutating func receive(id: ChannelWaiterID) -> ReceiveAction {
        if let buffered = buffer.popFirst() {
            bufferedBytes -= buffered.cost
            return .deliver(buffered.element, admitted: admitSenders())
        }
        if isFinished { return .end }
        receivers.append(id)
        return .wait
    }

    /// What the caller of a cancellation does.
    package enum CancelWaiterAction {
        /// The waiter is no longer registered: its action was decided earlier.
        case none
        /// The waiter gets a `CancellationError`; the elements of the senders behind it may fit now.
        case cancelled(admitted: [ChannelWaiterID])
    }

    /// Withdraws a waiting send. O(n) in the waiting senders; the elements of senders behind it may fit now.
    package mutating func cancelSend(id: ChannelWaiterID) -> CancelWaiterAction {
        guard let index = senders.firstIndex(where: { $0.id == id }) else { return .none }
        senders.remove(at: index)
        return .cancelled(admitted: admitSenders())
    }

    /// Withdraws a waiting receive. No element is lost: a receiver waits only while the buffer is empty.
    package mutating func cancelReceive(id: ChannelWaiterID) -> CancelWaiterAction {
        guard let index = receivers.firstIndex(of: id) else { return .none }
        receivers.remove(at: index)
        return .cancelled(admitted: [])
    }

    /// - Returns: The receivers that now get nil. Waiting senders stay queued, and their elements are still delivered.
    package mutating func finish() -> [ChannelWaiterID] {
        isFinished = true
        defer { receivers.removeAll() }
        return Array(receivers)
    }

    private func hasSpace(for cost: Int) -> Bool {
        // An element above the byte bound could never be sent otherwise.
        if buffer.isEmpty { return true }
        return buffer.count < itemLimit && cost <= byteLimit - bufferedBytes
    }

    private mutating func store(_ element: BufferedElement) {
        buffer.append(element)
        bufferedBytes += element.cost
    }

    private mutating func admitSenders() -> [ChannelWaiterID] {
        var admitted: [ChannelWaiterID] = []
        while let sender = senders.first, hasSpace(for: sender.element.cost) {
            senders.removeFirst()
            store(sender.element)
            admitted.append(sender.id)
        }
        return admitted
    }
}
