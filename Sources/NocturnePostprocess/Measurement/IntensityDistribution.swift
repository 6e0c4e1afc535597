import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Quantiles and histograms of several sets of voxels at once, without storing the values.
///
/// A quantile is found bit by bit: floats are mapped to integers of the same order, and three passes count their upper
/// 11, middle 11 and lower 10 bits among the values that the previous pass left. So it is exact; between two values it is
/// linear in their ranks, as in `numpy.quantile`, so the median of an even number of values is the mean of the two middle ones. Counts are integers, so the result does not depend on threads. Time:
/// four passes over the voxels for every ``batch`` sets. Memory: under 32 KiB for every set of a batch and every
/// thread.
struct IntensityDistribution {
    /// The number of sets that share a pass: 2 MiB per thread.
    static let batch = 64
    /// More quantiles of a set than this need more memory than ``predictedBytes(threads:)``.
    static let maximumQuantileCount = 16
    /// From the highest bits down; 32 together.
    private static let bits: [UInt32] = [11, 11, 10]

    /// What is requested for a set, and what is known of it: the number of finite values, the smallest and the largest.
    struct Request {
        let count: Int
        let minimum: Double
        let maximum: Double
        let histogram: RegionOfInterest.HistogramRule
        /// The shares of the values, from 0 to 1, below which the quantiles lie; 0.5 for the median.
        let shares: [Double]

        init(_ tally: IntensitySummary.Tally, _ histogram: RegionOfInterest.HistogramRule, shares: [Double] = [0.5]) {
            count = tally.count
            (minimum, maximum) = tally.count > 0 ? (tally.minimum, tally.maximum) : (0, 0)
            self.histogram = histogram
            self.shares = shares
        }

        /// The ranks of the values next to each quantile, and the share of the way from the lower one to the upper one.
        fileprivate var places: [(lower: Int, upper: Int, way: Double)] {
            shares.map { share in
                let place = share * Double(max(count, 1) - 1)
                return (Int(place.rounded(.down)), Int(place.rounded(.up)), place - place.rounded(.down))
            }
        }
    }

    struct Found {
        /// In the order of the shares.
        var quantiles: [Double]
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
        /// The bits known so far, in the lowest places.
        var prefix: UInt32 = 0
        var rank: Int
    }

    /// The bits known of the values that a pass looks for, each once for every set.
    private struct Prefixes: Sendable {
        private(set) var all: [UInt32] = []
        /// Where those of a set begin in ``all``; one more than there are sets.
        private(set) var starts = [0]

        init(_ searches: [[Search]]) {
            // Several quantiles often share their bits: a value is then counted once.
            for own in searches {
                all += Set(own.map(\.prefix)).sorted()
                starts.append(all.count)
            }
        }

        /// The place in ``all`` of the values among which a search counts.
        func place(_ search: Search, of set: Int) -> Int {
            (starts[set]..<starts[set + 1]).first { all[$0] == search.prefix } ?? starts[set]
        }
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
        var searches = requests.map { $0.places.flatMap { [Search(rank: $0.lower), Search(rank: $0.upper)] } }
        var histograms = requests.map { IntensityHistogram($0.histogram, smallest: $0.minimum, largest: $0.maximum) }
        var shift: UInt32 = 32
        for pass in bits.indices {
            let known = shift
            shift -= bits[pass]
            let mask = (UInt32(1) << bits[pass]) - 1
            let (prefixes, empty, isFirst, drop) = (Prefixes(searches), histograms, pass == 0, shift)
            let tables = try tally(rows, rowsInPart, scope) { range, table in
                if table.counts.isEmpty {
                    table.counts = [UInt32](repeating: 0, count: prefixes.all.count * bins)
                    table.histograms = isFirst ? empty : []
                }
                runs(range) { set, values in
                    guard sets.contains(set) else { return }
                    let place = set - sets.lowerBound
                    let own = prefixes.starts[place]..<prefixes.starts[place + 1]
                    for value in values where value.isFinite {
                        if isFirst { table.histograms[place].add(Double(value)) }
                        let key = value.orderedBits
                        // A value counts only if it agrees with the bits found so far.
                        let above = known == 32 ? 0 : key >> known
                        for search in own where prefixes.all[search] == above {
                            table.counts[search * bins + Int(key >> drop & mask)] += 1
                        }
                    }
                }
            }
            for table in tables {
                for (place, part) in table.histograms.enumerated() { histograms[place].merge(part) }
            }
            for set in requests.indices where requests[set].count > 0 {
                for index in searches[set].indices {
                    let first = prefixes.place(searches[set][index], of: set) * bins
                    advance(&searches[set][index], tables, first..<first + bins, bits[pass])
                }
            }
        }
        return requests.indices.map { set in
            guard requests[set].count > 0 else { return nil }
            let values = searches[set].map { Double(Float(orderedBits: $0.prefix)) }
            return Found(
                quantiles: requests[set].places.enumerated().map { place, found in
                    between(values[2 * place], values[2 * place + 1], found.way)
                },
                histogram: histograms[set]
            )
        }
    }

    /// The bin in which the rank falls has the next bits; the rank continues within that bin.
    /// - Parameter counts: the places of the search in the tables.
    private static func advance(_ search: inout Search, _ tables: [Table], _ counts: Range<Int>, _ bits: UInt32) {
        var bin = counts.lowerBound
        while bin < counts.upperBound - 1 {
            let count = tables.reduce(0) { $0 + ($1.counts.isEmpty ? 0 : Int($1.counts[bin])) }
            if search.rank < count { break }
            search.rank -= count
            bin += 1
        }
        search.prefix = search.prefix << bits | UInt32(bin - counts.lowerBound)
    }

    private static func between(_ lower: Double, _ upper: Double, _ way: Double) -> Double {
        // The median in the form of `numpy.median`: both forms may differ in the last bit.
        way == 0.5 ? (lower + upper) / 2 : lower + (upper - lower) * way
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
