import NocturneConcurrency
import NocturneSystem

/// What a channel decides: the real machine, or one with a flaw that the tests have to find.
protocol ChannelRules {
    typealias Real = BoundedChannelStateMachine<Int>

    init(itemLimit: Int)
    var buffered: [Int] { get }
    var sendersInLine: [ChannelWaiter] { get }
    var receiversInLine: [ChannelWaiterID] { get }
    mutating func send(_ element: Int, id: ChannelWaiterID) -> Real.SendAction
    mutating func receive(id: ChannelWaiterID) -> Real.ReceiveAction
    mutating func cancelSend(id: ChannelWaiterID) -> Bool
    mutating func cancelReceive(id: ChannelWaiterID) -> Bool
    mutating func finish() -> [ChannelWaiterID]
}

struct ChannelWaiter: Hashable {
    let id: ChannelWaiterID
    let element: Int
}

extension BoundedChannelStateMachine: ChannelRules where Element == Int {
    var buffered: [Int] { bufferedElements }
    var sendersInLine: [ChannelWaiter] { waitingSenders.map { ChannelWaiter(id: $0.id, element: $0.element) } }
    var receiversInLine: [ChannelWaiterID] { waitingReceivers }
}

/// Mistakes a channel could be written with.
enum ChannelFlaw: CaseIterable {
    case oneItemTooMany, oneItemTooFew, lastSenderFirst, wakesNobodyAfterReceive
    case cancelledSendIsDelivered, cancelledReceiverStays, receiverWaitsBesideSender
    case finishForgetsReceivers, finishDropsSenders, sendsAfterFinish
}

/// The rules of a channel written down once more, plainly, with room for one flaw.
struct PlainChannel: ChannelRules {
    let itemLimit: Int
    var flaw: ChannelFlaw?
    var buffered: [Int] = []
    var sendersInLine: [ChannelWaiter] = []
    var receiversInLine: [ChannelWaiterID] = []
    var finished = false

    init(itemLimit: Int) { self.itemLimit = itemLimit }

    mutating func send(_ element: Int, id: ChannelWaiterID) -> Real.SendAction {
        if finished && flaw != .sendsAfterFinish { return .reject }
        if !receiversInLine.isEmpty && flaw != .receiverWaitsBesideSender {
            return .deliver(to: receiversInLine.removeFirst())
        }
        let limit = itemLimit + (flaw == .oneItemTooMany ? 1 : flaw == .oneItemTooFew ? -1 : 0)
        guard buffered.count < limit else {
            sendersInLine.append(ChannelWaiter(id: id, element: element))
            return .wait
        }
        buffered.append(element)
        return .accept
    }

    mutating func receive(id: ChannelWaiterID) -> Real.ReceiveAction {
        guard let first = buffered.first else {
            if finished { return .end }
            receiversInLine.append(id)
            return .wait
        }
        buffered.removeFirst()
        if flaw == .wakesNobodyAfterReceive || sendersInLine.isEmpty { return .deliver(first, admitted: nil) }
        let sender = flaw == .lastSenderFirst ? sendersInLine.removeLast() : sendersInLine.removeFirst()
        buffered.append(sender.element)
        return .deliver(first, admitted: sender.id)
    }

    mutating func cancelSend(id: ChannelWaiterID) -> Bool {
        guard let index = sendersInLine.firstIndex(where: { $0.id == id }) else { return false }
        if flaw != .cancelledSendIsDelivered { sendersInLine.remove(at: index) }
        return true
    }

    mutating func cancelReceive(id: ChannelWaiterID) -> Bool {
        guard let index = receiversInLine.firstIndex(of: id) else { return false }
        if flaw != .cancelledReceiverStays { receiversInLine.remove(at: index) }
        return true
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
