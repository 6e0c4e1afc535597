public import NocturneConcurrency
public import NocturneCore

/// A volume with its labels, small enough to look at in a browser: at most 192 voxels a side, grey values of eight bits.
///
/// Each voxel stands for a block of stored ones, of the same size everywhere. Its grey value is that of the block's mean; its
/// label that of the voxel in the block's middle. The axes are those of the stored grid in the order R, A and S.
public struct ReducedVolume: Sendable {
    /// The most voxels along any axis.
    public static let largestSide = 192

    /// Of the reduced grid: larger voxels that fill the same space.
    public let geometry: VolumeGeometry
    /// 0 stands for ``lower``, 255 for ``upper``.
    public let greys: FrozenVoxels<UInt8>
    /// On the same grid as ``greys``; 0 without labels.
    public let labels: FrozenVoxels<UInt16>
    /// The intensity of grey value 0.
    public let lower: Double
    /// The intensity of grey value 255.
    public let upper: Double

    /// The memory in bytes that the result takes. The means of which it is made take about two thirds of it in addition.
    public static func predictedBytes(_ shape: VolumeShape) -> Int {
        VoxelBlocks.shape(of: shape, largestSide: largestSide).count * 3
    }

    /// - Parameter window: the range of intensities to keep; others are limited to it.
    /// - Throws: ``CancelledError``; the flag is checked for every slice of the result. `AllocationError`.
    /// - Complexity: every voxel is read once.
    public init(_ volume: Volume, labels: LabelVolume?, window: PictureWindow, scope: ComputeScope) throws {
        let stored = volume.geometry
        precondition(labels.map { $0.geometry.shape == stored.shape } ?? true, "labels and image lie on one grid")
        let grid = SlicedGrid(stored, through: nil)
        let blocks = VoxelBlocks(grid, largestSide: Self.largestSide)
        let scale = GreyScale(window, over: grid.sampled(volume))
        lower = scale.lower
        upper = max(scale.upper, scale.lower + 1e-3)
        greys = try Self.greys(of: try blocks.means(of: volume, lower...upper, scope), blocks.shape, scope)
        self.labels =
            try labels.map { try blocks.labels(of: $0, as: Array(0...UInt16.max), scope) }
            ?? VoxelBuffer(count: blocks.shape.count).frozen()
        // Voxel centres are the centres of whole blocks.
        let steps = SIMD3(Double(blocks.sizes[0]), Double(blocks.sizes[1]), Double(blocks.sizes[2]))
        var centres = Affine.scaling(steps)
        centres.translation = (steps - 1) / 2
        let affine = grid.orientation.geometry(from: stored).affine.composed(with: centres)
        geometry = VolumeGeometry(shape: blocks.shape, affine: affine)
    }

    /// Eight bits of each mean, without those around the volume.
    private static func greys(
        of means: FrozenVoxels<UInt16>,
        _ shape: VolumeShape,
        _ scope: ComputeScope
    ) throws -> FrozenVoxels<UInt8> {
        var greys = try VoxelBuffer<UInt8>(count: shape.count)
        try means.withParallelReader { means in
            try greys.withParallelBuffer { greys in
                try scope.forEach(shape.z) { z in
                    for y in 0..<shape.y {
                        let row = means + shape.padded.offset(1, y + 1, z + 1)
                        let target = greys + shape.offset(0, y, z)
                        // 65535 is 257 times 255.
                        for x in 0..<shape.x { target[x] = UInt8((Int(row[x]) + 128) / 257) }
                    }
                }
            }
        }
        return greys.frozen()
    }
}
