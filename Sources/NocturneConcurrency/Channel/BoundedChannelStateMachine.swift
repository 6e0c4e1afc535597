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
        package let element: Element
        package let cost: Int
    }

    package struct WaitingSender {
        package let id: ChannelWaiterID
        package let element: BufferedElement
    }

    package enum Phase {
        case open
        /// No new sends are accepted; elements already sent are still delivered.
        case finished
        /// All elements were discarded.
        case failed(any Error)
    }

    package let itemLimit: Int
    package let byteLimit: Int
    package private(set) var phase = Phase.open
    package private(set) var bufferedBytes = 0
    private var buffer = Deque<BufferedElement>()
    private var senders = Deque<WaitingSender>()
    private var receivers = Deque<ChannelWaiterID>()

    package init(itemLimit: Int, byteLimit: Int) {
        precondition(itemLimit > 0 && byteLimit > 0, "a channel needs capacity for at least one element")
        self.itemLimit = itemLimit
        self.byteLimit = byteLimit
    }

    package var bufferedElements: [BufferedElement] { Array(buffer) }
    package var bufferedCount: Int { buffer.count }
    package var waitingSenders: [WaitingSender] { Array(senders) }
    package var waitingReceivers: [ChannelWaiterID] { Array(receivers) }

    package enum SendAction {
        /// The send is complete.
        case accept
        /// The send is complete; this receiver gets the element.
        case deliver(to: ChannelWaiterID)
        /// The sender waits until another action returns its id.
        case wait
        case reject(any Error)
    }

    package mutating func send(_ element: Element, cost: Int, id: ChannelWaiterID) -> SendAction {
        precondition(cost >= 0, "the cost of an element cannot be negative")
        switch phase {
        case .finished: return .reject(ChannelFinished())
        case .failed(let error): return .reject(error)
        case .open: break
        }
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

    package enum ReceiveAction {
        /// The element, and the senders whose elements fit into the freed space.
        case deliver(Element, admitted: [ChannelWaiterID])
        /// The receiver waits until another action returns its id.
        case wait
        /// Finished and drained.
        case end
        case reject(any Error)
    }

    package mutating func receive(id: ChannelWaiterID) -> ReceiveAction {
        if let buffered = buffer.popFirst() {
            bufferedBytes -= buffered.cost
            return .deliver(buffered.element, admitted: admitSenders())
        }
        switch phase {
        case .finished: return .end
        case .failed(let error): return .reject(error)
        case .open:
            receivers.append(id)
            return .wait
        }
    }

    package enum CancelWaiterAction {
        /// The waiter is no longer registered: its action was decided earlier.
        case none
        /// The waiter gets a `CancellationError`; the elements of the senders behind it may fit now.
        case cancelled(admitted: [ChannelWaiterID])
    }

    package mutating func cancelSend(id: ChannelWaiterID) -> CancelWaiterAction {
        guard let index = senders.firstIndex(where: { $0.id == id }) else { return .none }
        senders.remove(at: index)
        return .cancelled(admitted: admitSenders())
    }

    package mutating func cancelReceive(id: ChannelWaiterID) -> CancelWaiterAction {
        guard let index = receivers.firstIndex(of: id) else { return .none }
        receivers.remove(at: index)
        return .cancelled(admitted: [])
    }

    /// - Returns: The receivers that now get nil. Waiting senders stay queued, and their elements are still delivered.
    package mutating func finish() -> [ChannelWaiterID] {
        guard case .open = phase else { return [] }
        phase = .finished
        defer { receivers.removeAll() }
        return Array(receivers)
    }

    package struct FailAction {
        /// Elements that were sent but not received, oldest first.
        package var leftovers: [Element] = []
        /// Both get the error. The elements of the senders were not sent.
        package var senders: [ChannelWaiterID] = []
        package var receivers: [ChannelWaiterID] = []
    }

    package mutating func fail(_ error: any Error) -> FailAction {
        if case .failed = phase { return FailAction() }
        let action = FailAction(
            leftovers: buffer.map(\.element),
            senders: senders.map(\.id),
            receivers: Array(receivers)
        )
        phase = .failed(error)
        buffer.removeAll()
        bufferedBytes = 0
        senders.removeAll()
        receivers.removeAll()
        return action
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
