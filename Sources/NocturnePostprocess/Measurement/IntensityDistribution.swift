import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Medians and histograms of several sets of voxels at once, without storing the values.
///
/// A median is found bit by bit: floats are mapped to integers of the same order, and three passes count their upper
/// 11, middle 11 and lower 10 bits among the values that the previous pass left. So it is exact; for an even number of
/// values it is the mean of the two middle ones. Counts are integers, so the result does not depend on threads. Time:
/// four passes over the voxels for every ``batch`` sets. Memory: under 32 KiB for every set of a batch and every
/// thread.
struct IntensityDistribution {
    /// The number of sets that share a pass: 2 MiB per thread.
    static let batch = 64
    private static let bits: [UInt32] = [11, 11, 10]

    /// What is requested for a set, and what is known of it: the number of finite values, the smallest and the largest.
    struct Request {
        let count: Int
        let minimum: Double
        let maximum: Double
        let histogram: RegionOfInterest.HistogramRule

        init(_ tally: IntensityTally, _ histogram: RegionOfInterest.HistogramRule) {
            count = tally.count
            (minimum, maximum) = tally.count > 0 ? (tally.minimum, tally.maximum) : (0, 0)
            self.histogram = histogram
        }
    }

    struct Found {
        var median: Double
        var histogram: IntensityHistogram
    }

    /// Calls `body` with runs of voxels of one set: the number of the set below the number of requests, and the run.
    typealias Runs = @Sendable (Range<Int>, (Int, UnsafeBufferPointer<Float>) -> Void) -> Void

    /// Extra memory for any number of sets, in bytes.
    static func predictedBytes(threads: Int) -> Int { (batch + 1) * 32 * 1024 * (threads + 1) }

    /// - Parameters:
    ///   - requests: one for each set; for a set without values the result is nil.
    ///   - rows: the number of rows that `runs` can return.
    ///   - rowsInPart: a number of rows that takes less than a second.
    ///   - runs: returns the runs of a range of rows.
    static func find(
        _ requests: [Request],
        rows: Int,
        rowsInPart: Int,
        runs: Runs,
        scope: ComputeScope
    ) throws(CancelledError) -> [Found?] {
        var found: [Found?] = []
        for begin in stride(from: 0, to: requests.count, by: batch) {
            let range = begin..<min(requests.count, begin + batch)
            found += try findBatch(Array(requests[range]), range, rows, rowsInPart, runs, scope)
        }
        return found
    }

    /// The search for a value of some rank: the bits known so far, and its rank among the values that share them.
    private struct Search {
        var prefix: UInt32 = 0
        var rank: Int
    }

    private static func findBatch(
        _ requests: [Request],
        _ sets: Range<Int>,
        _ rows: Int,
        _ rowsInPart: Int,
        _ runs: Runs,
        _ scope: ComputeScope
    ) throws(CancelledError) -> [Found?] {
        let bins = 1 << Int(bits[0])
        // Two searches for each set, for the lower and the upper middle value; they are the same for an odd count.
        var searches = requests.flatMap { [Search(rank: ($0.count - 1) / 2), Search(rank: $0.count / 2)] }
        var histograms = requests.map { IntensityHistogram($0.histogram, smallest: $0.minimum, largest: $0.maximum) }
        var shift: UInt32 = 32
        for pass in bits.indices {
            let known = shift
            shift -= bits[pass]
            let mask = (UInt32(1) << bits[pass]) - 1
            let (searched, empty, isFirst, drop) = (searches, histograms, pass == 0, shift)
            let tables = try tally(rows, rowsInPart, scope) { range, table in
                if table.counts.isEmpty {
                    table.counts = [UInt32](repeating: 0, count: requests.count * 2 * bins)
                    table.histograms = isFirst ? empty : []
                }
                runs(range) { set, values in
                    guard sets.contains(set) else { return }
                    let place = set - sets.lowerBound
                    let (low, high) = (searched[2 * place].prefix, searched[2 * place + 1].prefix)
                    for value in values where value.isFinite {
                        if isFirst { table.histograms[place].add(Double(value)) }
                        let key = value.orderedBits
                        let bin = Int(key >> drop & mask)
                        // A value counts in a search only if it agrees with the bits found so far.
                        let above = known == 32 ? 0 : key >> known
                        if above == low { table.counts[2 * place * bins + bin] += 1 }
                        if above == high { table.counts[(2 * place + 1) * bins + bin] += 1 }
                    }
                }
            }
            for table in tables {
                for (place, part) in table.histograms.enumerated() { histograms[place].merge(part) }
            }
            // The bin in which the rank falls has the next bits; the rank continues within that bin.
            for index in searches.indices where requests[index / 2].count > 0 {
                var bin = 0
                while bin < bins - 1 {
                    let count = tables.reduce(0) { $0 + ($1.counts.isEmpty ? 0 : Int($1.counts[index * bins + bin])) }
                    if searches[index].rank < count { break }
                    searches[index].rank -= count
                    bin += 1
                }
                searches[index].prefix = searches[index].prefix << bits[pass] | UInt32(bin)
            }
        }
        return requests.indices.map { place in
            guard requests[place].count > 0 else { return nil }
            let (low, high) = (
                Float(orderedBits: searches[2 * place].prefix), Float(orderedBits: searches[2 * place + 1].prefix)
            )
            return Found(median: (Double(low) + Double(high)) / 2, histogram: histograms[place])
        }
    }

    /// The counts of one parallel task.
    private struct Table: Sendable {
        var counts: [UInt32] = []
        var histograms: [IntensityHistogram] = []
    }

    /// Each task processes every n-th part, so there are as many tables as threads and not as many as parts.
    private static func tally(
        _ rows: Int,
        _ rowsInPart: Int,
        _ scope: ComputeScope,
        _ body: @Sendable (Range<Int>, inout Table) -> Void
    ) throws(CancelledError) -> [Table] {
        let step = max(1, rowsInPart)
        let parts = (rows + step - 1) / step
        let lanes = max(1, min(scope.width, parts))
        return try scope.map(lanes) { lane in
            var table = Table()
            for part in stride(from: lane, to: parts, by: lanes) where !scope.flag.isCancelled {
                body(part * step..<min(rows, (part + 1) * step), &table)
            }
            return table
        }
    }
}
