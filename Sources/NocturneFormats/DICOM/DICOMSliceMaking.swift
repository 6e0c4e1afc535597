internal import NocturneCore

extension DICOMObject {
    /// The planes of this object: one, or its frames, or the used tiles of a mosaic.
    ///
    /// Frames without functional groups of their own, and mosaics whose tiles are not stated, come as one slice that is
    /// all of the object; ``DICOMSeries/problem`` then says what is missing.
    /// - Throws: ``DICOMReadError`` for an image whose file is too small for the pixels of its frames: it must not become
    ///   a quarter million slices.
    public func slices() throws(DICOMReadError) -> [DICOMSlice] {
        try ObjectCheck.checkLength(self)
        var shared = self
        shared.frameGroups = []
        let whole = DICOMSlice(of: shared)
        if frameGroupCount > 0, frameGroupCount == numberOfFrames ?? 1, frameGroups.count == frameGroupCount {
            return frameGroups.enumerated().map { whole.framed($0.offset, by: $0.element) }
        }
        return mosaicSlices(of: whole) ?? [whole]
    }

    /// Bounds of a mosaic: scanners make at most some hundred tiles, of 32 pixels an edge or more.
    private enum Mosaic {
        static let mostTiles = 4096
        static let leastEdge = 8
    }

    /// Whether ImageType says that many slices lie in one picture.
    var isMosaic: Bool { imageType.contains("MOSAIC") }

    /// The used tiles of a Siemens mosaic in the order of the scanner; nil when what places them is not stated.
    ///
    /// ImagePositionPatient is the place of a slice as large as the whole mosaic, with the same centre as the first
    /// slice, so the first pixel lies further in by half of what the slice is smaller. Method: the one of NiBabel's
    /// "DICOM orientation and mosaics", checked against dcm2niix.
    private func mosaicSlices(of whole: DICOMSlice) -> [DICOMSlice]? {
        guard isMosaic, let count = mosaicTiles, let rows, let columns, let position, let rowDirection,
            let columnDirection, let rowSpacing, let columnSpacing, (numberOfFrames ?? 1) == 1,
            let step = spacingBetweenSlices ?? sliceThickness, step > 0
        else { return nil }
        guard count <= Mosaic.mostTiles else { return nil }
        var side = 1
        while side * side < count { side += 1 }
        guard rows >= side * Mosaic.leastEdge, columns >= side * Mosaic.leastEdge, rows % side == 0, columns % side == 0
        else { return nil }
        let across = cross(rowDirection, columnDirection)
        let normal = mosaicNormal ?? across
        // A normal that is none of this picture would misplace all slices but the first.
        guard abs(abs(dot(normal, across)) - 1) < 0.01 else { return nil }
        let (width, height) = (columns / side, rows / side)
        let first =
            position + rowDirection * (columnSpacing * Double(columns - width) / 2)
            + columnDirection * (rowSpacing * Double(rows - height) / 2)
        return (0..<count).map { index in
            var slice = whole
            slice.tile = DICOMTile(x: index % side * width, y: index / side * height, width: width, height: height)
            slice.rows = height
            slice.columns = width
            slice.position = first + normal * (step * Double(index))
            return slice
        }
    }
}

extension DICOMSlice {
    /// The whole of an object.
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

    /// One frame of the object this slice is the whole of. What a frame does not state is that of the object, except
    /// its place.
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
