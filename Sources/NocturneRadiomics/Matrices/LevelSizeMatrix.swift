#if canImport(Glibc)
    import Glibc
#endif

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

    var measures: LevelSizeMeasures? {
        var sums = LevelSizeSums()
        var sizes = [Double](repeating: 0, count: width)
        var largeSizes: [Int: Double] = [:]
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
            sums.squaresOfLevels += sum * sum
        }
        guard sums.total > 0 else { return nil }
        sums.squaresOfSizes =
            sizes.reduce(0) { $0 + $1 * $1 }
            + largeSizes.sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value * $1.value }
        return LevelSizeMeasures(sums, voxels: Double(voxels))
    }
}

/// Sums over the elements of a matrix.
struct LevelSizeSums: Sendable {
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
    private(set) var logarithms = 0.0
    private(set) var squares = 0.0
    var squaresOfLevels = 0.0
    var squaresOfSizes = 0.0

    mutating func add(_ number: Double, level: Double, size: Double) {
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
}

/// What the features of runs, zones and dependencies have in common (sections 3.7 to 3.9, and 3.11).
struct LevelSizeMeasures: Sendable {
    private let sums: LevelSizeSums
    private let voxels: Double

    fileprivate init(_ sums: LevelSizeSums, voxels: Double) {
        self.sums = sums
        self.voxels = voxels
    }

    var smallSizeEmphasis: Double { sums.smallSize / sums.total }
    var largeSizeEmphasis: Double { sums.largeSize / sums.total }
    var lowLevelEmphasis: Double { sums.lowLevel / sums.total }
    var highLevelEmphasis: Double { sums.highLevel / sums.total }
    var smallSizeLowLevelEmphasis: Double { sums.smallLow / sums.total }
    var smallSizeHighLevelEmphasis: Double { sums.smallHigh / sums.total }
    var largeSizeLowLevelEmphasis: Double { sums.largeLow / sums.total }
    var largeSizeHighLevelEmphasis: Double { sums.largeHigh / sums.total }
    var levelNonUniformity: Double { sums.squaresOfLevels / sums.total }
    var normalisedLevelNonUniformity: Double { sums.squaresOfLevels / (sums.total * sums.total) }
    var sizeNonUniformity: Double { sums.squaresOfSizes / sums.total }
    var normalisedSizeNonUniformity: Double { sums.squaresOfSizes / (sums.total * sums.total) }
    /// The number of runs, zones or neighbourhoods for each voxel.
    var percentage: Double { sums.total / voxels }
    var entropy: Double { max(0, log2(sums.total) - sums.logarithms / sums.total) }
    var energy: Double { sums.squares / (sums.total * sums.total) }

    /// Of the level, and of the size: the mean square less the square of the mean. Levels and sizes are integers, whose
    /// sums are exact.
    var levelVariance: Double { variance(sums.highLevel, sums.levels) }
    var sizeVariance: Double { variance(sums.largeSize, sums.sizes) }

    private func variance(_ squares: Double, _ sum: Double) -> Double {
        let mean = sum / sums.total
        return max(0, squares / sums.total - mean * mean)
    }
}

extension FeatureDefinition<LevelSizeMeasures> {
    /// The sixteen features that runs and zones share.
    /// - Parameters:
    ///   - prefix: the family's, as in `rlm`.
    ///   - names: for each feature the name, the code and the manual's heading, in the order of the measures.
    static func shared(_ prefix: String, _ names: [(String, String, String)]) -> [FeatureDefinition] {
        let values: [@Sendable (LevelSizeMeasures) -> Double] = [
            { $0.smallSizeEmphasis }, { $0.largeSizeEmphasis }, { $0.lowLevelEmphasis }, { $0.highLevelEmphasis },
            { $0.smallSizeLowLevelEmphasis }, { $0.smallSizeHighLevelEmphasis }, { $0.largeSizeLowLevelEmphasis },
            { $0.largeSizeHighLevelEmphasis }, { $0.levelNonUniformity }, { $0.normalisedLevelNonUniformity },
            { $0.sizeNonUniformity }, { $0.normalisedSizeNonUniformity }, { $0.percentage }, { $0.levelVariance },
            { $0.sizeVariance }, { $0.entropy },
        ]
        precondition(names.count == values.count, "a name for each measure")
        return zip(names, values).map { FeatureDefinition("\(prefix)_\($0.0)", $0.1, $0.2, $1) }
    }
}
