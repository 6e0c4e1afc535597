package import NocturneCore

/// The grey levels of a region (section 2.7), with a layer of voxels outside the region around its box.
package struct LevelGrid: Sendable {
    /// The box and one more voxel at each side.
    package let shape: VolumeShape
    /// The distance between voxels along i, j and k, in mm.
    package let spacing: SIMD3<Double>
    /// 0 outside the intensity mask, else the level minus `base`.
    package let levels: [UInt16]
    /// What is added to a stored level.
    package let base: Int
    /// The greatest stored level. Smaller ones may not occur.
    package let count: Int
    /// The number of levels by which features are normalised: that of fixed bins, else the greatest level.
    package let levelCount: Int
    /// Voxels inside the mask.
    package let voxelCount: Int

    /// The most grey levels between the least and the greatest that texture matrices are made for: a matrix of pairs then
    /// takes 4 MiB.
    package static let mostLevels = 1024

    /// The level that a stored number stands for.
    package func level(_ stored: Int) -> Double { Double(stored + base) }

    /// Slices of the box: 1 to `shape.z` − 2.
    package var slices: Range<Int> { 1..<shape.z - 1 }

    /// The offset of a neighbour in storage.
    package func step(_ offset: SIMD3<Int>) -> Int { offset.x + shape.x * (offset.y + shape.y * offset.z) }

    /// Whether a slice has a voxel in the mask.
    package func hasVoxels(_ slice: Int) -> Bool { voxels(in: slice..<slice + 1) > 0 }

    /// The voxels in the mask.
    package func voxels(in slices: Range<Int>) -> Int {
        var count = 0
        for place in slices.lowerBound * shape.sliceCount..<slices.upperBound * shape.sliceCount {
            count += levels[place] != 0 ? 1 : 0
        }
        return count
    }

    /// One of each pair of opposite offsets with a Chebyshev distance: 4 in a plane and 13 in space at distance 1.
    package static func halfOffsets(distance: Int) -> (plane: [SIMD3<Int>], space: [SIMD3<Int>]) {
        let all = offsets(within: distance, inSpace: true).filter { offset in
            let farthest = max(abs(offset.x), abs(offset.y), abs(offset.z))
            let leading = offset.z != 0 ? offset.z : offset.y != 0 ? offset.y : offset.x
            return farthest == distance && leading > 0
        }
        return (all.filter { $0.z == 0 }, all)
    }

    /// All offsets but zero up to a Chebyshev distance.
    package static func offsets(within distance: Int, inSpace: Bool) -> [SIMD3<Int>] {
        let range = -distance...distance
        return (inSpace ? range : 0...0).flatMap { k in range.flatMap { j in range.map { SIMD3($0, j, k) } } }
            .filter { $0 != SIMD3(0, 0, 0) }
    }
}

extension LevelGrid {
    /// - Precondition: every intensity that counts is finite, and there is one.
    /// - Throws: `notIntegers` when levels without discretisation are not integers from 1, `tooManyLevels`.
    package init(of region: RadiomicsRegion, _ discretisation: RadiomicsSettings.Discretisation) throws(FeatureAbsence)
    {
        let bins = Bins(of: region, discretisation)
        guard discretisation.method != .identity || bins.least >= 1 && region.holdsOnlyIntegers() else {
            throw .notIntegers
        }
        let first = bins.level(bins.least)
        let last = bins.level(bins.greatest)
        guard last - first < Double(Self.mostLevels), last < 1e9 else { throw .tooManyLevels }
        let inner = region.shape
        shape = VolumeShape(x: inner.x + 2, y: inner.y + 2, z: inner.z + 2)
        spacing = region.spacing
        base = Int(first) - 1
        count = Int(last - first) + 1
        levelCount = discretisation.method == .fixedBinNumber ? discretisation.binCount : Int(last)
        var levels = [UInt16](repeating: 0, count: shape.count)
        var voxelCount = 0
        for k in 0..<inner.z {
            for j in 0..<inner.y {
                let source = inner.offset(0, j, k)
                let target = shape.offset(1, j + 1, k + 1)
                for i in 0..<inner.x where region.intensityMask[source + i] != 0 {
                    levels[target + i] = UInt16(bins.level(Double(region.intensities[source + i])) - Double(base))
                    voxelCount += 1
                }
            }
        }
        self.levels = levels
        self.voxelCount = voxelCount
    }
}

/// The bins of a discretisation.
package struct Bins: Sendable {
    /// The least and the greatest intensity of the region.
    package let least: Double
    /// In the unit of the region; −∞ where no intensity counts.
    package let greatest: Double
    /// Where the first bin begins.
    package let origin: Double
    private let discretisation: RadiomicsSettings.Discretisation

    /// Finds the range of the intensities that count.
    /// - Complexity: one read of the box.
    package init(of region: RadiomicsRegion, _ discretisation: RadiomicsSettings.Discretisation) {
        var least = Float.infinity
        var greatest = -Float.infinity
        for place in region.intensities.indices where region.intensityMask[place] != 0 {
            least = min(least, region.intensities[place])
            greatest = max(greatest, region.intensities[place])
        }
        self.least = Double(least)
        self.greatest = Double(greatest)
        self.discretisation = discretisation
        switch discretisation.origin {
        case .range:
            let bound = region.range?.lowerBound ?? -.infinity
            origin = bound.isFinite ? bound : Double(least)
        case .multiple: origin = (Double(least) / discretisation.binWidth).rounded(.down) * discretisation.binWidth
        }
    }

    /// The grey level of an intensity: from 1, an integer for integers.
    package func level(_ intensity: Double) -> Double {
        switch discretisation.method {
        case .identity: return intensity
        case .fixedBinSize: return max(1, ((intensity - origin) / discretisation.binWidth).rounded(.down) + 1)
        case .fixedBinNumber:
            // The formula would divide by zero for equal intensities. The greatest intensity itself belongs to the last bin.
            guard greatest > least else { return 1 }
            let count = Double(discretisation.binCount)
            return min(count, (count * (intensity - least) / (greatest - least)).rounded(.down) + 1)
        }
    }
}

extension RadiomicsRegion {
    fileprivate func holdsOnlyIntegers() -> Bool {
        for place in intensities.indices
        where intensityMask[place] != 0 && intensities[place].rounded() != intensities[place] {
            return false
        }
        return true
    }
}
