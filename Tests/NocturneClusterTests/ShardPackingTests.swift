import NocturneCluster
import NocturneTestSupport
import Testing

@Suite("Items are distributed over shards")
struct ShardPackingTests {
    /// The seconds of the items of each shard.
    private func shards(of seconds: [Double], count: Int) -> [[Double]] {
        var packing = Division.Packing(shards: count)
        let items = seconds.sorted(by: >).map { (seconds: $0, shard: packing.next($0)) }
        return (1...count).map { shard in items.filter { $0.shard == shard }.map(\.seconds) }
    }

    @Test("every item is in one shard, and the longest shard is within Graham's bound")
    func bound() {
        var random = SplitMix64(seed: 3)
        for round in 0..<200 {
            let count = Int(random.next() % 200) + 1
            let seconds = (0..<count).map { _ in Double(random.next() % 10_000) / 10 }
            let shards = shards(of: seconds, count: min(round % 17 + 1, count))
            #expect(shards.flatMap { $0 }.sorted() == seconds.sorted())
            #expect(shards.allSatisfy { !$0.isEmpty })
            let longest = shards.map { $0.reduce(0, +) }.max() ?? 0
            let ideal = max(seconds.reduce(0, +) / Double(shards.count), seconds.max() ?? 0)
            #expect(longest <= ideal * 4 / 3 + 1e-9 * ideal + 0.2)
        }
    }

    @Test("equal items are spread evenly, also without a time", arguments: [0, 2.5])
    func even(seconds: Double) {
        let shards = shards(of: [Double](repeating: seconds, count: 103), count: 10)
        #expect(shards.map(\.count).sorted() == [Int](repeating: 10, count: 7) + [11, 11, 11])
    }

    @Test("the number of shards follows time, machines, items and the limit of the scheduler")
    func count() {
        #expect(Division.Packing.count(for: 40, seconds: 40 * 3600) == 40)
        let seconds = 400 * 60.0
        #expect(Division.Packing.count(for: 400, seconds: seconds) == 10)
        #expect(Division.Packing.count(for: 400, seconds: seconds, nodes: 6) == 24)
        #expect(Division.Packing.count(for: 400, seconds: seconds, nodes: 6, mostShards: 20) == 20)
        #expect(Division.Packing.count(for: 3, seconds: 3, nodes: 6, mostShards: 20) == 3)
        #expect(Division.Packing.count(for: 0, seconds: 0, nodes: 6, mostShards: 20) == 1)
    }
}
