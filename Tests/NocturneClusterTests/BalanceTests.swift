import Foundation
import NocturneCluster
import NocturneTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// Simulates a cluster whose machines take shards from one queue, as Slurm does, with the real packing.
@Suite("Balance over machines of different speed")
struct BalanceTests {
    private struct Machine {
        let speed: Double
        var free = 0.0
    }

    /// How long all shards take; each that fails once is put back into the queue and done again from its half.
    private func makespan(_ loads: [Double], _ speeds: [Double], failures: Double, _ random: inout SplitMix64) -> Double
    {
        var machines = speeds.map { Machine(speed: $0) }
        var queue = loads
        var place = 0
        while place < queue.count {
            guard let next = machines.indices.min(by: { machines[$0].free < machines[$1].free }) else { return 0 }
            let load = queue[place]
            place += 1
            let fails = place <= loads.count && Double(random.next() % 10_000) / 10_000 < failures
            machines[next].free += (fails ? load / 2 : load) / machines[next].speed
            if fails { queue.append(load / 2) }
        }
        return machines.map(\.free).max() ?? 0
    }

    /// 23,000 items drawn from recorded pairs of what was predicted and what it took (`Tools/proofs/recorded_times.py`), each
    /// scaled as another scan of its size would be.
    @Test("23,000 items with recorded times on 64 machines of three speeds: within 10 % of the ideal", arguments: 1...4)
    func recorded(seed: Int) throws {
        let text = try String(contentsOf: Fixtures.url("recorded-times.csv"), encoding: .utf8)
        let pairs = text.split(separator: "\n").dropFirst().map { line in
            line.split(separator: ",").compactMap { Double($0) }
        }
        #expect(pairs.count >= 100 && pairs.allSatisfy { $0.count == 2 })
        var random = SplitMix64(seed: UInt64(seed))
        // The recorded model is a small one: a minute and a half each on average, as with a large one.
        let scale = 90 * Double(pairs.count) / pairs.reduce(0) { $0 + $1[1] }
        let drawn = (0..<23_000).map { _ in pairs[Int(random.next() % UInt64(pairs.count))] }
        check(drawn.map { $0[0] * scale }, real: drawn.map { $0[1] * scale }, &random)
    }

    @Test(
        "23,000 items on 64 machines of three speeds, 3 % of the shards interrupted: within 10 % of the ideal",
        arguments: 1...4
    )
    func cohort(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        func uniform() -> Double { (Double(random.next() >> 11) + 0.5) / Double(UInt64(1) << 53) }
        // Times of scans spread widely: log-normal, median 90 s, a factor of 2 for each standard deviation.
        let seconds = (0..<23_000).map { _ in
            90 * exp(0.69 * sqrt(-2 * log(uniform())) * cos(2 * Double.pi * uniform()))
        }
        // What is predicted differs from what it takes by up to 20 %.
        check(seconds, real: seconds.map { $0 * (0.8 + 0.4 * uniform()) }, &random)
    }

    private func check(_ seconds: [Double], real: [Double], _ random: inout SplitMix64) {
        let count = Division.Packing.count(for: seconds.count, seconds: seconds.reduce(0, +), nodes: 64)
        var packing = Division.Packing(shards: count)
        var loads = [Double](repeating: 0, count: count)
        for item in seconds.indices.sorted(by: { seconds[$0] > seconds[$1] }) {
            loads[packing.next(seconds[item]) - 1] += real[item]
        }
        let speeds = (0..<64).map { [1, 1.5, 2.25][$0 % 3] }
        let ideal = real.reduce(0, +) / speeds.reduce(0, +)
        let time = makespan(loads, speeds, failures: 0.03, &random)
        #expect(count <= 1000)
        #expect(time >= ideal && time <= 1.1 * ideal, "\(time / ideal) of the ideal with \(count) shards")
    }
}
