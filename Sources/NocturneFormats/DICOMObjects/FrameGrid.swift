internal import CDCMTK
internal import NocturneCore

/// The even grid that the planes of a segmentation's frames make, and the slice of each frame.
///
/// Frames come in any order, several share a plane, and planes without frames are simply missing: the step is the
/// stated one, or else the smallest distance between two planes, and all others must be whole multiples of it.
struct FrameGrid {
    let geometry: VolumeGeometry
    /// Of each frame.
    let slices: [Int]
    let hasStatedStep: Bool

    /// - Parameter wanted: the grid to lie on; nil for the smallest that holds all frames.
    init(
        of frames: [cdcmtk_segmentation_frame],
        columns: Int,
        rows: Int,
        on wanted: VolumeGeometry?,
        limits: DICOMObjectLimits,
        path: String
    ) throws(DICOMReadError) {
        let first = frames[0]
        let (row, column) = try Self.directions(of: first, path: path)
        let pixel = SIMD2(first.pixel_spacing.1, first.pixel_spacing.0)
        guard first.has_spacing != 0, pixel.min() > 0 else {
            throw DICOMReadError(
                .missingElement,
                path: path,
                detail: "no PixelSpacing (0028,0030) in the pixel measures"
            )
        }
        var positions: [SIMD3<Double>] = []
        positions.reserveCapacity(frames.count)
        for (index, frame) in frames.enumerated() {
            guard frame.has_position != 0 else {
                throw DICOMReadError(
                    .missingElement,
                    path: path,
                    detail: "frame \(index + 1) has no ImagePositionPatient (0020,0032)"
                )
            }
            guard Self.isAlike(frame, first) else {
                throw DICOMReadError(
                    .orientationsDiffer,
                    path: path,
                    detail: "frame \(index + 1) lies otherwise, or has other pixels, than the first"
                )
            }
            positions.append(SIMD3(frame.position.0, frame.position.1, frame.position.2))
        }
        if let wanted {
            geometry = wanted
            hasStatedStep = false
            slices = try Self.places(
                of: positions,
                row: row * pixel.x,
                column: column * pixel.y,
                columns: columns,
                rows: rows,
                on: wanted,
                path: path
            )
            return
        }
        let normal = cross(row, column)
        let heights = positions.map { dot($0, normal) }
        let planes = try Self.planes(
            at: heights,
            stated: max(first.slice_spacing, 0),
            thickness: first.slice_thickness,
            path
        )
        hasStatedStep = planes.count == 1
        guard let shape = VolumeShape(validating: columns, y: rows, z: planes.count, limit: limits.voxels) else {
            throw DICOMReadError(
                .overLimit,
                path: path,
                detail: "\(columns)×\(rows)×\(planes.count) voxels are more than are read"
            )
        }
        var places: [Int] = []
        let lowest = heights.indices.min { heights[$0] < heights[$1] } ?? 0
        for (index, position) in positions.enumerated() {
            let k = ((heights[index] - planes.lowest) / planes.step).rounded()
            let off = position - positions[lowest] - normal * (heights[index] - planes.lowest)
            guard length(off) <= SliceStack.Tolerance.sideways(pixel.min()) else {
                throw DICOMReadError(
                    .sheared,
                    path: path,
                    detail: "frame \(index + 1) is shifted sideways by \(figure(length(off))) mm against the others"
                )
            }
            // Frames of one plane may lie apart by more than an absurdly small step that is stated.
            places.append(Int(min(max(k, 0), Double(planes.count - 1))))
        }
        slices = places
        let lps = Affine(
            columnI: row * pixel.x,
            columnJ: column * pixel.y,
            columnK: normal * planes.step,
            translation: positions[lowest]
        )
        geometry = VolumeGeometry(shape: shape, lps: lps)
    }

    private static func directions(
        of frame: cdcmtk_segmentation_frame,
        path: String
    ) throws(DICOMReadError) -> (row: SIMD3<Double>, column: SIMD3<Double>) {
        guard frame.has_orientation != 0 else {
            throw DICOMReadError(.missingElement, path: path, detail: "no ImageOrientationPatient (0020,0037)")
        }
        let values = frame.orientation
        let row = SIMD3(values.0, values.1, values.2)
        let column = SIMD3(values.3, values.4, values.5)
        let tolerance = SliceStack.Tolerance.orthonormality
        guard abs(length(row) - 1) <= tolerance, abs(length(column) - 1) <= tolerance,
            abs(dot(row, column)) <= tolerance
        else {
            throw DICOMReadError(
                .orientationInvalid,
                path: path,
                detail: "ImageOrientationPatient (0020,0037) is not two perpendicular unit vectors"
            )
        }
        return (row / length(row), column / length(column))
    }

    private static func isAlike(_ frame: cdcmtk_segmentation_frame, _ first: cdcmtk_segmentation_frame) -> Bool {
        func values(_ frame: cdcmtk_segmentation_frame) -> [Double] {
            let o = frame.orientation
            return [o.0, o.1, o.2, o.3, o.4, o.5]
        }
        guard frame.has_orientation != 0, frame.has_spacing != 0 else { return false }
        let allowed = SliceStack.Tolerance.cosine
        return zip(values(frame), values(first)).allSatisfy { abs($0 - $1) <= allowed }
            && abs(frame.pixel_spacing.0 - first.pixel_spacing.0) <= 1e-4 * first.pixel_spacing.0
            && abs(frame.pixel_spacing.1 - first.pixel_spacing.1) <= 1e-4 * first.pixel_spacing.1
    }

    /// The even planes that hold all heights.
    private static func planes(
        at heights: [Double],
        stated: Double,
        thickness: Double,
        _ path: String
    ) throws(DICOMReadError) -> (lowest: Double, step: Double, count: Int) {
        let sorted = heights.sorted()
        let gaps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }.filter { $0 > 0.005 }
        guard let smallest = gaps.min() else {
            let step = stated > 0 ? stated : thickness
            guard step > 0, step.isFinite else {
                throw DICOMReadError(
                    .singleSlice,
                    path: path,
                    detail: "all frames lie on one slice, and neither SpacingBetweenSlices (0018,0088) nor "
                        + "SliceThickness (0018,0050) says how thick it is"
                )
            }
            return (sorted[0], step, 1)
        }
        let span = sorted[sorted.count - 1] - sorted[0]
        guard span / smallest < 1e6 else {
            throw DICOMReadError(.spacingNotUniform, path: path, detail: "frames lie \(figure(smallest)) mm apart")
        }
        // The whole span over its number of steps is more precise than one rounded gap. Where planes are sparse, the
        // smallest gap may itself be several steps: the stated spacing tells, if it fits.
        var candidates = [smallest]
        if stated > 0, stated < 1.1 * smallest, smallest / stated < 64 { candidates.insert(stated, at: 0) }
        for candidate in candidates {
            let steps = (span / candidate).rounded()
            guard steps >= 1 else { continue }
            let step = span / steps
            let drift =
                sorted.map { height in
                    let place = (height - sorted[0]) / step
                    return abs(place - place.rounded())
                }.max() ?? 0
            if drift <= SliceStack.Tolerance.drift { return (sorted[0], step, Int(steps) + 1) }
        }
        throw DICOMReadError(
            .spacingNotUniform,
            path: path,
            detail:
                "the frames lie on no even grid: the smallest distance is \(figure(smallest)) mm, and others are no "
                + "multiples of it"
        )
    }

    /// The slice of each position on a grid, which must have these pixels.
    private static func places(
        of positions: [SIMD3<Double>],
        row: SIMD3<Double>,
        column: SIMD3<Double>,
        columns: Int,
        rows: Int,
        on grid: VolumeGeometry,
        path: String
    ) throws(DICOMReadError) -> [Int] {
        let lps = grid.affine.flippedBetweenRASAndLPS
        guard grid.shape.x == columns, grid.shape.y == rows, let inverse = lps.inverse,
            length(lps.columnI - row) * Double(columns) <= 0.2 * length(row),
            length(lps.columnJ - column) * Double(rows) <= 0.2 * length(column)
        else {
            throw DICOMReadError(
                .gridDiffers,
                path: path,
                detail: "\(columns)×\(rows) pixels of the segmentation are not those of the grid asked for"
            )
        }
        var places: [Int] = []
        for (index, position) in positions.enumerated() {
            let place = inverse(position)
            guard place.z.isFinite, abs(place.z) < 1e9, abs(place.x) <= 0.2, abs(place.y) <= 0.2,
                abs(place.z - place.z.rounded()) <= 0.2, (0..<grid.shape.z).contains(Int(place.z.rounded()))
            else {
                throw DICOMReadError(
                    .gridDiffers,
                    path: path,
                    detail: "frame \(index + 1) lies on no slice of the grid asked for"
                )
            }
            places.append(Int(place.z.rounded()))
        }
        return places
    }
}
