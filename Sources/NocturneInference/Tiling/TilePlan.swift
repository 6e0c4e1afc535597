public import NocturneConcurrency
internal import NocturneCore
public import NocturneSystem

/// Why an image cannot be divided into tiles.
public enum TilePlanError: CodedError, Hashable, Sendable, CustomStringConvertible {
    /// Extents below 1, or so large that their product is too large for a volume.
    case imageShape(GridZYX)
    /// Extents below 1, or more than 2^30 voxels.
    case patchShape(GridZYX)
    /// Not above 0 and at most 1.
    case step(Double)
    /// More than a hundred million tiles, or more than a million along one axis.
    case tooManyTiles

    /// The volume cannot be divided into tiles for the network.
    public var faultCode: FaultCode { FaultCode("volume", "notTiled") }

    /// For people; states the value.
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

/// Where the tiles of a sliding window are, and what is beyond the image.
public struct TilingRule: Hashable, Sendable {
    /// Where tiles begin along an axis.
    public enum Positions: String, Hashable, Sendable, Codable, CaseIterable {
        /// From the first voxel to the last, at distances that are as equal as whole voxels allow: nnU-Net's.
        case even
        /// At whole multiples of floor(patch × step), and a last tile that ends with the image: MONAI's.
        case interval
    }

    /// What is beyond the image.
    public enum Padding: String, Hashable, Sendable, Codable, CaseIterable {
        case zero
        /// The border of the image continues.
        case edge
    }

    /// Where tiles begin.
    public var positions: Positions
    /// What is beyond the image.
    public var padding: Padding

    /// By default nnU-Net's rule.
    public init(positions: Positions = .even, padding: Padding = .zero) {
        self.positions = positions
        self.padding = padding
    }
}

/// The positions of the tiles of a sliding window, identical to nnU-Net's or MONAI's for every voxel.
///
/// Axis order is (z, y, x). Tiles are numbered with z outermost and x innermost, so that planes are completed from z =
/// 0 on. Plane numbers refer to the **image**; starts of tiles refer to the **padded** image, whose content begins at
/// ``padding``.
public struct TilePlan: Hashable, Sendable {
    /// As given.
    public let imageShape: GridZYX
    /// The shape of a tile.
    public let patch: GridZYX
    /// As given.
    public let rule: TilingRule
    /// The image, widened to the patch along axes that are shorter; content in the centre, an odd voxel at the end.
    public let paddedShape: GridZYX
    /// Voxels before the content along each axis.
    public let padding: GridZYX
    /// First planes of the tiles in the padded image, ascending.
    public let zStarts: [Int]
    /// First rows of the tiles in the padded image, ascending.
    public let yStarts: [Int]
    /// First columns of the tiles in the padded image, ascending.
    public let xStarts: [Int]

    /// - Parameter step: distance between neighbouring tiles as a fraction of the patch: above 0, at most 1.
    /// - Throws: ``TilePlanError``
    public init(
        imageShape: GridZYX,
        patch: GridZYX,
        step: Double,
        rule: TilingRule = TilingRule()
    ) throws(TilePlanError) {
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
            let own = patch[axis] == 1 ? 1 : step
            let along =
                switch rule.positions {
                case .even: try Self.starts(image: padded[axis], patch: patch[axis], step: own)
                case .interval: try Self.starts(image: padded[axis], patch: patch[axis], intervalShare: own)
                }
            tiles *= along.count
            guard tiles <= Self.maximumTileCount else { throw .tooManyTiles }
            starts.append(along)
        }
        self.imageShape = imageShape
        self.patch = patch
        self.rule = rule
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

    /// Starts along one axis as by MONAI's `dense_patch_slices`, with its `int(roi * (1 - overlap))`.
    private static func starts(image n: Int, patch t: Int, intervalShare: Double) throws(TilePlanError) -> [Int] {
        let interval = max(Int(Double(t) * intervalShare), 1)
        let count = (n - t + interval - 1) / interval + 1
        guard count <= maximumStartCount else { throw .tooManyTiles }
        return (0..<count).map { min($0 * interval, n - t) }
    }

    /// Tiles that begin at the same plane.
    public var tilesInRow: Int { yStarts.count * xStarts.count }
    /// At most a hundred million.
    public var tileCount: Int { zStarts.count * tilesInRow }
    /// A row consists of the tiles with one z start.
    public var rowCount: Int { zStarts.count }

    /// The tiles of a row.
    public func tiles(inRow row: Int) -> Range<Int> { row * tilesInRow..<(row + 1) * tilesInRow }

    /// The row that contains a tile.
    public func row(ofTile tile: Int) -> Int { tile / tilesInRow }

    /// The first voxel of a tile in the padded image.
    public func start(ofTile tile: Int) -> GridZYX {
        let inRow = tile % tilesInRow
        return GridZYX(zStarts[tile / tilesInRow], yStarts[inRow / xStarts.count], xStarts[inRow % xStarts.count])
    }

    /// The first voxel of a tile in the image; negative in the padding.
    func startInImage(ofTile tile: Int) -> GridZYX {
        var start = start(ofTile: tile)
        for axis in 0..<3 { start[axis] -= padding[axis] }
        return start
    }

    /// The voxels of the image along an axis that a tile covers, from a given one on.
    func voxels(ofTile tile: Int, along axis: Int, from first: Int = 0) -> Range<Int> {
        let start = startInImage(ofTile: tile)[axis]
        let end = min(start + patch[axis], imageShape[axis])
        return min(max(start, first), end)..<end
    }

    /// The value of each channel of a tile; nil if a channel has several.
    ///
    /// - Parameter image: `[channel][z][y][x]` of ``imageShape``.
    /// - Complexity: reads up to the first voxel that differs.
    package func constantValues(ofTile tile: Int, in image: UnsafeBufferPointer<Float>) -> [Float]? {
        let (planes, rows) = (voxels(ofTile: tile, along: 0), voxels(ofTile: tile, along: 1))
        let columns = voxels(ofTile: tile, along: 2)
        let isPadded = planes.count * rows.count * columns.count < patch.count && rule.padding == .zero
        var values: [Float] = []
        for channel in 0..<image.count / imageShape.count {
            var value: UInt32? = isPadded ? 0 : nil
            for z in planes {
                for y in rows {
                    let row = ((channel * imageShape.z + z) * imageShape.y + y) * imageShape.x
                    for x in columns {
                        let bits = image[row + x].bitPattern
                        guard bits == value ?? bits else { return nil }
                        value = bits
                    }
                }
            }
            values.append(Float(bitPattern: value ?? 0))
        }
        return values
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

    /// Copies a tile out of an image, with zeros or its continued border beyond it.
    ///
    /// - Parameters:
    ///   - image: `[channel][z][y][x]` of ``imageShape``, normalised.
    ///   - tile: `[channel][z][y][x]` of ``patch``, written completely.
    /// - Throws: `CancelledError`, after which the tile holds no meaningful values.
    /// - Complexity: one write per voxel of the tile, in parallel by planes.
    public func cut(
        tile index: Int,
        from image: UnsafeBufferPointer<Float>,
        channels: Int,
        into tile: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws(CancelledError) {
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
        let continues = rule.padding == .edge
        let (values, rows) = (ParallelReader(source), ParallelBuffer(target))
        // Every plane is written by one body only.
        try scope.forEach(channels * patch.z) { plane in
            let (channel, z) = (plane / patch.z, plane % patch.z)
            for y in 0..<patch.y {
                let row = rows + (plane * patch.y + y) * patch.x
                // Whole rows of the tile beyond the image, unless its border continues.
                guard continues || insideZ.contains(z) && insideY.contains(y) else {
                    row.update(repeating: 0, count: patch.x)
                    continue
                }
                let placeZ = min(max(start.z + z - padding.z, 0), imageShape.z - 1)
                let placeY = min(max(start.y + y - padding.y, 0), imageShape.y - 1)
                let from = ((channel * imageShape.z + placeZ) * imageShape.y + placeY) * imageShape.x + fromX
                let inside = values + from
                let (before, after) = continues ? (inside[0], inside[insideX.count - 1]) : (0, 0)
                row.update(repeating: before, count: insideX.lowerBound)
                (row + insideX.lowerBound).update(from: inside, count: insideX.count)
                (row + insideX.upperBound).update(repeating: after, count: patch.x - insideX.upperBound)
            }
        }
    }
}
