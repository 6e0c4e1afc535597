import Glibc
internal import NocturneCore

private typealias Definition = FeatureDefinition<CooccurrenceMatrix.Measures>

private let features: [Definition] = [
    Definition("cm_joint_max", "GYBY", "Joint maximum") { $0.jointMaximum },
    Definition("cm_joint_avg", "60VM", "Joint average") { $0.mean },
    Definition("cm_joint_var", "UR99", "Joint variance") { $0.variance },
    Definition("cm_joint_entr", "TU9B", "Joint entropy") { $0.jointEntropy },
    Definition("cm_diff_avg", "TF7R", "Difference average") { $0.dissimilarity },
    Definition("cm_diff_var", "D3YU", "Difference variance") { $0.contrast - $0.dissimilarity * $0.dissimilarity },
    Definition("cm_diff_entr", "NTRS", "Difference entropy") { $0.differenceEntropy },
    Definition("cm_sum_avg", "ZGXS", "Sum average") { 2 * $0.mean },
    Definition("cm_sum_var", "OEEB", "Sum variance") { $0.clusterTendency },
    Definition("cm_sum_entr", "P6QZ", "Sum entropy") { $0.sumEntropy },
    Definition("cm_energy", "8ZQL", "Angular second moment") { $0.energy },
    Definition("cm_contrast", "ACUI", "Contrast") { $0.contrast },
    Definition("cm_dissimilarity", "8S9J", "Dissimilarity") { $0.dissimilarity },
    Definition("cm_inv_diff", "IB1Z", "Inverse difference") { $0.inverseDifference },
    Definition("cm_inv_diff_norm", "NDRX", "Normalised inverse difference") { $0.normalisedInverseDifference },
    Definition("cm_inv_diff_mom", "WF0Z", "Inverse difference moment") { $0.inverseDifferenceMoment },
    Definition("cm_inv_diff_mom_norm", "1QCO", "Normalised inverse difference moment") {
        $0.normalisedInverseDifferenceMoment
    },
    Definition("cm_inv_var", "E8JP", "Inverse variance") { $0.inverseVariance },
    Definition("cm_corr", "NI2N", "Correlation") { ($0.autocorrelation - $0.mean * $0.mean) / $0.variance },
    Definition("cm_auto_corr", "QWB0", "Autocorrelation") { $0.autocorrelation },
    Definition("cm_clust_tend", "DG8W", "Cluster tendency") { $0.clusterTendency },
    Definition("cm_clust_shade", "7NFM", "Cluster shade") { $0.clusterShade },
    Definition("cm_clust_prom", "AE86", "Cluster prominence") { $0.clusterProminence },
    Definition("cm_info_corr1", "R8DG", "Information correlation 1") { $0.informationCorrelation1 },
    Definition("cm_info_corr2", "JN9H", "Information correlation 2") { $0.informationCorrelation2 },
]

extension FeatureFamily {
    /// The grey level co-occurrence matrix (section 3.6, LFYI): how often two levels lie next to each other.
    static let cooccurrence = FeatureFamily(.glcm, features, distance: \.cooccurrenceDistance) { source, grid in
        { slices, offset in
            let weighting = source.settings.texture.cooccurrenceWeighting
            return CooccurrenceMatrix(
                grid,
                slices: slices,
                offset: offset,
                weight: weighting.weight(of: offset, spacing: grid.spacing)
            )
        }
    }
}

extension RadiomicsSettings.Weighting {
    /// The weight of all pairs at an offset: 1 without weighting, else exp(−d²) of their distance d in mm.
    /// - Parameter spacing: in mm.
    fileprivate func weight(of offset: SIMD3<Int>, spacing: SIMD3<Double>) -> Double {
        let step = SIMD3<Double>(offset) * spacing
        let distance: Double
        switch self {
        case .equal: return 1
        case .manhattan: distance = abs(step.x) + abs(step.y) + abs(step.z)
        case .euclidean: distance = length(step)
        case .chebyshev: distance = max(abs(step.x), abs(step.y), abs(step.z))
        }
        return exp(-distance * distance)
    }
}

/// The pairs of levels at one offset, counted one way.
struct CooccurrenceMatrix: TextureMatrix {
    private let base: Int
    private let levels: Int
    /// By which normalised features divide differences of levels.
    private let levelCount: Int
    /// `levels` × `levels`; of stored levels less 1.
    private var pairs: [Double]

    init(_ grid: LevelGrid, slices: Range<Int>, offset: SIMD3<Int>, weight: Double) {
        base = grid.base
        levels = grid.count
        levelCount = grid.levelCount
        // Integers, weighted once at the end: sums of a weight would round, and differ with the order of the voxels.
        var counts = [UInt32](repeating: 0, count: levels * levels)
        let shape = grid.shape
        let step = grid.step(offset)
        // Around the box is one layer without levels; an offset may reach farther.
        let columns = max(1, 1 - offset.x)..<max(1, 1 - offset.x, min(shape.x - 1, shape.x - 1 - offset.x))
        let rows = max(1, 1 - offset.y)..<max(1, 1 - offset.y, min(shape.y - 1, shape.y - 1 - offset.y))
        let planes = slices.clamped(to: max(1, 1 - offset.z)..<max(1, 1 - offset.z, shape.z - 1 - offset.z))
        let width = levels
        grid.levels.withUnsafeBufferPointer { levels in
            counts.withUnsafeMutableBufferPointer { counts in
                for plane in planes {
                    for row in rows {
                        let first = shape.offset(0, row, plane)
                        for place in first + columns.lowerBound..<first + columns.upperBound {
                            // Level 0 is outside of the region.
                            let (a, b) = (Int(levels[place]), Int(levels[place + step]))
                            if a != 0 && b != 0 { counts[(a - 1) * width + b - 1] &+= 1 }
                        }
                    }
                }
            }
        }
        pairs = counts.map { weight * Double($0) }
    }

    mutating func merge(_ other: CooccurrenceMatrix) {
        for place in pairs.indices { pairs[place] += other.pairs[place] }
    }

    var measures: Measures? {
        // Pairs were counted one way; the matrix of the manual has both, and is symmetric.
        let total = 2 * pairs.reduce(0, +)
        guard total > 0 else { return nil }
        var measures = Measures(levels: levels, base: base, levelCount: levelCount)
        for i in 0..<levels {
            // Half of the matrix is enough, as it is symmetric; `add` counts both orders.
            for j in i..<levels {
                let number = pairs[i * levels + j] + pairs[j * levels + i]
                // Pairs that do not occur add nothing, and their logarithm does not exist.
                if number > 0 { measures.add(number / total, i, j) }
            }
        }
        measures.finish()
        return measures
    }
}

extension CooccurrenceMatrix {
    /// Sums over a symmetric matrix of probabilities.
    struct Measures: Sendable {
        private let base: Int
        private let levelCount: Double
        /// The share of each level among the ends of pairs.
        private var marginal: [Double]
        /// By the difference of the levels of a pair.
        private var differences: [Double]
        /// By the sum of the stored levels of a pair, each less 1.
        private var sums: [Double]
        private(set) var jointMaximum = 0.0
        private(set) var jointEntropy = 0.0
        private(set) var energy = 0.0
        private(set) var autocorrelation = 0.0
        private(set) var mean = 0.0
        private(set) var variance = 0.0
        private(set) var clusterTendency = 0.0
        private(set) var clusterShade = 0.0
        private(set) var clusterProminence = 0.0
        private(set) var differenceEntropy = 0.0
        private(set) var sumEntropy = 0.0
        private(set) var contrast = 0.0
        private(set) var dissimilarity = 0.0
        private(set) var inverseDifference = 0.0
        private(set) var normalisedInverseDifference = 0.0
        private(set) var inverseDifferenceMoment = 0.0
        private(set) var normalisedInverseDifferenceMoment = 0.0
        private(set) var inverseVariance = 0.0
        private var marginalEntropy = 0.0

        fileprivate init(levels: Int, base: Int, levelCount: Int) {
            self.base = base
            self.levelCount = Double(levelCount)
            marginal = [Double](repeating: 0, count: levels)
            differences = [Double](repeating: 0, count: levels)
            sums = [Double](repeating: 0, count: 2 * levels - 1)
        }

        /// Adds the probability of a pair of levels, and of the pair in the other order with `i` ≠ `j`.
        ///
        /// Levels are as stored less 1, `i` ≤ `j`. With `i` ≠ `j` both orders have the sum of both counts.
        fileprivate mutating func add(_ probability: Double, _ i: Int, _ j: Int) {
            let times: Double = i == j ? 1 : 2
            jointMaximum = max(jointMaximum, probability)
            jointEntropy -= times * probability * log2(probability)
            energy += times * probability * probability
            autocorrelation += times * probability * Double(i + 1 + base) * Double(j + 1 + base)
            marginal[i] += probability
            if i != j { marginal[j] += probability }
            differences[j - i] += times * probability
            sums[i + j] += times * probability
        }

        /// Computes what needs all probabilities.
        fileprivate mutating func finish() {
            for (i, share) in marginal.enumerated() where share > 0 {
                mean += share * Double(i + 1 + base)
                marginalEntropy -= share * log2(share)
            }
            // In a second pass: the variance needs the mean.
            for (i, share) in marginal.enumerated() {
                let deviation = Double(i + 1 + base) - mean
                variance += share * deviation * deviation
            }
            for (k, share) in differences.enumerated() where share > 0 {
                let difference = Double(k)
                dissimilarity += share * difference
                contrast += share * difference * difference
                differenceEntropy -= share * log2(share)
                inverseDifference += share / (1 + difference)
                normalisedInverseDifference += share / (1 + difference / levelCount)
                inverseDifferenceMoment += share / (1 + difference * difference)
                normalisedInverseDifferenceMoment += share / (1 + difference * difference / (levelCount * levelCount))
                // The manual leaves out the diagonal, where the term would divide by zero.
                if k > 0 { inverseVariance += share / (difference * difference) }
            }
            for (k, share) in sums.enumerated() where share > 0 {
                let deviation = Double(k + 2 + 2 * base) - 2 * mean
                let square = deviation * deviation
                clusterTendency += share * square
                clusterShade += share * square * deviation
                clusterProminence += share * square * square
                sumEntropy -= share * log2(share)
            }
        }

        /// Both entropies of the product of the margins are twice that of a margin, because the matrix is symmetric.
        var informationCorrelation1: Double { (jointEntropy - 2 * marginalEntropy) / marginalEntropy }

        var informationCorrelation2: Double {
            let information = 2 * marginalEntropy - jointEntropy
            // Rounding can make it slightly negative where it is 0.
            return information > 0 ? (1 - exp(-2 * information)).squareRoot() : 0
        }
    }
}
