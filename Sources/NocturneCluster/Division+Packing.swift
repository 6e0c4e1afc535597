internal import HeapModule

extension Division {
    /// Distributes items over shards so that all shards take about the same time: pure decisions.
    ///
    /// Longest first: every item goes to the shard that has the least to do, those that take longest before the others. The
    /// result is at most 4/3 of the best one (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969); where shards have
    /// many items, it is within one item of it.
    public struct Packing {
        /// What one shard should take: long enough that starting it does not matter, short enough that few have to wait for the
        /// last one.
        private static let secondsPerShard = 2400.0

        /// How many shards there are to be.
        /// - Parameters:
        ///   - items: how many are divided.
        ///   - seconds: of all items together.
        ///   - nodes: machines that the batch is expected to run on; there are at least four shards for each, so that slower
        ///     machines take fewer.
        ///   - mostShards: the scheduler takes no more; nil for 1000.
        /// - Returns: at least 1.
        public static func count(for items: Int, seconds: Double, nodes: Int = 1, mostShards: Int? = nil) -> Int {
            let byTime = (seconds / secondsPerShard).rounded(.up)
            let wanted = max(Int(min(byTime, 1e9)), 4 * nodes)
            return max(min(wanted, mostShards ?? 1000, items), 1)
        }

        /// What a shard has to do.
        private struct Load: Comparable {
            var seconds = 0.0
            let shard: Int

            static func < (one: Load, other: Load) -> Bool { (one.seconds, one.shard) < (other.seconds, other.shard) }
        }

        private var loads: Heap<Load>

        /// - Parameter shards: how many there are; at least 1. With at most one for each item no shard stays empty.
        public init(shards: Int) {
            loads = Heap((1...shards).map { Load(shard: $0) })
        }

        /// The shard of the next item. O(log n) for n shards.
        /// - Parameter seconds: of the item; not more than those of the one before, and not negative.
        /// - Returns: its number, counted from 1, as tasks of an array usually are.
        public mutating func next(_ seconds: Double) -> Int {
            guard var load = loads.popMin() else { return 1 }
            // Items without a time still take their turn.
            load.seconds += max(seconds, 1e-3)
            loads.insert(load)
            return load.shard
        }
    }
}
