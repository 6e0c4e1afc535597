public import NocturneConcurrency
public import NocturneCore

/// A volume with its labels, small enough to look at in a browser: at most 192 voxels a side, grey values of eight bits.
///
/// Each voxel stands for a block of stored ones, of the same size everywhere. Its grey value is that of the block's mean; its
/// label that of the voxel in the block's middle. The axes are the stored ones.
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

    /// The memory in bytes that the result takes.
    public static func predictedBytes(_ shape: VolumeShape) -> Int { reduced(shape, blocks(of: shape)).count * 3 }

    /// - Parameter window: the range of intensities to keep.
    /// - Throws: ``CancelledError``; the flag is checked for every slice of the result. `AllocationError`.
    /// - Complexity: every voxel is read once.
    public init(_ volume: Volume, labels: LabelVolume?, window: PictureWindow, scope: ComputeScope) throws {
        let shape = volume.geometry.shape
        precondition(labels.map { $0.geometry.shape == shape } ?? true, "labels and image lie on one grid")
        let blocks = Self.blocks(of: shape)
        let size = Self.reduced(shape, blocks)
        let scale = GreyScale(window, over: Self.sampled(volume))
        var greys = try VoxelBuffer<UInt8>(count: size.count)
        try volume.voxels.withParallelReader { voxels in
            try greys.withParallelBuffer { greys in
                try scope.forEach(size.z) { k in
                    Self.forEachBlock(ofPlane: k, size, blocks, shape) {
                        greys[$0] = scale.grey($1.mean(voxels, shape))
                    }
                }
            }
        }
        var values = try VoxelBuffer<UInt16>(count: size.count)
        try labels?.voxels.withParallelReader { stored in
            try values.withParallelBuffer { values in
                try scope.forEach(size.z) { k in
                    Self.forEachBlock(ofPlane: k, size, blocks, shape) { values[$0] = stored[$1.middle(shape)] }
                }
            }
        }
        geometry = Self.geometry(volume.geometry, blocks, size)
        self.greys = greys.frozen()
        self.labels = values.frozen()
        lower = scale.lower
        upper = max(scale.upper, scale.lower + 1e-3)
    }

    /// Calls `body` with the place of every voxel of a plane of the result, and the stored voxels it stands for.
    private static func forEachBlock(
        ofPlane k: Int,
        _ size: VolumeShape,
        _ blocks: SIMD3<Int>,
        _ shape: VolumeShape,
        _ body: (Int, Block) -> Void
    ) {
        for j in 0..<size.y {
            for i in 0..<size.x { body(size.offset(i, j, k), Block(SIMD3(i, j, k), blocks, shape)) }
        }
    }

    /// The stored voxels along each axis that become one.
    private static func blocks(of shape: VolumeShape) -> SIMD3<Int> {
        (SIMD3(shape.x, shape.y, shape.z) &+ (largestSide - 1)) / largestSide
    }

    private static func reduced(_ shape: VolumeShape, _ blocks: SIMD3<Int>) -> VolumeShape {
        VolumeShape(
            x: (shape.x + blocks.x - 1) / blocks.x,
            y: (shape.y + blocks.y - 1) / blocks.y,
            z: (shape.z + blocks.z - 1) / blocks.z
        )
    }

    /// Voxel centres are the centres of whole blocks.
    private static func geometry(_ stored: VolumeGeometry, _ blocks: SIMD3<Int>, _ size: VolumeShape) -> VolumeGeometry
    {
        let steps = SIMD3<Double>(Double(blocks.x), Double(blocks.y), Double(blocks.z))
        let first = (steps - 1) / 2
        let origin = stored.affine(first)
        func column(_ axis: Int) -> SIMD3<Double> {
            var place = first
            place[axis] += steps[axis]
            return stored.affine(place) - origin
        }
        return VolumeGeometry(
            shape: size,
            affine: Affine(columnI: column(0), columnJ: column(1), columnK: column(2), translation: origin)
        )
    }

    /// About a hundred thousand voxels at equal distances.
    private static func sampled(_ volume: Volume) -> [Float] {
        let count = volume.geometry.shape.count
        let step = max(1, count / 100_000)
        return volume.voxels.withUnsafeBufferPointer { voxels in
            stride(from: 0, to: count, by: step).map { voxels[$0] }.filter(\.isFinite)
        }
    }

    /// The stored voxels that one voxel of the result stands for; at the end of an axis there may be fewer.
    private struct Block {
        let lower: SIMD3<Int>
        let upper: SIMD3<Int>

        init(_ place: SIMD3<Int>, _ blocks: SIMD3<Int>, _ shape: VolumeShape) {
            lower = place &* blocks
            let end = lower &+ blocks
            upper = SIMD3(min(end.x, shape.x), min(end.y, shape.y), min(end.z, shape.z))
        }

        /// Of the finite voxels; NaN without one.
        func mean(_ voxels: ParallelReader<Float>, _ shape: VolumeShape) -> Float {
            var sum = 0.0
            var count = 0
            for k in lower.z..<upper.z {
                for j in lower.y..<upper.y {
                    let row = voxels + shape.offset(lower.x, j, k)
                    for i in 0..<upper.x - lower.x where row[i].isFinite {
                        sum += Double(row[i])
                        count += 1
                    }
                }
            }
            return count > 0 ? Float(sum / Double(count)) : .nan
        }

        /// The place in storage of the voxel in the middle.
        func middle(_ shape: VolumeShape) -> Int {
            shape.offset((lower.x + upper.x) / 2, (lower.y + upper.y) / 2, (lower.z + upper.z) / 2)
        }
    }
}
