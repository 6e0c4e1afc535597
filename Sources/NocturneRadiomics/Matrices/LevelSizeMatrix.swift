import Glibc

/// How often each grey level occurs with each size: the length of a run, the size or the distance of a zone, or the number
/// of dependent neighbours.
struct LevelSizeMatrix: TextureMatrix {
    /// What is added to a stored level.
    private let base: Int
    private let levels: Int
    /// The largest size in the table; larger ones are in `large`.
    private let width: Int
    /// For each level from 1, the numbers of the sizes from 1.
    private var table: [UInt32]
    private var large: [Large: UInt32] = [:]
    /// The voxels that the matrix is of, each as often as it was counted.
    private var voxels: Int

    private struct Large: Hashable {
        let level: Int
        let size: Int
    }

    /// - Parameters:
    ///   - width: sizes up to this are counted in a table.
    ///   - voxels: those of the part that the matrix is of.
    init(_ grid: LevelGrid, width: Int, voxels: Int) {
        base = grid.base
        levels = grid.count
        self.width = width
        self.voxels = voxels
        table = [UInt32](repeating: 0, count: grid.count * width)
    }

    /// - Parameters:
    ///   - level: as stored in the grid.
    ///   - size: from 1.
    mutating func count(level: Int, size: Int) {
        if size <= width {
            table[(level - 1) * width + size - 1] += 1
        } else {
            large[Large(level: level, size: size), default: 0] += 1
        }
    }

    mutating func merge(_ other: LevelSizeMatrix) {
        for place in table.indices { table[place] += other.table[place] }
        large.merge(other.large) { $0 + $1 }
        voxels += other.voxels
    }

    var measures: Measures? {
        var sums = Measures(voxels: Double(voxels))
        var sizes = [Double](repeating: 0, count: width)
        var largeSizes: [Int: Double] = [:]
        // A dictionary has another order in every process; a sum in that order would have other last digits.
        let large = large.sorted { ($0.key.level, $0.key.size) < ($1.key.level, $1.key.size) }
        var next = 0
        for level in 1...levels {
            var sum = 0.0
            let value = Double(level + base)
            for size in 0..<width where table[(level - 1) * width + size] != 0 {
                let number = Double(table[(level - 1) * width + size])
                sums.add(number, level: value, size: Double(size + 1))
                sizes[size] += number
                sum += number
            }
            while next < large.count, large[next].key.level == level {
                let number = Double(large[next].value)
                sums.add(number, level: value, size: Double(large[next].key.size))
                largeSizes[large[next].key.size, default: 0] += number
                sum += number
                next += 1
            }
            // The sum over all sizes of this level, squared: for the non-uniformity of levels.
            sums.squaresOfLevels += sum * sum
        }
        guard sums.total > 0 else { return nil }
        sums.squaresOfSizes =
            sizes.reduce(0) { $0 + $1 * $1 }
            + largeSizes.sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value * $1.value }
        return sums
    }
}

extension LevelSizeMatrix {
    /// Sums over the elements of a matrix: what the features of runs, zones and dependencies have in common (sections 3.7 to
    /// 3.9, and 3.11).
    struct Measures: Sendable {
        /// Of the part, each as often as it was counted: the divisor of percentages.
        let voxels: Double
        /// Of all elements: the number of runs, zones or neighbourhoods. From `smallSize` to `largeHigh` each element is
        /// multiplied or divided by the square of its size, its level, or both.
        private(set) var total = 0.0
        private(set) var smallSize = 0.0
        private(set) var largeSize = 0.0
        private(set) var lowLevel = 0.0
        private(set) var highLevel = 0.0
        private(set) var smallLow = 0.0
        private(set) var smallHigh = 0.0
        private(set) var largeLow = 0.0
        private(set) var largeHigh = 0.0
        private(set) var levels = 0.0
        private(set) var sizes = 0.0
        /// Of each element times its logarithm to base 2, for the entropy.
        private(set) var logarithms = 0.0
        private(set) var squares = 0.0
        /// Of the sums over all sizes of a level, squared.
        fileprivate(set) var squaresOfLevels = 0.0
        /// Of the sums over all levels of a size, squared.
        fileprivate(set) var squaresOfSizes = 0.0

        fileprivate init(voxels: Double) { self.voxels = voxels }

        fileprivate mutating func add(_ number: Double, level: Double, size: Double) {
            let (i, j) = (level * level, size * size)
            total += number
            smallSize += number / j
            largeSize += number * j
            lowLevel += number / i
            highLevel += number * i
            smallLow += number / (i * j)
            smallHigh += number * i / j
            largeLow += number * j / i
            largeHigh += number * i * j
            levels += number * level
            sizes += number * size
            logarithms += number * log2(number)
            squares += number * number
        }

        /// Of levels or sizes: the mean square less the square of the mean. Both are integers, whose sums are exact.
        fileprivate func variance(_ squares: Double, _ sum: Double) -> Double {
            let mean = sum / total
            return max(0, squares / total - mean * mean)
        }
    }
}

extension FeatureDefinition<LevelSizeMatrix.Measures> {
    /// The sixteen features that runs, zones and dependencies share.
    /// - Parameters:
    ///   - prefix: the family's, as in `rlm`.
    ///   - names: for each feature the name, the code and the manual's heading, in the order of the values.
    static func shared(_ prefix: String, _ names: [(String, String, String)]) -> [FeatureDefinition] {
        let values: [@Sendable (LevelSizeMatrix.Measures) -> Double] = [
            { $0.smallSize / $0.total }, { $0.largeSize / $0.total },
            { $0.lowLevel / $0.total }, { $0.highLevel / $0.total },
            { $0.smallLow / $0.total }, { $0.smallHigh / $0.total },
            { $0.largeLow / $0.total }, { $0.largeHigh / $0.total },
            // Non-uniformities of levels and sizes, each also normalised.
            { $0.squaresOfLevels / $0.total }, { $0.squaresOfLevels / ($0.total * $0.total) },
            { $0.squaresOfSizes / $0.total }, { $0.squaresOfSizes / ($0.total * $0.total) },
            // Runs, zones or neighbourhoods for each voxel.
            { $0.total / $0.voxels },
            { $0.variance($0.highLevel, $0.levels) }, { $0.variance($0.largeSize, $0.sizes) },
            // The entropy.
            { max(0, log2($0.total) - $0.logarithms / $0.total) },
        ]
        precondition(names.count == values.count, "a name for each measure")
        return zip(names, values).map { FeatureDefinition("\(prefix)_\($0.0)", $0.1, $0.2, $1) }
    }
}
