internal import CDCMTK
internal import CDICOMParser
public import NocturneCore
public import NocturneSystem

extension DICOMStructureSet {
    /// A region to be written: closed contours on the slices of the grid.
    public struct ContouredRegion: Sendable {
        /// The name of the region.
        public var name: String
        /// The display colour of the region.
        public var color: LabelColor
        /// What the region is; nil for none.
        public var code: CodedConcept?
        /// Holes are connected to the surrounding contour by a channel of zero width, as the standard specifies for
        /// CLOSED_PLANAR.
        public var contours: [SliceContour]

        /// - Parameters:
        ///   - name: at most 64 characters are written.
        ///   - color: red, green and blue of ROIDisplayColor (3006,002A).
        ///   - code: what the region is; nil for none.
        ///   - contours: closed, on slices of the grid; none for a region that is left out.
        public init(name: String, color: LabelColor, code: CodedConcept? = nil, contours: [SliceContour]) {
            self.name = name
            self.color = color
            self.code = code
            self.contours = contours
        }
    }
}

/// Writes contours as a DICOM structure set (RTSTRUCT).
///
/// Every contour refers to the source image of its slice, and all source images are listed. Patient, study, UIDs and
/// dates are handled as in ``DICOMSegmentation``. Coordinates have four decimal places. The object is written
/// with implicit value representations, the only ones that can store contours of more than 64 KiB.
extension DICOMStructureSet {
    /// Writes the regions that have contours.
    ///
    /// - Parameters:
    ///   - geometry: the grid of the sources: i = column, j = row, k = slice, RAS+ mm.
    ///   - origin: with one source for each k.
    ///   - path: replaced if it exists.
    /// - Returns: whether there was a region with contours; otherwise no file was written.
    /// - Throws: ``DICOMWriteError``.
    /// - Complexity: about 60 bytes of memory and 25 bytes of file per point. The headers of all sources are read.
    @discardableResult
    public static func write(
        _ regions: [DICOMStructureSet.ContouredRegion],
        geometry: VolumeGeometry,
        from origin: DICOMObjectOrigin,
        to path: String,
        flag: CancellationFlag
    ) throws -> Bool {
        let kept = regions.filter { !$0.contours.isEmpty }
        guard !kept.isEmpty else { return false }
        let builder = try ObjectBuilder(.structureSet, geometry: geometry, origin: origin, path: path)
        try builder.add(origin.sources, of: geometry, flag: flag)
        let lps = geometry.affine.flippedBetweenRASAndLPS
        for region in kept {
            try add(region, to: builder)
            for contour in region.contours {
                try flag.check()
                guard (0..<geometry.shape.z).contains(contour.slice) else {
                    throw DICOMWriteError(.internalFault, path: path, "a contour on slice \(contour.slice)")
                }
                var coordinates: [Double] = []
                coordinates.reserveCapacity(3 * contour.points.count)
                for point in contour.points {
                    // Indices to LPS mm, in which ContourData (3006,0050) is written.
                    let place = lps(SIMD3(point.x, point.y, Double(contour.slice)))
                    coordinates.append(contentsOf: [place.x, place.y, place.z])
                }
                var error = cdicom_error()
                let code = cdcmtk_structure_add_contour(
                    builder.object,
                    UInt32(contour.slice),
                    coordinates,
                    contour.points.count,
                    &error
                )
                guard code == CDICOM_OK else { throw DICOMWriteError(code, error, path: path) }
            }
        }
        try builder.save()
        return true
    }

    private static func add(
        _ region: DICOMStructureSet.ContouredRegion,
        to builder: borrowing ObjectBuilder
    ) throws(DICOMWriteError) {
        var texts = [dicomText(region.name, limit: 64)]
        if let code = region.code {
            texts += [
                dicomText(code.scheme, limit: 16), dicomText(code.value, limit: 64), dicomText(code.meaning, limit: 64),
            ]
        }
        let color = [region.color.red, region.color.green, region.color.blue]
        var error = cdicom_error()
        let object = builder.object
        let code = withCStrings(texts) { pointers in
            let coded: [UnsafePointer<CChar>?] =
                pointers.count == 4 ? [pointers[1], pointers[2], pointers[3]] : [nil, nil, nil]
            return cdcmtk_structure_add_region(object, pointers[0], color, coded, &error)
        }
        guard code == CDICOM_OK else { throw DICOMWriteError(code, error, path: builder.path) }
    }
}
