public import NocturneCore

/// A region after interpolation and re-segmentation: what features are computed from.
///
/// All arrays cover the box around the morphological mask, in the order of `VolumeShape`.
public struct RadiomicsRegion: Sendable {
    /// The number of voxels of the box along i, j and k.
    public let shape: VolumeShape
    /// The distance between voxels in mm.
    public let spacing: SIMD3<Double>
    /// The intensity of every voxel of the box.
    public let intensities: [Float]
    /// 1 in the region as it was drawn, else 0.
    public let morphology: [UInt8]
    /// 1 where the intensity counts, else 0: never where `morphology` is 0.
    public internal(set) var intensityMask: [UInt8]
    /// The bounds of re-segmentation, which some discretisations begin at.
    public let range: ClosedRange<Double>?
    /// The image around the region, for features that look beyond it.
    let surroundings: Surroundings

    /// The radius in mm of a sphere of 1 cm³, over which the peaks of local intensity are means.
    static let peakRadius = 6.203504908994001

    /// Intensities of a larger box.
    struct Surroundings: Sendable {
        let shape: VolumeShape
        /// Where the region's box begins in it.
        let offset: SIMD3<Int>
        let intensities: [Float]
    }

    /// A region in an image that needs no processing.
    /// - Parameters:
    ///   - shape: of the image.
    ///   - spacing: in mm.
    ///   - intensities: of the whole image; features of local intensity use voxels outside the mask.
    ///   - mask: 1 in the region, else 0.
    /// - Returns: nil when the mask has no voxel.
    public init?(shape: VolumeShape, spacing: SIMD3<Double>, intensities: [Float], mask: [UInt8]) {
        precondition(intensities.count == shape.count && mask.count == shape.count, "arrays do not fill the shape")
        guard let box = VoxelBox(around: mask, shape: shape) else { return nil }
        self.init(
            spacing: spacing,
            surroundings: Surroundings(shape: shape, offset: box.lower, intensities: intensities),
            shape: box.shape,
            mask: mask.cropped(to: box, of: shape),
            range: nil
        )
    }

    init(
        spacing: SIMD3<Double>,
        surroundings: Surroundings,
        shape: VolumeShape,
        mask: [UInt8],
        range: ClosedRange<Double>?
    ) {
        self.shape = shape
        self.spacing = spacing
        self.surroundings = surroundings
        let box = VoxelBox(lower: surroundings.offset, upper: surroundings.offset &+ SIMD3(shape.x, shape.y, shape.z))
        intensities = surroundings.intensities.cropped(to: box, of: surroundings.shape)
        morphology = mask
        intensityMask = mask
        self.range = range
    }

    /// The volume of a voxel in mm³.
    var voxelVolume: Double { spacing.x * spacing.y * spacing.z }

    /// The intensities that count, in the order of the voxels.
    func values() -> [Float] { values(in: intensityMask) }

    /// The intensities in a mask, in the order of the voxels.
    func values(in mask: [UInt8]) -> [Float] {
        var values: [Float] = []
        values.reserveCapacity(intensities.count)
        for place in intensities.indices where mask[place] != 0 { values.append(intensities[place]) }
        return values
    }

    /// Whether an intensity that counts is NaN or infinite.
    func hasValuesThatAreNotFinite() -> Bool {
        for place in intensities.indices where intensityMask[place] != 0 && !intensities[place].isFinite { return true }
        return false
    }
}

extension VoxelBox {
    /// The box around the voxels that are not 0; nil where all are.
    init?(around mask: [UInt8], shape: VolumeShape) {
        var lower = SIMD3(Int.max, Int.max, Int.max)
        var upper = SIMD3(-1, -1, -1)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                let row = mask[shape.offset(0, j, k)..<shape.offset(0, j, k) + shape.x]
                guard let first = row.firstIndex(where: { $0 != 0 }), let last = row.lastIndex(where: { $0 != 0 })
                else {
                    continue
                }
                lower = pointwiseMin(lower, SIMD3(first - row.startIndex, j, k))
                upper = pointwiseMax(upper, SIMD3(last - row.startIndex, j, k))
            }
        }
        guard upper.x >= 0 else { return nil }
        self.init(lower: lower, upper: upper &+ SIMD3(1, 1, 1))
    }
}

extension [Float] {
    /// The mean, and the sum of squared deviations from it, by two passes: the difference of two large sums would lose digits.
    func moments() -> (mean: Double, squares: Double) {
        var sum = 0.0
        for value in self { sum += Double(value) }
        let mean = sum / Double(count)
        var squares = 0.0
        for value in self { squares += (Double(value) - mean) * (Double(value) - mean) }
        return (mean, squares)
    }
}

extension Array {
    /// The elements of a box of an array that fills a shape.
    func cropped(to box: VoxelBox, of shape: VolumeShape) -> [Element] {
        var cropped: [Element] = []
        cropped.reserveCapacity(box.shape.count)
        for k in box.lower.z..<box.upper.z {
            for j in box.lower.y..<box.upper.y {
                cropped += self[shape.offset(box.lower.x, j, k)..<shape.offset(box.upper.x, j, k)]
            }
        }
        return cropped
    }
}
