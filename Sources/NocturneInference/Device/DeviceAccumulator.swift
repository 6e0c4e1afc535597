internal import CTileKernels

/// Blends the tiles of a sliding window on a device, with the arithmetic of ``RollingAccumulator`` with float32 sums: the same
/// bits.
///
/// For every row of a ``TilePlan``: ``add(_:)`` for all of its tiles in order, then ``finishRow()``, after which
/// its planes can be read until the next row is finished, also while tiles of that row are added.
package final class DeviceAccumulator {
    /// The positions of the tiles.
    package let plan: TilePlan
    /// The tile that must be added next; `plan.tileCount` after the last one.
    package private(set) var nextTile: Int
    /// Planes of the image below this one are finished.
    package private(set) var finishedPlanes: Int
    private let device: TileDevice
    private let classes: Int
    private let depth: Int
    private let area: Int
    /// The weights of a tile's voxels.
    private let map: DeviceMemory
    /// Plane p of the image is in slot p % depth: `[class][y][x]`.
    private let sums: DeviceMemory
    /// `[y][x]` in the same slots.
    private let weights: DeviceMemory
    /// The planes that the last row finished, `[class][y][x]`.
    private let planes: DeviceMemory
    private var returnedPlanes = 0..<0
    private let counter: NonFiniteCounter

    /// - Parameters:
    ///   - map: the weights of a tile's voxels, float32.
    ///   - plane: the first plane that is not known yet.
    /// - Throws: ``EngineError``
    package init(plan: TilePlan, classes: Int, map: DeviceMemory, resumingAtPlane plane: Int, on device: TileDevice)
        throws(EngineError)
    {
        precondition(map.floats == plan.patch.count, "the importance map is of another patch size")
        self.plan = plan
        self.classes = classes
        self.device = device
        self.map = map
        depth = Self.depth(plan)
        area = plan.imageShape.y * plan.imageShape.x
        nextTile = plan.firstRow(neededForPlanesFrom: plane) * plan.tilesInRow
        finishedPlanes = plane
        sums = try device.allocate(depth * area * classes, of: Float.self)
        weights = try device.allocate(depth * area, of: Float.self)
        planes = try device.allocate(depth * area * classes, of: Float.self)
        counter = try NonFiniteCounter(on: device)
        try device.clear(sums)
        try device.clear(weights)
    }

    private static func depth(_ plan: TilePlan) -> Int { min(plan.patch.z, plan.imageShape.z) }

    /// Bytes of the device that an accumulator holds, without the weights of a tile.
    package static func predictedBytes(plan: TilePlan, classes: Int) -> Int {
        (2 * classes + 1) * depth(plan) * plan.imageShape.y * plan.imageShape.x * MemoryLayout<Float>.stride
    }

    /// Adds the logits of tile ``nextTile``, `[class][z][y][x]` of the patch.
    /// - Throws: ``EngineError``
    package func add(_ logits: DeviceMemory) throws(EngineError) {
        precondition(nextTile < plan.tileCount, "there are no more tiles")
        precondition(logits.floats >= classes * plan.patch.count, "not the logits of a tile")
        let tile = nextTile
        let known = plan.completedPlanes(afterRow: plan.row(ofTile: tile) - 1)
        precondition(finishedPlanes >= known, "the previous row was not finished")
        nextTile += 1
        let start = plan.startInImage(ofTile: tile)
        let voxels = (0..<3).map { plan.voxels(ofTile: tile, along: $0, from: $0 == 0 ? finishedPlanes : 0) }
        let inImage = GridZYX(voxels[0].lowerBound, voxels[1].lowerBound, voxels[2].lowerBound)
        let part = GridZYX(voxels[0].count, voxels[1].count, voxels[2].count)
        let inTile = GridZYX(inImage.z - start.z, inImage.y - start.y, inImage.x - start.x)
        let arguments = tile_blend(
            sums: sums.values(of: Float.self),
            weights: weights.values(of: Float.self),
            logits: logits.values(of: Float.self),
            map: map.values(of: Float.self),
            patch: tile_size(plan.patch),
            shape: tile_size(plan.imageShape),
            part: tile_size(part),
            in_image: tile_size(inImage),
            in_tile: tile_size(inTile),
            depth: Int32(depth),
            classes: Int32(classes)
        )
        try device.launch(tile_blend_kernel_number, arguments, count: part.count)
    }

    /// Divides the planes to which no later tile contributes by their weights.
    /// - Returns: the planes that became finished. May be empty after resuming.
    /// - Throws: ``EngineError``
    package func finishRow() throws(EngineError) -> Range<Int> {
        precondition(nextTile > 0 && nextTile % plan.tilesInRow == 0, "a row is finished when all its tiles were added")
        let end = max(plan.completedPlanes(afterRow: nextTile / plan.tilesInRow - 1), finishedPlanes)
        returnedPlanes = finishedPlanes..<end
        finishedPlanes = end
        let arguments = tile_divide(
            planes: planes.values(of: Float.self),
            sums: sums.values(of: Float.self),
            weights: weights.values(of: Float.self),
            area: Int64(area),
            first: Int32(returnedPlanes.lowerBound),
            depth: Int32(depth),
            classes: Int32(classes)
        )
        try device.launch(tile_divide_kernel_number, arguments, count: returnedPlanes.count * area)
        return returnedPlanes
    }

    /// How many logits of the planes that were finished last are NaN or infinite.
    /// - Throws: ``EngineError``.
    package func nonFiniteCount() throws(EngineError) -> Int {
        try counter.count(planes, count: returnedPlanes.count * area * classes)
    }

    /// Reads a plane of those that ``finishRow()`` returned last: logits `[class][y][x]`.
    /// - Throws: ``EngineError``
    package func read(_ plane: Int, into values: UnsafeMutableBufferPointer<Float>) throws(EngineError) {
        precondition(returnedPlanes.contains(plane), "the plane is not finished, or was overwritten")
        precondition(values.count == area * classes, "not the size of a plane")
        try device.download(planes, from: (plane - returnedPlanes.lowerBound) * area * classes, to: values)
    }
}
