internal import Synchronization

/// The packed weights of the builtin engine's networks, as many as may be in memory at the same time.
///
/// Packing gives the weights the order in which the kernels read them, and takes up to several times the space of the
/// weights themselves. When the networks of a run need more than the limit, those that were used least recently lose their
/// packed weights, and pack them again when they are used: one network after the other is then in memory.
public final class PackedWeights: Sendable {
    private struct Entry {
        weak var network: (any LoadedNetwork & AnyObject)?
        let bytes: Int
    }

    /// In bytes. The network in use may need more by itself.
    public let limit: Int
    /// Least recently used first.
    private let entries = Mutex<[Entry]>([])
    private let exceeded = Atomic(false)

    /// - Parameter limit: in bytes.
    public init(limit: Int = .max) { self.limit = limit }

    /// How many networks have packed weights, apart from those that sessions alone hold.
    package var networks: Int { entries.withLock { $0.count { $0.network != nil } } }

    /// Whether networks have lost their packed weights because of the limit.
    var isExceeded: Bool { exceeded.load(ordering: .relaxed) }

    /// A network no longer has packed weights, but for those that sessions hold.
    func dropped(_ network: any LoadedNetwork & AnyObject) {
        entries.withLock { $0.removeAll { $0.network == nil || $0.network === network } }
    }

    /// A network has packed weights of `bytes` bytes, and is used now. The weights of a network that sessions use are
    /// freed with its last session.
    func used(_ network: any LoadedNetwork & AnyObject, bytes: Int) {
        let dropped = entries.withLock { entries -> [any LoadedNetwork] in
            entries.removeAll { $0.network == nil || $0.network === network }
            entries.append(Entry(network: network, bytes: bytes))
            var total = entries.reduce(0) { $0 + $1.bytes }
            var dropped: [any LoadedNetwork] = []
            while total > limit, entries.count > 1 {
                let first = entries.removeFirst()
                total -= first.bytes
                if let network = first.network { dropped.append(network) }
            }
            return dropped
        }
        if !dropped.isEmpty { exceeded.store(true, ordering: .relaxed) }
        for network in dropped { network.dropPlans() }
    }
}
