import NocturneCluster
import NocturneTestSupport
import Testing

@Suite("Items are distributed over shards")
struct ShardPackingTests {
    @Test("every item is in one shard, and the longest shard is within Graham's bound")
    func bound() {
        var random = SplitMix64(seed: 3)
        for round in 0..<200 {
            let count = Int(random.next() % 200) + 1
            let seconds = (0..<count).map { _ in Double(random.next() % 10_000) / 10 }
            let shards = Division.Packing.shards(of: seconds, count: round % 17 + 1)
            #expect(shards.flatMap { $0 }.sorted() == Array(0..<count))
            #expect(shards.allSatisfy { !$0.isEmpty && $0 == $0.sorted() })
            let longest = shards.map { $0.reduce(0) { $0 + seconds[$1] } }.max() ?? 0
            let ideal = max(seconds.reduce(0, +) / Double(shards.count), seconds.max() ?? 0)
            #expect(longest <= ideal * 4 / 3 + 1e-9 * ideal + 0.2)
        }
    }

    @Test("equal items are spread evenly, also without a time", arguments: [0, 2.5])
    func even(seconds: Double) {
        let shards = Division.Packing.shards(of: [Double](repeating: seconds, count: 103), count: 10)
        #expect(shards.map(\.count).sorted() == [Int](repeating: 10, count: 7) + [11, 11, 11])
    }

    @Test("there are never more shards than items, and at least one")
    func few() {
        #expect(Division.Packing.shards(of: [1, 2], count: 5).count == 2)
        #expect(Division.Packing.shards(of: [], count: 5) == [[]])
    }

    @Test("the number of shards follows time, machines and the limit of the scheduler")
    func count() {
        #expect(Division.Packing.count(for: [Double](repeating: 3600, count: 40)) == 40)
        let minutes = [Double](repeating: 60, count: 400)
        #expect(Division.Packing.count(for: minutes) == 10)
        #expect(Division.Packing.count(for: minutes, nodes: 6) == 24)
        #expect(Division.Packing.count(for: minutes, nodes: 6, mostShards: 20) == 20)
        #expect(Division.Packing.count(for: [1, 1, 1], nodes: 6, mostShards: 20) == 3)
        #expect(Division.Packing.count(for: [], nodes: 6, mostShards: 20) == 1)
    }
}
