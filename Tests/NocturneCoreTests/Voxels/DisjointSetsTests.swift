import NocturneCore
import NocturneTestSupport
import Testing

@Suite("DisjointSets and the order of float bits")
struct DisjointSetsTests {
    @Test(
        "joined numbers have one root, the smallest, and consecutive numbers of sets",
        arguments: [1, 2, 3, 4] as [UInt64]
    )
    func join(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let count = 200
        var sets = DisjointSets(count: count)
        // A second implementation: every member of a set is renamed.
        var names = Array(0..<count)
        for _ in 0..<120 {
            let (one, other) = (Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random))
            let (low, high) = (min(names[one], names[other]), max(names[one], names[other]))
            names = names.map { $0 == high ? low : $0 }
            let root = sets.join(one, other)
            #expect(root == low)
        }
        let roots = (0..<count).map { sets.root(of: $0) }
        #expect(roots == names)
        let order = Set(names).sorted()
        let (numbers, found) = sets.numbered()
        #expect(found == order.count)
        #expect(numbers.map { order[Int($0)] } == names)
    }

    @Test("an added number is a set by itself")
    func add() {
        var sets = DisjointSets(count: 0)
        let added = [sets.add(), sets.add()]
        #expect(added == [0, 1] && sets.count == 2)
        let before = sets.root(of: 1)
        let joined = sets.join(1, 0)
        let after = sets.root(of: 1)
        #expect(before == 1 && joined == 0 && after == 0)
    }

    @Test("ordered bits ascend with the numbers, and give them back")
    func orderedBits() {
        let values: [Float] = [
            -.infinity, -.greatestFiniteMagnitude, -1, -.leastNormalMagnitude, -.leastNonzeroMagnitude, -0.0, 0,
            .leastNonzeroMagnitude, 1, 1.5, .greatestFiniteMagnitude, .infinity,
        ]
        let bits = values.map(\.orderedBits)
        #expect(zip(bits, bits.dropFirst()).allSatisfy { $0 < $1 })
        #expect(bits.map { Float(orderedBits: $0).bitPattern } == values.map(\.bitPattern))
    }
}
