internal import HeapModule

extension Division {
    /// Distributes items over shards so that all shards take about the same time: pure decisions.
    ///
    /// Longest first: every item goes to the shard that has the least to do, those that take longest before the others. The
    /// result is at most 4/3 of the best one (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969); where shards have
    /// many items, it is within one item of it.
    public enum Packing {
        /// What one shard should take: long enough that starting it does not matter, short enough that few have to wait for the
        /// last one.
        private static let secondsPerShard = 2400.0

        /// How many shards there are to be.
        /// - Parameters:
        ///   - seconds: of every item.
        ///   - nodes: machines that the batch is expected to run on; there are at least four shards for each, so that slower
        ///     machines take fewer.
        ///   - mostShards: the scheduler takes no more; nil for 1000.
        /// - Returns: at least 1.
        public static func count(for seconds: [Double], nodes: Int = 1, mostShards: Int? = nil) -> Int {
            let byTime = (seconds.reduce(0, +) / secondsPerShard).rounded(.up)
            let wanted = max(Int(min(byTime, 1e9)), 4 * nodes)
            return max(min(wanted, mostShards ?? 1000, seconds.count), 1)
        }

        /// What a shard has to do.
        private struct Load: Comparable {
            var seconds = 0.0
            let shard: Int

            static func < (one: Load, other: Load) -> Bool { (one.seconds, one.shard) < (other.seconds, other.shard) }
        }

        /// - Parameters:
        ///   - seconds: of every item, not negative.
        ///   - count: of shards; at most one for each item is made.
        /// - Returns: the places of the items of each shard, in their order. Every item is in one shard, and no shard is empty
        ///   unless there is no item. O(n log n).
        public static func shards(of seconds: [Double], count: Int) -> [[Int]] {
            let count = max(min(count, seconds.count), 1)
            var shards = [[Int]](repeating: [], count: count)
            var loads = Heap((0..<count).map { Load(shard: $0) })
            // Items without a time still take their turn.
            let least = 1e-3
            for item in seconds.indices.sorted(by: { (seconds[$0], $1) > (seconds[$1], $0) }) {
                var load = loads.removeMin()
                shards[load.shard].append(item)
                load.seconds += max(seconds[item], least)
                loads.insert(load)
            }
            return shards.map { $0.sorted() }
        }
    }
}
