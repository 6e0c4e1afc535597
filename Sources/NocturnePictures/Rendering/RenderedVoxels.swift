import NocturneConcurrency
import NocturneCore

/// What rays pass through: a volume along the patient's axes (R, A, S) with at most 256 voxels a side, of 16 bits.
///
/// Each voxel stands for a block of stored ones and is the mean of their intensities, limited to the range of the transfer
/// function. Means are those of integers, so they do not depend on the order in which voxels are stored.
struct RenderedVoxels: Sendable {
    static let largestSide = 256

    let shape: VolumeShape
    /// 0 is the lower end of the range, 65535 the upper one. Voxels that are not finite are left out of the mean; a block
    /// without others is at the lower end. Before each axis there is one voxel more, and after it two, like the outermost one.
    let intensities: FrozenVoxels<UInt16>
    /// For each voxel, the place of its label's colour in ``colors``; 0 without a label or a colour. Nil without labels.
    let labels: FrozenVoxels<UInt16>?
    /// From 0 to 1; the first is not used.
    let colors: [SIMD3<Float>]
    /// From indices to mm along R, A and S, from the middle of the volume.
    let affine: Affine
    /// From mm to indices.
    let inverse: Affine
    /// The index at which the volume ends, half a voxel behind its last one; it begins at -0.5.
    let end: SIMD3<Double>

    /// In ``intensities``: voxels from one row to the next, from one plane to the next, and to the first.
    var row: Int { shape.x + Self.padding }
    var plane: Int { row * (shape.y + Self.padding) }
    var origin: Int { plane + row + 1 }
    static let padding = 3

    static func predictedBytes(_ shape: VolumeShape, hasLabels: Bool) -> Int {
        let counts = [shape.x, shape.y, shape.z].map { ($0 + stored($0) - 1) / stored($0) }
        let padded = counts.reduce(1) { $0 * ($1 + padding) }
        return padded * 2 + (hasLabels ? counts.reduce(1, *) * 2 : 0) + (2 << 20)
    }

    /// The stored voxels along an axis that become one.
    private static func stored(_ count: Int) -> Int { max(1, (count + largestSide - 1) / largestSide) }

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
        let blocks = VoxelBlocks(grid, grid.axes.map { Self.stored($0.count) })
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
        labels = try map.map { try Self.reduced($0, blocks, places, scope) }
    }

    /// The label of the voxel in the middle of each block.
    private static func reduced(
        _ map: LabelVolume,
        _ blocks: VoxelBlocks,
        _ places: [UInt16],
        _ scope: ComputeScope
    ) throws -> FrozenVoxels<UInt16> {
        var labels = try VoxelBuffer<UInt16>(count: blocks.shape.count)
        try map.voxels.withParallelReader { voxels in
            try places.withParallelReader { places in
                try labels.withParallelBuffer { labels in
                    try blocks.forEach(scope) { target, block in
                        labels[target] = places[Int(voxels[blocks.middle(of: block)])]
                    }
                }
            }
        }
        return labels.frozen()
    }

    /// Lends intensities, labels and colours to a loop that reads them.
    func withReaders<E: Error>(
        _ body: (ParallelReader<UInt16>, ParallelReader<UInt16>?, ParallelReader<SIMD3<Float>>) throws(E) -> Void
    ) throws(E) {
        try intensities.withParallelReader { intensities throws(E) in
            try colors.withParallelReader { colors throws(E) in
                guard let labels else { return try body(intensities, nil, colors) }
                try labels.withParallelReader { labels throws(E) in try body(intensities, labels, colors) }
            }
        }
    }
}
