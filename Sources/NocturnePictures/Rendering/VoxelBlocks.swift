internal import CNocturneKernels
import NocturneConcurrency
import NocturneCore

/// The blocks of stored voxels that become one voxel each. At the end of an axis there may be fewer voxels in a block.
struct VoxelBlocks: Sendable {
    /// Blocks along R, A and S.
    let shape: VolumeShape
    private let grid: SlicedGrid
    /// Stored voxels of a block along R, A and S.
    private let sizes: [Int]
    /// R, A and S, the one along which neighbours are stored closest first.
    private let order: [Int]

    init(_ grid: SlicedGrid, _ sizes: [Int]) {
        self.grid = grid
        self.sizes = sizes
        let counts = (0..<3).map { (grid.axes[$0].count + sizes[$0] - 1) / sizes[$0] }
        shape = VolumeShape(x: counts[0], y: counts[1], z: counts[2])
        order = [0, 1, 2].sorted { grid.orientation.source[$0] < grid.orientation.source[$1] }
    }

    /// Calls `body` with the offset of every block in the result, and its index.
    func forEach(_ scope: ComputeScope, _ body: @Sendable (_ target: Int, _ block: SIMD3<Int>) -> Void) throws {
        try scope.forEach(shape[order[2]]) { slow in
            var block = SIMD3<Int>()
            block[order[2]] = slow
            for middle in 0..<shape[order[1]] {
                block[order[1]] = middle
                for fast in 0..<shape[order[0]] {
                    block[order[0]] = fast
                    body(shape.offset(block.x, block.y, block.z), block)
                }
            }
        }
    }

    /// The mean of every block, with the outermost ones repeated around them.
    func means(
        of volume: Volume,
        _ range: ClosedRange<Double>,
        _ scope: ComputeScope
    ) throws -> FrozenVoxels<UInt16> {
        let padding = RenderedVoxels.padding
        let padded = VolumeShape(x: shape.x + padding, y: shape.y + padding, z: shape.z + padding)
        let rowCount = shape[order[0]]
        let (lower, upper) = (Float(range.lowerBound), Float(range.upperBound))
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

    /// The storage offset of the voxel in the middle of a block.
    func middle(of block: SIMD3<Int>) -> Int {
        (0..<3).reduce(grid.origin) { sum, axis in
            let places = places(axis, block[axis])
            return sum + grid.axes[axis].offsets[(places.lowerBound + places.upperBound) / 2]
        }
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
