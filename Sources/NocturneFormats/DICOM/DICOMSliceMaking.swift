internal import NocturneCore
import NocturneSystem

extension DICOMObject {
    /// The planes of this object: a single plane, its frames, or the used tiles of a mosaic or grid.
    ///
    /// Frames without functional groups, and mosaics whose tiles are not stated, are returned as one slice
    /// that covers the whole object; ``DICOMSeries/problem`` then states what is missing.
    /// - Throws: ``DICOMReadError`` for an image whose file is too small for the pixels of its frames: such a file must
    ///   not produce a quarter of a million slices.
    public func slices() throws(DICOMReadError) -> [DICOMSlice] { try Self.slices(of: SharedValue(wrappedValue: self)) }

    /// The same. Slices of an object without frames share it as it is: it has dozens of fields, and series have hundreds of objects.
    static func slices(of shared: SharedValue<DICOMObject>) throws(DICOMReadError) -> [DICOMSlice] {
        try ObjectCheck.checkLength(shared.wrappedValue)
        guard shared.wrappedValue.mayHaveSeveralSlices else { return [DICOMSlice(of: shared)] }
        let object = shared.wrappedValue
        var rest = object
        rest.frameGroups = []
        let whole = DICOMSlice(of: rest)
        let (count, groups) = (object.frameGroupCount, object.frameGroups)
        if count > 0, count == object.numberOfFrames ?? 1, groups.count == count {
            return groups.enumerated().map { whole.framed($0.offset, by: $0.element) }
        }
        return object.gridSlices(of: whole) ?? object.mosaicSlices(of: whole) ?? [whole]
    }

    private var mayHaveSeveralSlices: Bool { !frameGroups.isEmpty || mosaicTiles != nil }

    /// Whether ImageType states that several slices are tiled into one image.
    var isMosaic: Bool { plane.imageType.contains("MOSAIC") }

    /// Whether several slices are tiled into one image, as United Imaging stores them.
    var isGrid: Bool { !isMosaic && mosaicTiles != nil && frameGroupCount > 1 && (numberOfFrames ?? 1) == 1 }

    /// The used tiles of a Siemens mosaic in the order of the scanner; nil when their positions are not stated.
    ///
    /// ImagePositionPatient is the position of a hypothetical slice that is as large as the whole mosaic and has the
    /// same centre as the first slice. The first pixel of that slice is therefore offset inwards by half the difference
    /// in size. Method: NiBabel's "DICOM orientation and mosaics", checked against dcm2niix.
    private func mosaicSlices(of whole: DICOMSlice) -> [DICOMSlice]? {
        guard isMosaic, let count = mosaicTiles, (numberOfFrames ?? 1) == 1, let rows = plane.rows,
            let columns = plane.columns, let position = plane.position, let rowDirection = plane.rowDirection,
            let columnDirection = plane.columnDirection, let rowSpacing = plane.rowSpacing,
            let columnSpacing = plane.columnSpacing,
            let step = spacingBetweenSlices ?? plane.sliceThickness, step > 0
        else { return nil }
        let edge = Self.leastEdge(of: count)
        guard let tiles = TileLayout(count, across: edge, down: edge, columns: columns, rows: rows) else { return nil }
        let across = cross(rowDirection, columnDirection)
        let normal = mosaicNormal ?? across
        // A normal that does not belong to this image would misplace all slices but the first.
        guard abs(abs(dot(normal, across)) - 1) < 0.01 else { return nil }
        let first =
            position + rowDirection * (columnSpacing * Double(columns - tiles.width) / 2)
            + columnDirection * (rowSpacing * Double(rows - tiles.height) / 2)
        return (0..<count).map { index in
            whole.tiled(tiles[index], at: first + normal * (step * Double(index)))
        }
    }

    /// The tiles of a United Imaging grid, each with its own position; nil for other objects, and where the positions do
    /// not match the tiles.
    ///
    /// The header does not state the layout. 20 slices are 4 rows of 5 tiles: ⌈√n⌉ across, and no empty row (dcm2niix does the same).
    /// Where the image cannot be divided so, or the other way round gives square tiles, the other layouts are tried.
    private func gridSlices(of whole: DICOMSlice) -> [DICOMSlice]? {
        guard isGrid, let count = mosaicTiles, count == frameGroups.count, let rows = plane.rows,
            let columns = plane.columns
        else { return nil }
        let edge = Self.leastEdge(of: count)
        let shorter = (count + edge - 1) / edge
        let layouts = [(edge, shorter), (shorter, edge), (edge, edge)].compactMap { across, down in
            TileLayout(count, across: across, down: down, columns: columns, rows: rows)
        }
        guard let tiles = layouts.first(where: { $0.width == $0.height }) ?? layouts.first else { return nil }
        return frameGroups.enumerated().map { index, groups in whole.tiled(tiles[index], at: groups.position) }
    }

    /// The edge of the smallest square of tiles that holds them all.
    private static func leastEdge(of count: Int) -> Int {
        guard count <= TileLayout.maximumTileCount else { return count }
        return (1...max(count, 1)).first { $0 * $0 >= count } ?? 1
    }

    /// Tiles of one size that fill an image from row to row.
    fileprivate struct TileLayout {
        /// Scanners produce at most a few hundred tiles, of 32 pixels per edge or more.
        static let maximumTileCount = 4096
        private static let leastEdge = 8

        private let across: Int
        let width, height: Int

        /// Nil where the image cannot be divided into these tiles.
        init?(_ count: Int, across: Int, down: Int, columns: Int, rows: Int) {
            guard (1...Self.maximumTileCount).contains(count), columns % across == 0, rows % down == 0,
                min(columns / across, rows / down) >= Self.leastEdge
            else { return nil }
            (self.across, width, height) = (across, columns / across, rows / down)
        }

        subscript(index: Int) -> PixelBox {
            PixelBox(x: index % across * width, y: index / across * height, width: width, height: height)
        }
    }
}

extension DICOMSlice {
    /// One tile of the object that this slice covers.
    fileprivate func tiled(_ tile: PixelBox, at position: SIMD3<Double>?) -> DICOMSlice {
        var slice = self
        slice.tile = tile
        slice.plane.rows = tile.height
        slice.plane.columns = tile.width
        slice.plane.position = position
        return slice
    }

    /// One frame of the object that this slice covers.
    fileprivate func framed(_ frame: Int, by groups: DICOMPlane) -> DICOMSlice {
        var slice = self
        slice.frame = frame
        slice.plane = groups.completed(by: plane)
        return slice
    }
}
