internal import CNocturneKernels
import NocturneConcurrency
import NocturneCore

/// The blocks of stored voxels that become one voxel each, of the same size everywhere; at the end of an axis there may be fewer
/// voxels in a block.
struct VoxelBlocks: Sendable {
    /// Blocks along R, A and S.
    let shape: VolumeShape
    private let grid: SlicedGrid
    /// Stored voxels of a block along R, A and S.
    let sizes: [Int]
    /// R, A and S, the one along which neighbours are stored closest first.
    private let order: [Int]

    /// - Parameter largestSide: the most blocks along an axis.
    init(_ grid: SlicedGrid, largestSide: Int) {
        self.grid = grid
        let counts = grid.axes.map(\.count)
        sizes = counts.map { Self.size($0, largestSide) }
        shape = Self.shape(of: VolumeShape(x: counts[0], y: counts[1], z: counts[2]), largestSide: largestSide)
        order = [0, 1, 2].sorted { grid.orientation.source[$0] < grid.orientation.source[$1] }
    }

    /// The blocks along the same axes as the stored voxels.
    static func shape(of stored: VolumeShape, largestSide: Int) -> VolumeShape {
        func blocks(_ count: Int) -> Int { (count - 1) / size(count, largestSide) + 1 }
        return VolumeShape(x: blocks(stored.x), y: blocks(stored.y), z: blocks(stored.z))
    }

    private static func size(_ count: Int, _ largestSide: Int) -> Int { (count - 1) / largestSide + 1 }

    /// The label of the voxel in the middle of every block, as `table` replaces it.
    /// - Throws: ``CancelledError``; the flag is checked for every plane of the result. `AllocationError`.
    func labels(of map: LabelVolume, as table: [UInt16], _ scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        let middles = (0..<3).map { axis in
            (0..<shape[axis]).map { block in
                let places = places(axis, block)
                return grid.axes[axis].offsets[(places.lowerBound + places.upperBound) / 2]
            }
        }
        let (fast, middle, slow) = (order[0], order[1], order[2])
        let steps = [1, shape.x, shape.sliceCount]
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        try map.voxels.withParallelReader { voxels in
            try table.withParallelReader { table in
                try labels.withParallelBuffer { labels in
                    try scope.forEach(shape[slow]) { plane in
                        for line in 0..<shape[middle] {
                            let row = voxels + (grid.origin + middles[middle][line] + middles[slow][plane])
                            let target = labels + (line * steps[middle] + plane * steps[slow])
                            for (place, offset) in middles[fast].enumerated() {
                                target[place * steps[fast]] = table[Int(row[offset])]
                            }
                        }
                    }
                }
            }
        }
        return labels.frozen()
    }

    /// The mean of every block, with the outermost ones repeated around them: 0 is the lower end of the range, 65535 the upper one.
    ///
    /// Intensities outside the range are limited to it first. Voxels that are not finite are left out; a block without others is at
    /// the lower end.
    /// - Throws: ``CancelledError``; the flag is checked for every plane of the result. `AllocationError`.
    func means(
        of volume: Volume,
        _ range: ClosedRange<Double>,
        _ scope: ComputeScope
    ) throws -> FrozenVoxels<UInt16> {
        let padded = shape.padded
        let rowCount = shape[order[0]]
        // The difference of the limits is neither 0 nor infinite in single precision.
        let lower = Float(min(max(range.lowerBound, -1e38), 1e38))
        let upper = max(Float(min(max(range.upperBound, -1e38), 1e38)), lower.nextUp)
        let limits = nk_voxel_range(lower: lower, upper: upper, scale: 65535 / (upper - lower))
        var means = try VoxelBuffer<UInt16>(count: padded.count)
        try volume.voxels.withParallelReader { voxels in
            try means.withParallelBuffer { means in
                try scope.forEach(shape[order[2]]) { slow in
                    var block = SIMD3<Int>()
                    block[order[2]] = slow
                    for middle in 0..<shape[order[1]] {
                        block[order[1]] = middle
                        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: rowCount) { sums in
                            sums.initialize(repeating: 0)
                            forEachRow(of: block) { row, count, phase in
                                nk_add_blocks(
                                    voxels + row,
                                    count,
                                    phase,
                                    sizes[order[0]],
                                    limits,
                                    sums.baseAddress!
                                )
                            }
                            for place in 0..<rowCount {
                                block[order[0]] = isReversed ? rowCount - 1 - place : place
                                means[padded.offset(block.x + 1, block.y + 1, block.z + 1)] = Self.mean(sums[place])
                            }
                        }
                    }
                }
                Self.pad(means + 0, padded)
            }
        }
        return means.frozen()
    }

    /// - Parameter sum: of the values in the lower bits, and their number in the upper ones.
    private static func mean(_ sum: UInt64) -> UInt16 {
        let count = sum >> UInt64(NK_BLOCK_COUNT_SHIFT)
        let total = sum & (1 << UInt64(NK_BLOCK_COUNT_SHIFT) - 1)
        return count > 0 ? UInt16(min((total + count / 2) / count, 65535)) : 0
    }

    /// Whether voxels are stored from the end of the axis that varies fastest.
    private var isReversed: Bool { grid.orientation.reversed[order[0]] }

    /// Calls `body` with the storage offset of every row of voxels of a row of blocks, its number of voxels, and how many voxels
    /// its first block lacks.
    private func forEachRow(of block: SIMD3<Int>, _ body: (_ row: Int, _ count: Int, _ phase: Int) -> Void) {
        let (fast, middle, slow) = (order[0], order[1], order[2])
        let count = grid.axes[fast].count
        let first = grid.origin + (isReversed ? grid.axes[fast].offsets[count - 1] : 0)
        let phase = isReversed ? (sizes[fast] - count % sizes[fast]) % sizes[fast] : 0
        for k in places(slow, block[slow]) {
            for j in places(middle, block[middle]) {
                body(first + grid.axes[slow].offsets[k] + grid.axes[middle].offsets[j], count, phase)
            }
        }
    }

    /// Repeats the outermost voxels: one before each axis, two after it.
    private static func pad(_ voxels: UnsafeMutablePointer<UInt16>, _ padded: VolumeShape) {
        let (row, plane) = (padded.x, padded.sliceCount)
        for z in 1..<padded.z - 2 {
            for y in 1..<padded.y - 2 {
                let line = voxels + padded.offset(0, y, z)
                line[0] = line[1]
                (line[row - 2], line[row - 1]) = (line[row - 3], line[row - 3])
            }
            let slice = voxels + z * plane
            slice.update(from: slice + row, count: row)
            let last = slice + (padded.y - 3) * row
            (last + row).update(from: last, count: row)
            (last + 2 * row).update(from: last, count: row)
        }
        voxels.update(from: voxels + plane, count: plane)
        let last = voxels + (padded.z - 3) * plane
        (last + plane).update(from: last, count: plane)
        (last + 2 * plane).update(from: last, count: plane)
    }

    private func places(_ axis: Int, _ block: Int) -> Range<Int> {
        block * sizes[axis]..<min((block + 1) * sizes[axis], grid.axes[axis].count)
    }

    /// From indices of blocks to mm from the middle of the stored grid. A grid whose axes have no directions in the patient
    /// is drawn along its own.
    func affine(_ geometry: VolumeGeometry) -> Affine {
        let directions = grid.orientation.geometry(from: geometry).affine
        var columns = (0..<3).map { axis -> SIMD3<Double> in
            let column = directions.column(axis)
            return column * (grid.axes[axis].spacing / length(column)) * Double(sizes[axis])
        }
        let volume = dot(cross(columns[0], columns[1]), columns[2])
        if !(abs(volume) > 1e-3 * columns.reduce(1) { $0 * length($1) }) {
            columns = (0..<3).map { axis in
                var column = SIMD3<Double>.zero
                column[axis] = grid.axes[axis].spacing * Double(sizes[axis])
                return column
            }
        }
        let middle = (end - 0.5) / 2
        let translation = (0..<3).reduce(SIMD3<Double>.zero) { $0 - columns[$1] * middle[$1] }
        return Affine(columnI: columns[0], columnJ: columns[1], columnK: columns[2], translation: translation)
    }

    /// Half a block after the last one, which may stand for fewer voxels.
    var end: SIMD3<Double> {
        let counts = (0..<3).map { Double(grid.axes[$0].count) / Double(sizes[$0]) - 0.5 }
        return SIMD3(counts[0], counts[1], counts[2])
    }
}

extension VolumeShape {
    /// With the voxels around a volume that rays read, too: one before each axis, two after it.
    var padded: VolumeShape { VolumeShape(x: x + 3, y: y + 3, z: z + 3) }
}
