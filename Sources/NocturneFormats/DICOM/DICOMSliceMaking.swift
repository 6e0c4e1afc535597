internal import NocturneCore

extension DICOMObject {
    /// The planes of this object: a single plane, its frames, or the used tiles of a mosaic or grid.
    ///
    /// Frames without functional groups of their own, and mosaics whose tiles are not stated, are returned as one slice
    /// that covers the whole object; ``DICOMSeries/problem`` then states what is missing.
    /// - Throws: ``DICOMReadError`` for an image whose file is too small for the pixels of its frames: such a file must
    ///   not produce a quarter of a million slices.
    public func slices() throws(DICOMReadError) -> [DICOMSlice] {
        try ObjectCheck.checkLength(self)
        var shared = self
        shared.frameGroups = []
        let whole = DICOMSlice(of: shared)
        if frameGroupCount > 0, frameGroupCount == numberOfFrames ?? 1, frameGroups.count == frameGroupCount {
            return frameGroups.enumerated().map { whole.framed($0.offset, by: $0.element) }
        }
        return gridSlices(of: whole) ?? mosaicSlices(of: whole) ?? [whole]
    }

    /// Limits of a mosaic: scanners produce at most a few hundred tiles, of 32 pixels per edge or more.
    private enum Mosaic {
        static let maximumTileCount = 4096
        static let leastEdge = 8
    }

    /// Whether ImageType states that several slices are tiled into one image.
    var isMosaic: Bool { imageType.contains("MOSAIC") }

    /// Whether several slices are tiled into one image, as United Imaging stores them.
    var isGrid: Bool { !isMosaic && mosaicTiles != nil && frameGroupCount > 1 && (numberOfFrames ?? 1) == 1 }

    /// The used tiles of a Siemens mosaic in the order of the scanner; nil when their positions are not stated.
    ///
    /// ImagePositionPatient is the position of a hypothetical slice that is as large as the whole mosaic and has the
    /// same centre as the first slice. The first pixel of that slice is therefore offset inwards by half the difference
    /// in size. Method: NiBabel's "DICOM orientation and mosaics", checked against dcm2niix.
    private func mosaicSlices(of whole: DICOMSlice) -> [DICOMSlice]? {
        guard isMosaic, let count = mosaicTiles, let rows, let columns, let position, let rowDirection,
            let columnDirection, let rowSpacing, let columnSpacing, (numberOfFrames ?? 1) == 1,
            let step = spacingBetweenSlices ?? sliceThickness, step > 0
        else { return nil }
        guard let side = tilesPerEdge(count, rows: rows, columns: columns) else { return nil }
        let across = cross(rowDirection, columnDirection)
        let normal = mosaicNormal ?? across
        // A normal that does not belong to this image would misplace all slices but the first.
        guard abs(abs(dot(normal, across)) - 1) < 0.01 else { return nil }
        let (width, height) = (columns / side, rows / side)
        let first =
            position + rowDirection * (columnSpacing * Double(columns - width) / 2)
            + columnDirection * (rowSpacing * Double(rows - height) / 2)
        return (0..<count).map { index in
            whole.tiled(index, side: side, width: width, height: height, at: first + normal * (step * Double(index)))
        }
    }

    /// The tiles of a United Imaging grid, each with its own position; nil for other objects, and where the positions do
    /// not match the tiles.
    private func gridSlices(of whole: DICOMSlice) -> [DICOMSlice]? {
        guard isGrid, let count = mosaicTiles, count == frameGroups.count, let rows, let columns,
            let side = tilesPerEdge(count, rows: rows, columns: columns)
        else { return nil }
        return frameGroups.enumerated().map { index, groups in
            whole.tiled(index, side: side, width: columns / side, height: rows / side, at: groups.position)
        }
    }

    /// Tiles fill a square from row to row; nil where rows and columns cannot be divided into that many.
    private func tilesPerEdge(_ count: Int, rows: Int, columns: Int) -> Int? {
        guard count <= Mosaic.maximumTileCount else { return nil }
        var side = 1
        while side * side < count { side += 1 }
        let isDivisible = rows % side == 0 && columns % side == 0
        return isDivisible && min(rows, columns) >= side * Mosaic.leastEdge ? side : nil
    }
}

extension DICOMSlice {
    /// A slice that covers the whole object.
    init(of object: DICOMObject) {
        self.init(
            object: object,
            frame: 0,
            rows: object.rows,
            columns: object.columns,
            position: object.position,
            rowDirection: object.rowDirection,
            columnDirection: object.columnDirection,
            rowSpacing: object.rowSpacing,
            columnSpacing: object.columnSpacing,
            sliceThickness: object.sliceThickness,
            rescaleSlope: object.rescaleSlope,
            rescaleIntercept: object.rescaleIntercept,
            windowCenter: object.windowCenter,
            windowWidth: object.windowWidth,
            temporalPosition: object.temporalPosition,
            acquisitionNumber: object.acquisitionNumber,
            echoNumber: object.echoNumber,
            echoTime: object.echoTime,
            instanceNumber: object.instanceNumber,
            imageType: object.imageType,
            triggerTime: object.triggerTime,
            contentTime: object.contentTime,
            acquisitionTime: object.acquisitionTime,
            diffusionBValue: object.diffusionBValue,
            dimensionIndex: []
        )
    }

    /// One tile of the object that this slice covers.
    fileprivate func tiled(_ index: Int, side: Int, width: Int, height: Int, at position: SIMD3<Double>?) -> DICOMSlice
    {
        var slice = self
        slice.tile = DICOMTile(x: index % side * width, y: index / side * height, width: width, height: height)
        slice.rows = height
        slice.columns = width
        slice.position = position
        return slice
    }

    /// One frame of the object that this slice covers. Values that a frame does not state are those of the object,
    /// except its position.
    fileprivate func framed(_ frame: Int, by groups: DICOMFrameGroups) -> DICOMSlice {
        var slice = self
        slice.frame = frame
        slice.position = groups.position
        slice.rowDirection = groups.rowDirection ?? rowDirection
        slice.columnDirection = groups.columnDirection ?? columnDirection
        slice.rowSpacing = groups.rowSpacing ?? rowSpacing
        slice.columnSpacing = groups.columnSpacing ?? columnSpacing
        slice.sliceThickness = groups.sliceThickness ?? sliceThickness
        slice.rescaleSlope = groups.rescaleSlope ?? rescaleSlope
        slice.rescaleIntercept = groups.rescaleIntercept ?? rescaleIntercept
        slice.windowCenter = groups.windowCenter ?? windowCenter
        slice.windowWidth = groups.windowWidth ?? windowWidth
        slice.stackID = groups.stackID
        slice.temporalPosition = groups.temporalPosition ?? temporalPosition
        slice.acquisitionNumber = groups.acquisitionNumber ?? acquisitionNumber
        slice.echoTime = groups.echoTime ?? echoTime
        slice.triggerTime = groups.triggerTime ?? triggerTime
        slice.acquisitionTime = groups.acquisitionTime ?? acquisitionTime
        slice.diffusionBValue = groups.diffusionBValue ?? diffusionBValue
        slice.dimensionIndex = groups.dimensionIndex
        if !groups.frameType.isEmpty { slice.imageType = groups.frameType }
        return slice
    }
}
