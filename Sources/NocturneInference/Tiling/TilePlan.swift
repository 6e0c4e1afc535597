internal import NocturneCore
public import NocturneSystem

/// Why an image cannot be divided into tiles.
public enum TilePlanError: CodedError, Hashable, Sendable, CustomStringConvertible {
    case imageShape(GridZYX)
    case patchShape(GridZYX)
    case step(Double)
    case tooManyTiles

    public var faultCode: FaultCode { FaultCode("volume", "notTiled") }

    public var description: String {
        switch self {
        case .imageShape(let shape): "an image of \(shape) voxels cannot be divided into tiles"
        case .patchShape(let shape): "\(shape) is not a usable patch size"
        case .step(let step): "tile step \(step) is not above 0 and at most 1"
        case .tooManyTiles:
            "the tile step is so small, or an axis so long, that there would be more than a hundred million tiles, or more "
                + "than a million in a row"
        }
    }
}

/// The positions of the tiles of a sliding window, identical to nnU-Net's for every voxel.
///
/// Axis order is (z, y, x). Tiles are numbered with z outermost and x innermost, so that planes are completed from z =
/// 0 on. Plane numbers refer to the **image**; starts of tiles refer to the **padded** image, whose content begins at
/// ``padding``.
public struct TilePlan: Hashable, Sendable {
    public let imageShape: GridZYX
    public let patch: GridZYX
    /// Distance between neighbouring tiles as a fraction of the patch.
    public let step: Double
    /// The image, widened to the patch along axes that are shorter; content in the centre, an odd voxel at the end.
    public let paddedShape: GridZYX
    /// Zeros before the content along each axis.
    public let padding: GridZYX
    public let zStarts: [Int]
    public let yStarts: [Int]
    public let xStarts: [Int]

    public init(imageShape: GridZYX, patch: GridZYX, step: Double) throws(TilePlanError) {
        guard VolumeShape(validating: imageShape.x, y: imageShape.y, z: imageShape.z) != nil else {
            throw .imageShape(imageShape)
        }
        guard VolumeShape(validating: patch.x, y: patch.y, z: patch.z, limit: 1 << 30) != nil else {
            throw .patchShape(patch)
        }
        guard step > 0, step <= 1 else { throw .step(step) }
        var padded = imageShape
        var padding = GridZYX(0, 0, 0)
        for axis in 0..<3 where imageShape[axis] < patch[axis] {
            padded[axis] = patch[axis]
            padding[axis] = (patch[axis] - imageShape[axis]) / 2
        }
        guard VolumeShape(validating: padded.x, y: padded.y, z: padded.z) != nil else { throw .imageShape(imageShape) }
        var starts: [[Int]] = []
        var tiles = 1
        for axis in 0..<3 {
            // Patches of one voxel along this axis cannot overlap: each slice is used once.
            let along = try Self.starts(image: padded[axis], patch: patch[axis], step: patch[axis] == 1 ? 1 : step)
            tiles *= along.count
            guard tiles <= Self.maximumTileCount else { throw .tooManyTiles }
            starts.append(along)
        }
        self.imageShape = imageShape
        self.patch = patch
        self.step = step
        self.paddedShape = padded
        self.padding = padding
        zStarts = starts[0]
        yStarts = starts[1]
        xStarts = starts[2]
    }

    private static let maximumTileCount = 100_000_000
    /// The maximum number of starts along one axis: their table is created before anything else is known of the volume.
    private static let maximumStartCount = 1_000_000

    /// Starts along one axis: `k = ceil((n - t) / (t * s)) + 1` of them, the i-th at
    /// `round_half_even(i * ((n - t) / (k - 1)))`.
    private static func starts(image n: Int, patch t: Int, step: Double) throws(TilePlanError) -> [Int] {
        let count = (Double(n - t) / (Double(t) * step)).rounded(.up) + 1
        guard count <= Double(maximumStartCount) else { throw .tooManyTiles }
        guard count > 1 else { return [0] }
        let distance = Double(n - t) / (count - 1)
        return (0..<Int(count)).map { Int((Double($0) * distance).rounded(.toNearestOrEven)) }
    }

    public var tilesInRow: Int { yStarts.count * xStarts.count }
    public var tileCount: Int { zStarts.count * tilesInRow }
    /// A row consists of the tiles with one z start.
    public var rowCount: Int { zStarts.count }

    /// The tiles of a row.
    public func tiles(inRow row: Int) -> Range<Int> { row * tilesInRow..<(row + 1) * tilesInRow }

    public func row(ofTile tile: Int) -> Int { tile / tilesInRow }

    /// The first voxel of a tile in the padded image.
    public func start(ofTile tile: Int) -> GridZYX {
        let inRow = tile % tilesInRow
        return GridZYX(zStarts[tile / tilesInRow], yStarts[inRow / xStarts.count], xStarts[inRow % xStarts.count])
    }

    /// The number of planes of the image, from the first on, to which no later row contributes.
    public func completedPlanes(afterRow row: Int) -> Int {
        guard row + 1 < rowCount else { return imageShape.z }
        return min(max(zStarts[row + 1] - padding.z, 0), imageShape.z)
    }

    /// The first row that contributes to plane `plane` of the image or to a later one: the row to resume from when all
    /// planes before it are known. ``rowCount`` when all planes are known.
    public func firstRow(neededForPlanesFrom plane: Int) -> Int {
        guard plane < imageShape.z else { return rowCount }
        return zStarts.firstIndex { $0 + patch.z > plane + padding.z } ?? rowCount
    }

    /// Copies a tile out of an image, with zeros beyond its borders.
    ///
    /// - Parameters:
    ///   - image: `[channel][z][y][x]` of ``imageShape``, normalised.
    ///   - tile: `[channel][z][y][x]` of ``patch``, written completely.
    /// - Complexity: one write per voxel of the tile.
    public func cut(
        tile index: Int,
        from image: UnsafeBufferPointer<Float>,
        channels: Int,
        into tile: UnsafeMutableBufferPointer<Float>
    ) {
        precondition(image.count == channels * imageShape.count, "the image does not fill its shape")
        precondition(tile.count == channels * patch.count, "the tile does not fill its shape")
        guard let source = image.baseAddress, let target = tile.baseAddress else { return }
        let start = start(ofTile: index)
        // The part of the tile along an axis that is inside the image.
        func inside(_ axis: Int) -> Range<Int> {
            let lower = padding[axis] - start[axis]
            return min(max(lower, 0), patch[axis])..<max(min(lower + imageShape[axis], patch[axis]), 0)
        }
        let (insideZ, insideY, insideX) = (inside(0), inside(1), inside(2))
        let fromX = start.x + insideX.lowerBound - padding.x
        for channel in 0..<channels {
            for z in 0..<patch.z {
                for y in 0..<patch.y {
                    let row = target + ((channel * patch.z + z) * patch.y + y) * patch.x
                    guard insideZ.contains(z), insideY.contains(y) else {
                        row.update(repeating: 0, count: patch.x)
                        continue
                    }
                    let fromZ = channel * imageShape.z + start.z + z - padding.z
                    let from = (fromZ * imageShape.y + start.y + y - padding.y) * imageShape.x + fromX
                    row.update(repeating: 0, count: insideX.lowerBound)
                    (row + insideX.lowerBound).update(from: source + from, count: insideX.count)
                    (row + insideX.upperBound).update(repeating: 0, count: patch.x - insideX.upperBound)
                }
            }
        }
    }
}
