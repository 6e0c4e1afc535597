public import NocturneConcurrency
public import NocturneCore
import NocturnePostprocess
public import NocturneSystem

/// Makes regions from an image and a label map: interpolation, rounding and re-segmentation (section 2 of the manual).
public struct RegionExtractor: Sendable {
    private let image: Volume
    private let labels: LabelVolume
    private let settings: RadiomicsSettings
    /// From the image's values to the unit of the settings.
    private let scale: Double
    /// Of a box of the new grid.
    private let maximumVoxels: Int
    private let flag: CancellationFlag
    private let grid: GridInterpolation
    /// The boxes of the values that occur, in old voxels.
    private let boxes: [UInt16: VoxelBox]

    /// Finds the boxes of all labels, by one read of the label map.
    /// - Parameters:
    ///   - labels: on the image's grid.
    ///   - scale: of the image's values to the unit of the settings, such as the factor to standardized uptake values.
    ///   - maximumVoxels: of a box of the new grid; a region with more is not made. At most ``mostVoxels``.
    ///   - scope: its flag also cancels ``region(of:)``.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every slice.
    public init(
        image: Volume,
        labels: LabelVolume,
        settings: RadiomicsSettings,
        scale: Double = 1,
        maximumVoxels: Int = RegionExtractor.mostVoxels,
        scope: ComputeScope
    ) throws(CancelledError) {
        precondition(image.geometry.shape == labels.geometry.shape, "image and labels have one grid")
        precondition(maximumVoxels <= Self.mostVoxels, "more voxels than a region can have")
        self.image = image
        self.labels = labels
        self.settings = settings
        self.scale = scale
        self.maximumVoxels = maximumVoxels
        flag = scope.flag
        grid = GridInterpolation(image.geometry, to: settings.interpolation.spacing)
        boxes = try labels.voxels.withParallelReader { voxels throws(CancelledError) in
            try VoxelBox.ofLabels(in: voxels, labels.geometry.shape, scope)
        }
    }

    /// The values that occur besides 0, ascending.
    public var values: [UInt16] { boxes.keys.sorted() }

    /// The most voxels of a box that is interpolated: 2 GiB in single precision.
    public static let mostVoxels = 1 << 29

    /// The memory in bytes that the features of one region take at most, besides image and labels.
    ///
    /// Measured on boxes of noise that are all region, with all families: 76 bytes a voxel of the new grid with one thread, 88
    /// with two, 103 with four and 117 with eleven, which compute all families at once.
    /// - Parameters:
    ///   - geometry: of the image.
    ///   - maximumVoxels: as for the extractor.
    public static func predictedBytes(
        _ geometry: VolumeGeometry,
        settings: RadiomicsSettings,
        maximumVoxels: Int,
        threads: Int
    ) -> Int {
        let grid = GridInterpolation(geometry, to: settings.interpolation.spacing)
        let voxels = min(grid.shape.count, maximumVoxels)
        let source = settings.interpolation.image == .cubic ? geometry.shape.count : 4 * geometry.shape.sliceCount
        return voxels * min(80 + 10 * threads, 130) + source * MemoryLayout<Double>.stride
    }

    /// The region of a value after all steps.
    ///
    /// Memory: about 20 bytes per voxel of the new grid in the label's box and 7 mm around it.
    /// - Throws: ``FeatureAbsence``: `noVoxels` or `tooLarge` when no voxel is left of its mask, or its box on the new grid is
    ///   too large. ``CancelledError``; the flag is checked for every slice.
    public func region(of value: UInt16) throws -> RadiomicsRegion {
        guard let box = boxes[value], let candidates = grid.voxels(near: box) else {
            throw FeatureAbsence.noVoxels
        }
        // An axis at its limit was cut (``AxisInterpolation``).
        guard grid.axes.allSatisfy({ $0.count < 1 << 20 }), candidates.shape.count <= maximumVoxels else {
            throw FeatureAbsence.tooLarge
        }
        let mask = try mask(of: value, in: candidates)
        guard let inner = VoxelBox(around: mask, shape: candidates.shape) else {
            throw FeatureAbsence.noVoxels
        }
        let lower = candidates.lower &+ inner.lower
        // Limited, so that it is an integer where voxels are tiny.
        let margin = SIMD3<Int>(
            pointwiseMin((RadiomicsRegion.peakRadius / grid.spacing).rounded(.up), SIMD3(repeating: 0x1p20))
        )
        let around = VoxelBox(
            lower: pointwiseMax(lower &- margin, SIMD3(0, 0, 0)),
            upper: pointwiseMin(candidates.lower &+ inner.upper &+ margin, VoxelBox(all: grid.shape).upper)
        )
        guard around.shape.count <= maximumVoxels else { throw FeatureAbsence.tooLarge }
        let surroundings = RadiomicsRegion.Surroundings(
            shape: around.shape,
            offset: lower &- around.lower,
            intensities: try intensities(in: around)
        )
        let bounds = settings.resegmentation
        let drawn = RadiomicsRegion(
            spacing: grid.spacing,
            surroundings: surroundings,
            shape: inner.shape,
            mask: mask.cropped(to: inner, of: candidates.shape),
            range: bounds.lower == nil && bounds.upper == nil
                ? nil : (bounds.lower ?? -.infinity)...max(bounds.upper ?? .infinity, bounds.lower ?? -.infinity)
        )
        return drawn.resegmented(bounds)
    }

    /// 1 where at least the least share of a new voxel is in the mask.
    private func mask(of value: UInt16, in box: VoxelBox) throws(CancelledError) -> [UInt8] {
        let kernel: RadiomicsSettings.Kernel = settings.interpolation.mask == .linear ? .linear : .nearest
        let shape = labels.geometry.shape
        let shares = try grid.values(in: box, kernel, flag) { start, row in
            let first = shape.offset(start.x, start.y, start.z)
            labels.voxels.withUnsafeBufferPointer { voxels in
                for place in row.indices { row[place] = voxels[first + place] == value ? 1 : 0 }
            }
        }
        // Shares that are the least share but for rounding are in.
        let least = Float(settings.interpolation.partialVolume - 1e-6)
        return shares.map { $0 >= least ? 1 : 0 }
    }

    private func intensities(in box: VoxelBox) throws(CancelledError) -> [Float] {
        let shape = image.geometry.shape
        var values = try grid.values(in: box, settings.interpolation.image, flag) { start, row in
            let first = shape.offset(start.x, start.y, start.z)
            image.voxels.withUnsafeBufferPointer { voxels in
                for place in row.indices { row[place] = scale * Double(voxels[first + place]) }
            }
        }
        if settings.interpolation.roundsIntensities {
            for place in values.indices { values[place] = values[place].rounded(.toNearestOrEven) }
        }
        return values
    }
}

extension RadiomicsRegion {
    /// Removes voxels from the intensity mask. The mean and the standard deviation of outliers are those of the region as it
    /// was drawn.
    fileprivate func resegmented(_ bounds: RadiomicsSettings.Resegmentation) -> RadiomicsRegion {
        var (lower, upper) = (bounds.lower ?? -.infinity, bounds.upper ?? .infinity)
        if let sigmas = bounds.outlierSigmas {
            let drawn = values(in: morphology)
            let (mean, squares) = drawn.moments()
            // Comparisons with NaN keep everything, and NaN is reported as such.
            let reach = sigmas * (squares / Double(drawn.count)).squareRoot()
            if reach.isFinite { (lower, upper) = (max(lower, mean - reach), min(upper, mean + reach)) }
        }
        guard lower > -.infinity || upper < .infinity else { return self }
        var region = self
        for place in intensities.indices where intensityMask[place] != 0 {
            let value = Double(intensities[place])
            if !(value >= lower && value <= upper) { region.intensityMask[place] = 0 }
        }
        return region
    }
}
