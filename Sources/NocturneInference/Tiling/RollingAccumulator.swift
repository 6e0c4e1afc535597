internal import CNocturneKernels
public import NocturneConcurrency
internal import NocturneCore
public import NocturneSystem

/// Blends the tiles of a sliding window, holding at most as many planes as a patch is deep.
///
/// For every row of a ``TilePlan``: call ``add(_:tile:scope:)`` for all of its tiles in order, then
/// ``finishRow(scope:)``, and read the finished planes with ``withPlane(_:_:)`` before the next row begins. Planes are
/// returned in ascending z, each `[class][y][x]` of the image, without the padding: the form that the labeler of native
/// slices accepts.
///
/// Every voxel's sum is computed in tile order in float32, product first, whatever the number of threads, and does not
/// depend on other voxels: an accumulator that starts at plane p returns the same bits from p on as one that started at
/// 0.
///
/// With a map of half precision every sum and quotient is rounded to float16, which is nnU-Net's arithmetic on a CPU:
/// for comparisons with it. At the borders of the image, where only one tile contributes and with little weight, that
/// can round logits to whole numbers, so float32 is the better choice for everything else.
public struct RollingAccumulator: ~Copyable {
    /// The positions of the tiles.
    public let plan: TilePlan
    /// Channels of a tile.
    public let classes: Int
    /// The weights of a tile.
    public let map: ImportanceMap
    /// The tile that must be added next; `plan.tileCount` after the last one.
    public private(set) var nextTile: Int
    /// Planes of the image below this one are finished.
    public private(set) var finishedPlanes: Int
    /// Logits that were NaN or infinite, in all finished planes. With any value but 0 the result is invalid.
    public private(set) var nonFiniteCount = 0

    /// Plane p of the image is in slot p % depth: `[class][y][x]`.
    private var sums: VoxelBuffer<Float>
    /// Sums of weights in the same slots: `[y][x]`.
    private var weights: VoxelBuffer<Float>
    private let depth: Int
    /// Finished planes whose slots still hold them.
    private var returnedPlanes = 0..<0

    /// - Parameters:
    ///   - plane: the first plane that is not known yet. Tiles begin with the row
    ///     ``TilePlan/firstRow(neededForPlanesFrom:)``.
    ///   - folder: the folder of a file for the sums, of which only the part of one tile stays in memory; nil for
    ///     memory.
    /// - Throws: ``AllocationError``.
    public init(
        plan: TilePlan,
        classes: Int,
        map: ImportanceMap,
        resumingAtPlane plane: Int = 0,
        inFileIn folder: String? = nil
    ) throws {
        precondition(map.patch == plan.patch, "the importance map is of another patch size")
        precondition(classes > 0 && (0...plan.imageShape.z).contains(plane), "no such plane or no classes")
        self.plan = plan
        self.classes = classes
        self.map = map
        depth = min(plan.patch.z, plan.imageShape.z)
        nextTile = plan.firstRow(neededForPlanesFrom: plane) * plan.tilesInRow
        finishedPlanes = plane
        let area = plan.imageShape.y * plan.imageShape.x
        let (slots, overflow) = (depth * area).multipliedReportingOverflow(by: classes)
        let count = overflow ? .max : slots
        let sums = try folder.map { try VoxelBuffer<Float>(count: count, inFileIn: $0) } ?? VoxelBuffer(count: count)
        let weights = try VoxelBuffer<Float>(count: depth * area)
        self.sums = sums
        self.weights = weights
    }

    /// Bytes that an accumulator holds: 4 (classes + 1) for every voxel of a patch-deep part of the image.
    public static func predictedBytes(plan: TilePlan, classes: Int) -> Int {
        let window = GridZYX(min(plan.patch.z, plan.imageShape.z), plan.imageShape.y, plan.imageShape.x)
        return (classes + 1) * window.count * MemoryLayout<Float>.stride
    }

    /// The part of them that is in memory at a time when the sums are in a file: that of a tile, or of the planes that
    /// are finished together; rows of a tile share pages with their neighbours.
    public static func predictedBytesInFile(plan: TilePlan, classes: Int) -> Int {
        let float = MemoryLayout<Float>.stride
        let page = 4096
        let area = plan.imageShape.y * plan.imageShape.x * float
        let planes = min(plan.patch.z, plan.imageShape.z)
        let rows = min(plan.patch.y, plan.imageShape.y)
        let row = min(plan.patch.x, plan.imageShape.x) * float
        // A tile accesses a part of every row of a plane; where rows are short these parts are on the same pages.
        let part = min(rows * (row + page), rows * plan.imageShape.x * float + page)
        let tile = planes * part
        let weights = planes * area
        let resident = max(classes * tile, planesAtOnce(area: area, classes: classes) * classes * area) + weights
        return min(resident, predictedBytes(plan: plan, classes: classes))
    }

    /// The number of planes accessed before their pages are released.
    private static func planesAtOnce(area: Int, classes: Int) -> Int { max(1, (32 << 20) / max(1, area * classes)) }

    /// Adds the logits of tile ``nextTile``.
    ///
    /// - Parameters:
    ///   - logits: `[class][z][y][x]` of the patch, as ONNX networks give them.
    ///   - tile: its number, to check the order.
    /// - Throws: ``CancelledError``, after which the accumulator can no longer be used.
    /// - Complexity: one multiplication and addition per value, in parallel by planes.
    public mutating func add(_ logits: UnsafeBufferPointer<Float>, tile: Int, scope: ComputeScope)
        throws(CancelledError)
    {
        precondition(tile == nextTile && tile < plan.tileCount, "tiles must be added in order")
        precondition(logits.count == classes * plan.patch.count, "not the logits of a tile")
        precondition(
            finishedPlanes >= min(plan.completedPlanes(afterRow: plan.row(ofTile: tile) - 1), plan.imageShape.z),
            "the previous row was not finished"
        )
        try clearReturnedPlanes(scope: scope)
        nextTile += 1
        let target = Target(
            plan: plan,
            tile: tile,
            firstPlane: finishedPlanes,
            depth: depth,
            classes: classes,
            isHalf: map.precision == .half
        )
        let map = map
        guard let logits = logits.baseAddress else { return }
        let source = ParallelReader(logits)
        // Every plane has its own slot.
        try sums.withParallelBuffer { sums throws(CancelledError) in
            try weights.withParallelBuffer { weights throws(CancelledError) in
                try scope.forEach(target.planes.count) { index in
                    map.weights.withUnsafeBufferPointer { map in
                        guard let map = map.baseAddress else { return }
                        target.add(
                            source.base,
                            plane: target.planes.lowerBound + index,
                            map: map,
                            sums: sums.base,
                            weights: weights.base
                        )
                    }
                }
            }
        }
        sums.releasePages()
    }

    /// Divides the planes to which no later tile contributes by their weights.
    ///
    /// - Returns: the planes that became finished, to be read with ``withPlane(_:_:)``. May be empty after resuming.
    /// - Throws: ``CancelledError``, after which the accumulator can no longer be used.
    public mutating func finishRow(scope: ComputeScope) throws(CancelledError) -> Range<Int> {
        precondition(nextTile > 0 && nextTile % plan.tilesInRow == 0, "a row is finished when all its tiles were added")
        try clearReturnedPlanes(scope: scope)
        let end = max(plan.completedPlanes(afterRow: nextTile / plan.tilesInRow - 1), finishedPlanes)
        let planes = finishedPlanes..<end
        for part in parts(of: planes) {
            try divide(part, scope: scope)
            sums.releasePages()
        }
        finishedPlanes = end
        returnedPlanes = planes
        return planes
    }

    private mutating func divide(_ planes: Range<Int>, scope: ComputeScope) throws(CancelledError) {
        let (depth, classes, isHalf) = (depth, classes, map.precision == .half)
        let area = plan.imageShape.y * plan.imageShape.x
        var odd = [Int](repeating: 0, count: planes.count)
        try sums.withParallelBuffer { sums throws(CancelledError) in
            try weights.withParallelBuffer { weights throws(CancelledError) in
                try odd.withParallelBuffer { odd throws(CancelledError) in
                    try scope.forEach(planes.count) { index in
                        let slot = (planes.lowerBound + index) % depth
                        for c in 0..<classes {
                            let values = sums + (slot * classes + c) * area
                            odd[index] +=
                                isHalf
                                ? nk_blend_divide_half(values, values, weights + slot * area, area)
                                : nk_blend_divide(values, values, weights + slot * area, area)
                        }
                    }
                }
            }
        }
        nonFiniteCount += odd.reduce(0, +)
    }

    /// A plane of the range ``finishRow(scope:)`` returned last: logits `[class][y][x]`.
    /// They are overwritten when the next tile is added.
    public borrowing func withPlane<R, E: Error>(
        _ plane: Int,
        _ body: (UnsafeBufferPointer<Float>) throws(E) -> R
    ) throws(E) -> R {
        precondition(returnedPlanes.contains(plane), "the plane is not finished, or was overwritten")
        let count = classes * plan.imageShape.y * plan.imageShape.x
        let slot = plane % depth
        defer { sums.releasePages() }
        return try sums.withUnsafeBufferPointer { sums throws(E) in
            try body(UnsafeBufferPointer(rebasing: sums[slot * count..<(slot + 1) * count]))
        }
    }

    private mutating func clearReturnedPlanes(scope: ComputeScope) throws(CancelledError) {
        guard !returnedPlanes.isEmpty else { return }
        let planes = returnedPlanes
        returnedPlanes = 0..<0
        for part in parts(of: planes) {
            try clear(part, scope: scope)
            sums.releasePages()
        }
    }

    /// Groups of planes that are accessed together before their pages are released.
    private func parts(of planes: Range<Int>) -> [Range<Int>] {
        let area = plan.imageShape.y * plan.imageShape.x * MemoryLayout<Float>.stride
        let step = RollingAccumulator.planesAtOnce(area: area, classes: classes)
        return stride(from: planes.lowerBound, to: planes.upperBound, by: step).map {
            $0..<min($0 + step, planes.upperBound)
        }
    }

    private mutating func clear(_ planes: Range<Int>, scope: ComputeScope) throws(CancelledError) {
        let (depth, classes) = (depth, classes)
        let area = plan.imageShape.y * plan.imageShape.x
        try sums.withParallelBuffer { sums throws(CancelledError) in
            try weights.withParallelBuffer { weights throws(CancelledError) in
                try scope.forEach(planes.count) { index in
                    let slot = (planes.lowerBound + index) % depth
                    (sums + slot * classes * area).update(repeating: 0, count: classes * area)
                    (weights + slot * area).update(repeating: 0, count: area)
                }
            }
        }
    }
}

extension RollingAccumulator {
    /// The part of a tile inside the image, and its position in the window.
    fileprivate struct Target: Sendable {
        let plan: TilePlan
        /// The tile's first voxel in the image; negative in the padding.
        let start: GridZYX
        /// The planes of the image to be added to.
        let planes: Range<Int>
        let rows: Range<Int>
        let columns: Range<Int>
        let depth: Int
        let classes: Int
        let isHalf: Bool

        init(plan: TilePlan, tile: Int, firstPlane: Int, depth: Int, classes: Int, isHalf: Bool) {
            self.plan = plan
            self.depth = depth
            self.classes = classes
            self.isHalf = isHalf
            start = plan.startInImage(ofTile: tile)
            planes = plan.voxels(ofTile: tile, along: 0, from: firstPlane)
            rows = plan.voxels(ofTile: tile, along: 1)
            columns = plan.voxels(ofTile: tile, along: 2)
        }

        func add(
            _ logits: UnsafePointer<Float>,
            plane: Int,
            map: UnsafePointer<Float>,
            sums: UnsafeMutablePointer<Float>,
            weights: UnsafeMutablePointer<Float>
        ) {
            let image = plan.imageShape
            let patch = plan.patch
            let slot = plane % depth
            let tileZ = plane - start.z
            func inTile(_ row: Int) -> Int {
                (tileZ * patch.y + row - start.y) * patch.x + columns.lowerBound - start.x
            }
            func inSlice(_ row: Int) -> Int { row * image.x + columns.lowerBound }
            let accumulate = isHalf ? nk_blend_accumulate_half : nk_blend_accumulate
            let add = isHalf ? nk_blend_add_half : nk_blend_add
            for row in rows {
                accumulate(
                    weights + slot * image.y * image.x + inSlice(row),
                    map + inTile(row),
                    columns.count
                )
            }
            for c in 0..<classes {
                let sum = sums + (slot * classes + c) * image.y * image.x
                let value = logits + c * patch.count
                for row in rows {
                    add(sum + inSlice(row), value + inTile(row), map + inTile(row), columns.count)
                }
            }
        }
    }
}
