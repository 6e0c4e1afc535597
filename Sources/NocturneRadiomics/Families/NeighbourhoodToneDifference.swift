internal import NocturneCore

private typealias Definition = FeatureDefinition<ToneDifferenceMatrix.Measures>

private let features: [Definition] = [
    Definition("ngt_coarseness", "QCDE", "Coarseness") { $0.coarseness },
    Definition("ngt_contrast", "65HE", "Contrast") { $0.contrast },
    Definition("ngt_busyness", "NQ30", "Busyness") { $0.busyness },
    Definition("ngt_complexity", "HDEZ", "Complexity") { $0.complexity },
    Definition("ngt_strength", "1X9X", "Strength") { $0.strength },
]

extension FeatureFamily {
    /// The neighbourhood grey tone difference matrix (section 3.10, IPET): how much levels differ from the mean of their
    /// neighbours in the region.
    static let toneDifference = FeatureFamily(.ngtdm, features) { source, grid in
        { slices, inSpace in
            let distance = source.settings.texture.neighbourDistance
            return ToneDifferenceMatrix(grid, slices: slices, distance: distance, inSpace: inSpace)
        }
    }
}

/// For each level, the voxels that have a neighbour, and the sum of their differences.
struct ToneDifferenceMatrix: TextureMatrix {
    private let base: Int
    private var counts: [Double]
    private var differences: [Double]

    init(_ grid: LevelGrid, slices: Range<Int>, distance: Int, inSpace: Bool) {
        base = grid.base
        var counts = [Double](repeating: 0, count: grid.count)
        var differences = [Double](repeating: 0, count: grid.count)
        let shape = grid.shape
        var sums = [Int32](repeating: 0, count: shape.x)
        var numbers = [Int32](repeating: 0, count: shape.x)
        grid.levels.withUnsafeBufferPointer { levels in
            for slice in slices {
                for row in 1..<shape.y - 1 {
                    // Within slices, the neighbours of other slices do not count.
                    let planes = inSpace ? max(slice - distance, 0)...min(slice + distance, shape.z - 1) : slice...slice
                    let rows = max(row - distance, 0)...min(row + distance, shape.y - 1)
                    Self.add(levels, shape, (rows, planes), to: &sums, &numbers)
                    let first = shape.offset(0, row, slice)
                    for i in 1..<shape.x - 1 where levels[first + i] != 0 {
                        let level = Int32(levels[first + i])
                        // The columns include the voxel itself, which is not its neighbour.
                        var (sum, number) = (-level, Int32(-1))
                        for other in max(i - distance, 0)...min(i + distance, shape.x - 1) {
                            sum += sums[other]
                            number += numbers[other]
                        }
                        // A voxel without a neighbour in the region is not counted, as the manual requires.
                        guard number > 0 else { continue }
                        counts[Int(level) - 1] += 1
                        // The mean of the neighbours in the region only: others add 0 to sum and number.
                        differences[Int(level) - 1] += abs(Double(level) - Double(sum) / Double(number))
                    }
                }
            }
        }
        self.counts = counts
        self.differences = differences
    }

    /// The sum and the number of the levels in some rows, for each column.
    private static func add(
        _ levels: UnsafeBufferPointer<UInt16>,
        _ shape: VolumeShape,
        _ lines: (rows: ClosedRange<Int>, planes: ClosedRange<Int>),
        to sums: inout [Int32],
        _ numbers: inout [Int32]
    ) {
        for i in 0..<shape.x { (sums[i], numbers[i]) = (0, 0) }
        for plane in lines.planes {
            for row in lines.rows {
                let first = shape.offset(0, row, plane)
                for i in 0..<shape.x {
                    sums[i] &+= Int32(levels[first + i])
                    numbers[i] &+= levels[first + i] != 0 ? 1 : 0
                }
            }
        }
    }

    /// Adds the counts and differences of another part of the region, or of another direction.
    mutating func merge(_ other: ToneDifferenceMatrix) {
        for place in counts.indices {
            counts[place] += other.counts[place]
            differences[place] += other.differences[place]
        }
    }

    var measures: Measures? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let present = counts.indices.filter { counts[$0] > 0 }
        return Measures(
            total: total,
            levels: present.map { Double($0 + 1 + base) },
            shares: present.map { counts[$0] / total },
            differences: present.map { differences[$0] }
        )
    }
}

extension ToneDifferenceMatrix {
    /// Sums over the levels that occur and over pairs of them.
    struct Measures: Sendable {
        let coarseness: Double
        let contrast: Double
        let busyness: Double
        let complexity: Double
        let strength: Double

        fileprivate init(total: Double, levels: [Double], shares: [Double], differences: [Double]) {
            let sum = differences.reduce(0, +)
            let weighted = zip(shares, differences).reduce(0) { $0 + $1.0 * $1.1 }
            var (spread, products, complexity, strength) = (0.0, 0.0, 0.0, 0.0)
            for a in levels.indices {
                for b in levels.indices {
                    let distance = levels[a] - levels[b]
                    spread += shares[a] * shares[b] * distance * distance
                    products += abs(levels[a] * shares[a] - levels[b] * shares[b])
                    complexity +=
                        abs(distance) * (shares[a] * differences[a] + shares[b] * differences[b])
                        / (shares[a] + shares[b])
                    strength += (shares[a] + shares[b]) * distance * distance
                }
            }
            let present = Double(levels.count)
            // The manual's values where the formulas divide by zero: 10⁶ for a flat region, else 0.
            coarseness = weighted > 0 ? 1 / weighted : 1_000_000
            contrast = levels.count > 1 ? spread / (present * (present - 1)) * sum / total : 0
            busyness = levels.count > 1 && products > 0 ? weighted / products : 0
            self.complexity = complexity / total
            self.strength = sum > 0 ? strength / sum : 0
        }
    }
}
