import NocturneConcurrency
import NocturneCore

/// What rays pass through: a volume along the patient's axes (R, A, S) with at most 256 voxels a side, of 16 bits.
///
/// Each voxel stands for a block of stored ones and is the mean of their intensities, limited to the range of the transfer
/// function. Means are those of integers, so they do not depend on the order in which voxels are stored.
struct RenderedVoxels: Sendable {
    /// Voxels along an axis.
    static let largestSide = 256

    let shape: VolumeShape
    /// 0 is the lower end of the range, 65535 the upper one. Voxels that are not finite are left out of the mean; a block
    /// without others is at the lower end. Before each axis there is one voxel more, and after it two, like the outermost one.
    let intensities: FrozenVoxels<UInt16>
    /// Nil without labels.
    let labels: Labels?
    /// From 0 to 1; the first is not used.
    let colors: [SIMD3<Float>]
    /// From indices to mm along R, A and S, from the middle of the volume.
    let affine: Affine
    /// From mm to indices.
    let inverse: Affine
    /// The index at which the volume ends, half a voxel behind its last one; it begins at -0.5.
    let end: SIMD3<Double>

    /// In ``intensities``: voxels from one row to the next, from one plane to the next, and to the first.
    var row: Int { shape.padded.x }
    var plane: Int { shape.padded.sliceCount }
    var origin: Int { plane + row + 1 }

    struct Labels: Sendable {
        /// For each voxel, the place of its label's colour in ``RenderedVoxels/colors``; 0 without a label or a colour.
        let places: FrozenVoxels<UInt16>
        /// As many as ``RenderedVoxels/intensities``, with 0 around: 32768 or more in a labelled voxel, less in another; the more,
        /// the more labelled ones are around it. So a surface between them is smooth, and loses no voxel.
        let shares: FrozenVoxels<UInt16>
    }

    static func predictedBytes(_ shape: VolumeShape, hasLabels: Bool) -> Int {
        let shape = VoxelBlocks.shape(of: shape, largestSide: largestSide)
        return shape.padded.count * 2 + (hasLabels ? shape.padded.count * 2 + shape.count * 2 : 0) + (2 << 20)
    }

    /// - Throws: ``CancelledError``; the flag is checked for every plane of the result. `AllocationError`.
    /// - Complexity: every voxel is read once, in the order in which it is stored.
    init(
        _ volume: Volume,
        labels map: LabelVolume?,
        colors: [UInt16: SIMD3<UInt8>],
        range: ClosedRange<Double>,
        scope: ComputeScope
    ) throws {
        let grid = SlicedGrid(volume.geometry, through: nil)
        let blocks = VoxelBlocks(grid, largestSide: Self.largestSide)
        shape = blocks.shape
        affine = blocks.affine(volume.geometry)
        inverse = affine.inverse ?? .identity
        end = blocks.end
        intensities = try blocks.means(of: volume, range, scope)
        var places = [UInt16](repeating: 0, count: 1 << 16)
        var found: [SIMD3<Float>] = [.zero]
        for (label, color) in colors.sorted(by: { $0.key < $1.key }) where label != 0 {
            places[Int(label)] = UInt16(found.count)
            found.append(SIMD3<Float>(SIMD3<Int>(truncatingIfNeeded: color)) / 255)
        }
        self.colors = found
        labels = try map.map { map in
            let places = try blocks.labels(of: map, as: places, scope)
            return Labels(places: places, shares: try Self.shares(places, blocks.shape, scope))
        }
    }

    /// Half of each value is the voxel's own, half that of the 27 around it, weighted by 1, 2, 1 along each axis.
    private static func shares(
        _ places: FrozenVoxels<UInt16>,
        _ shape: VolumeShape,
        _ scope: ComputeScope
    ) throws -> FrozenVoxels<UInt16> {
        let padded = shape.padded
        var shares = try VoxelBuffer<UInt16>(count: padded.count)
        try places.withParallelReader { places in
            try shares.withParallelBuffer { shares in
                try scope.forEach(shape.z) { z in
                    var sums = [Int](repeating: 0, count: shape.x + 2)
                    for y in 0..<shape.y {
                        for x in 0..<shape.x { sums[x + 1] = 0 }
                        for k in max(z - 1, 0)..<min(z + 2, shape.z) {
                            for j in max(y - 1, 0)..<min(y + 2, shape.y) {
                                let weight = (2 - abs(k - z)) * (2 - abs(j - y))
                                let row = places + shape.offset(0, j, k)
                                for x in 0..<shape.x where row[x] != 0 { sums[x + 1] += weight }
                            }
                        }
                        let (row, target) = (shape.offset(0, y, z), padded.offset(1, y + 1, z + 1))
                        for x in 0..<shape.x {
                            let around = sums[x] + 2 * sums[x + 1] + sums[x + 2]
                            guard around > 0 else { continue }
                            shares[target + x] = UInt16((around + (places[row + x] != 0 ? 64 : 0)) * 65535 / 128)
                        }
                    }
                }
            }
        }
        return shares.frozen()
    }

    /// What rays read.
    struct Readers {
        let intensities: ParallelReader<UInt16>
        let labels: (places: ParallelReader<UInt16>, shares: ParallelReader<UInt16>)?
        let colors: ParallelReader<SIMD3<Float>>
    }

    /// Lends intensities, labels and colours to a loop that reads them.
    func withReaders<E: Error>(_ body: (Readers) throws(E) -> Void) throws(E) {
        try intensities.withParallelReader { intensities throws(E) in
            try colors.withParallelReader { colors throws(E) in
                guard let labels else {
                    return try body(Readers(intensities: intensities, labels: nil, colors: colors))
                }
                try labels.places.withParallelReader { places throws(E) in
                    try labels.shares.withParallelReader { shares throws(E) in
                        try body(Readers(intensities: intensities, labels: (places, shares), colors: colors))
                    }
                }
            }
        }
    }
}
