extension Division {
    /// Distributes items over shards so that all shards take about the same time: pure decisions.
    ///
    /// Longest first: every item goes to the shard that has the least to do, those that take longest before the others. The
    /// result is at most 4/3 of the best one (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies", 1969); where shards have
    /// many items, it is within one item of it.
    public enum Packing {
        /// How many shards there are to be.
        public struct Rules: Sendable {
            /// What one shard should take, in seconds: long enough that starting it does not matter, short enough that few have to
            /// wait for the last one.
            public var secondsPerShard = 2400.0
            /// Machines that the batch is expected to run on; there are at least four shards for each, so that slower machines
            /// take fewer.
            public var nodes = 1
            /// The scheduler takes no more.
            public var mostShards = 1000

            /// The rules of `--shards auto` for one machine.
            public init() {}
        }

        /// - Parameter seconds: of every item.
        /// - Returns: at least 1.
        public static func count(for seconds: [Double], _ rules: Rules) -> Int {
            let total = seconds.reduce(0, +)
            let byTime = (total / rules.secondsPerShard).rounded(.up)
            let wanted = max(Int(min(byTime, 1e9)), 4 * rules.nodes)
            return max(min(wanted, rules.mostShards, seconds.count), 1)
        }

        /// - Parameters:
        ///   - seconds: of every item, not negative.
        ///   - count: of shards; at most one for each item is made.
        /// - Returns: the places of the items of each shard, in their order. Every item is in one shard, and no shard is empty
        ///   unless there is no item. O(n log n).
        public static func shards(of seconds: [Double], count: Int) -> [[Int]] {
            let count = max(min(count, seconds.count), 1)
            var shards = [[Int]](repeating: [], count: count)
            var loads = LoadHeap(count: count)
            // Items without a time still take their turn.
            let least = 1e-3
            for item in seconds.indices.sorted(by: { (seconds[$0], $1) > (seconds[$1], $0) }) {
                shards[loads.first].append(item)
                loads.addToFirst(max(seconds[item], least))
            }
            return shards.map { $0.sorted() }
        }
    }
}

extension Division.Packing {
    /// The loads of shards, the smallest first; of equal ones the one with the lowest number.
    private struct LoadHeap {
        private var entries: [(load: Double, shard: Int)]

        init(count: Int) { entries = (0..<count).map { (0, $0) } }

        var first: Int { entries[0].shard }

        mutating func addToFirst(_ seconds: Double) {
            entries[0].load += seconds
            var place = 0
            while true {
                var smallest = place
                for child in [2 * place + 1, 2 * place + 2]
                where child < entries.count && isBefore(entries[child], entries[smallest]) {
                    smallest = child
                }
                guard smallest != place else { return }
                entries.swapAt(place, smallest)
                place = smallest
            }
        }

        private func isBefore(_ one: (load: Double, shard: Int), _ other: (load: Double, shard: Int)) -> Bool {
            (one.load, one.shard) < (other.load, other.shard)
        }
    }
}
