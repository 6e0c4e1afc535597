import NocturneConcurrency
import NocturneSystem

/// What a channel decides: the real machine, or one with a flaw that the tests have to find.
protocol ChannelRules {
    typealias Real = BoundedChannelStateMachine<Int>

    init(itemLimit: Int, byteLimit: Int)
    var buffered: [ChannelElement] { get }
    var bufferedBytes: Int { get }
    var sendersInLine: [ChannelWaiter] { get }
    var receiversInLine: [ChannelWaiterID] { get }
    mutating func send(_ element: Int, cost: Int, id: ChannelWaiterID) -> Real.SendAction
    mutating func receive(id: ChannelWaiterID) -> Real.ReceiveAction
    mutating func cancelSend(id: ChannelWaiterID) -> Real.CancelWaiterAction
    mutating func cancelReceive(id: ChannelWaiterID) -> Real.CancelWaiterAction
    mutating func finish() -> [ChannelWaiterID]
}

struct ChannelElement: Hashable {
    let element: Int
    let cost: Int
}

struct ChannelWaiter: Hashable {
    let id: ChannelWaiterID
    let element: ChannelElement
}

extension BoundedChannelStateMachine: ChannelRules where Element == Int {
    var buffered: [ChannelElement] { bufferedElements.map { ChannelElement(element: $0.element, cost: $0.cost) } }

    var sendersInLine: [ChannelWaiter] {
        waitingSenders.map {
            ChannelWaiter(id: $0.id, element: ChannelElement(element: $0.element.element, cost: $0.element.cost))
        }
    }

    var receiversInLine: [ChannelWaiterID] { waitingReceivers }
}

/// Mistakes a channel could be written with.
enum ChannelFlaw: CaseIterable {
    case oneItemTooMany, bytesNotBounded, oversizeNeverFits, bytesNeverComeBack
    case smallOvertakesLarge, wakesNobodyAfterReceive, wakesOneAfterReceive, wakesNobodyAfterCancel
    case cancelledSendIsDelivered, cancelledReceiverStays, receiverWaitsBesideSender
    case finishForgetsReceivers, finishDropsSenders, sendsAfterFinish
}

/// The rules of a channel written down once more, plainly, with room for one flaw.
struct PlainChannel: ChannelRules {
    let itemLimit: Int
    let byteLimit: Int
    var flaw: ChannelFlaw?
    var buffered: [ChannelElement] = []
    var sendersInLine: [ChannelWaiter] = []
    var receiversInLine: [ChannelWaiterID] = []
    var bufferedBytes = 0
    var finished = false

    init(itemLimit: Int, byteLimit: Int) { (self.itemLimit, self.byteLimit) = (itemLimit, byteLimit) }

    private func fits(_ cost: Int) -> Bool {
        if buffered.isEmpty { return flaw != .oversizeNeverFits || cost <= byteLimit }
        let items = itemLimit + (flaw == .oneItemTooMany ? 1 : 0)
        return buffered.count < items && (bufferedBytes + cost <= byteLimit || flaw == .bytesNotBounded)
    }

    private mutating func admit(atMost most: Int = .max) -> [ChannelWaiterID] {
        var admitted: [ChannelWaiterID] = []
        while let first = sendersInLine.first, admitted.count < most, fits(first.element.cost) {
            buffered.append(first.element)
            bufferedBytes += first.element.cost
            admitted.append(first.id)
            sendersInLine.removeFirst()
        }
        return admitted
    }

    mutating func send(_ element: Int, cost: Int, id: ChannelWaiterID) -> Real.SendAction {
        if finished && flaw != .sendsAfterFinish { return .reject }
        if !receiversInLine.isEmpty && flaw != .receiverWaitsBesideSender {
            return .deliver(to: receiversInLine.removeFirst())
        }
        let entry = ChannelElement(element: element, cost: cost)
        guard sendersInLine.isEmpty || flaw == .smallOvertakesLarge, fits(cost) else {
            sendersInLine.append(ChannelWaiter(id: id, element: entry))
            return .wait
        }
        buffered.append(entry)
        bufferedBytes += cost
        return .accept
    }

    mutating func receive(id: ChannelWaiterID) -> Real.ReceiveAction {
        guard let first = buffered.first else {
            if finished { return .end }
            receiversInLine.append(id)
            return .wait
        }
        buffered.removeFirst()
        if flaw != .bytesNeverComeBack { bufferedBytes -= first.cost }
        if flaw == .wakesNobodyAfterReceive { return .deliver(first.element, admitted: []) }
        return .deliver(first.element, admitted: admit(atMost: flaw == .wakesOneAfterReceive ? 1 : .max))
    }

    mutating func cancelSend(id: ChannelWaiterID) -> Real.CancelWaiterAction {
        guard let index = sendersInLine.firstIndex(where: { $0.id == id }) else { return .none }
        if flaw == .cancelledSendIsDelivered { return .cancelled(admitted: []) }
        sendersInLine.remove(at: index)
        return .cancelled(admitted: flaw == .wakesNobodyAfterCancel ? [] : admit())
    }

    mutating func cancelReceive(id: ChannelWaiterID) -> Real.CancelWaiterAction {
        guard let index = receiversInLine.firstIndex(of: id) else { return .none }
        if flaw != .cancelledReceiverStays { receiversInLine.remove(at: index) }
        return .cancelled(admitted: [])
    }

    mutating func finish() -> [ChannelWaiterID] {
        if finished { return [] }
        finished = true
        if flaw == .finishDropsSenders { sendersInLine = [] }
        if flaw == .finishForgetsReceivers { return [] }
        defer { receiversInLine = [] }
        return receiversInLine
    }
}
