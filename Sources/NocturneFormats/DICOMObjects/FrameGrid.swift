internal import CDCMTK
internal import NocturneCore

/// The even grid formed by the planes of a segmentation's frames, and the slice of each frame.
///
/// Frames may be in any order, several may share a plane, and planes without frames may be missing: the step is the
/// stated one, or else the smallest distance between two planes, and all other distances must be whole multiples of it.
struct FrameGrid {
    let geometry: VolumeGeometry
    /// The slice of each frame.
    let slices: [Int]
    /// Whether the frames are on one slice, whose thickness is stated and not measured. False for a requested grid.
    let isSingleSlice: Bool

    /// The pixel geometry of all frames.
    private struct Pixels {
        let columns: Int
        let rows: Int
        /// Unit vectors along a row and down a column, LPS+.
        let row: SIMD3<Double>
        let column: SIMD3<Double>
        /// Distance in mm from column to column and from row to row.
        let size: SIMD2<Double>
        /// Position of the first pixel of each frame, LPS+.
        let positions: [SIMD3<Double>]
    }

    /// - Parameter wanted: the required grid; nil for the smallest grid that holds all frames.
    init(
        of frames: [cdcmtk_segmentation_frame],
        columns: Int,
        rows: Int,
        on wanted: VolumeGeometry?,
        limits: DICOMObjectLimits,
        path: String
    ) throws(DICOMReadError) {
        let (row, column) = try Self.directions(of: frames[0], path: path)
        // PixelSpacing states the distance of rows first.
        let size = SIMD2(frames[0].pixel_spacing.1, frames[0].pixel_spacing.0)
        guard frames[0].has_spacing != 0, size.min() > 0 else {
            throw DICOMReadError(
                .missingElement,
                path: path,
                detail: "no usable PixelSpacing (0028,0030) in the pixel measures"
            )
        }
        let pixels = Pixels(
            columns: columns,
            rows: rows,
            row: row,
            column: column,
            size: size,
            positions: try Self.positions(of: frames, path)
        )
        if let wanted {
            geometry = wanted
            isSingleSlice = false
            slices = try Self.slices(of: pixels, on: wanted, path: path)
            try Self.checkThickness(of: frames[0], slices, on: wanted, path: path)
        } else {
            (geometry, slices) = try Self.smallest(holding: pixels, frames[0], limits, path)
            isSingleSlice = geometry.shape.z == 1
        }
    }

    private static func positions(
        of frames: [cdcmtk_segmentation_frame],
        _ path: String
    ) throws(DICOMReadError) -> [SIMD3<Double>] {
        var positions: [SIMD3<Double>] = []
        positions.reserveCapacity(frames.count)
        for (index, frame) in frames.enumerated() {
            guard frame.has_position != 0 else {
                throw DICOMReadError(
                    .missingElement,
                    path: path,
                    detail: "frame \(index + 1) has no usable ImagePositionPatient (0020,0032)"
                )
            }
            guard isAlike(frame, frames[0]) else {
                throw DICOMReadError(
                    .orientationsDiffer,
                    path: path,
                    detail: "frame \(index + 1) differs from the first in orientation or pixel size"
                )
            }
            positions.append(SIMD3(frame.position.0, frame.position.1, frame.position.2))
        }
        return positions
    }

    /// The smallest even grid that holds all frames, and the slice of each.
    private static func smallest(
        holding pixels: Pixels,
        _ first: cdcmtk_segmentation_frame,
        _ limits: DICOMObjectLimits,
        _ path: String
    ) throws(DICOMReadError) -> (VolumeGeometry, [Int]) {
        let normal = cross(pixels.row, pixels.column)
        let positions = pixels.positions
        let heights = positions.map { dot($0, normal) }
        guard first.slice_spacing.isFinite, first.slice_thickness.isFinite else {
            throw DICOMReadError(
                .unusableValue,
                path: path,
                detail: "SpacingBetweenSlices (0018,0088) or SliceThickness (0018,0050) of the frames is not a number"
            )
        }
        // A negative spacing counts as not stated.
        let stated = max(first.slice_spacing, 0)
        let planes = try planes(at: heights, stated: stated, thickness: first.slice_thickness, path)
        let (columns, rows) = (pixels.columns, pixels.rows)
        guard let shape = VolumeShape(validating: columns, y: rows, z: planes.count, limit: limits.voxels) else {
            throw DICOMReadError(
                .overLimit,
                path: path,
                detail: "\(columns)×\(rows)×\(planes.count) voxels exceed the limit"
            )
        }
        var slices: [Int] = []
        let lowest = heights.indices.min { heights[$0] < heights[$1] } ?? 0
        for (index, position) in positions.enumerated() {
            let k = ((heights[index] - planes.lowest) / planes.step).rounded()
            let off = position - positions[lowest] - normal * (heights[index] - planes.lowest)
            guard length(off) <= SliceStack.Tolerance.sideways(pixels.size.min()) else {
                throw DICOMReadError(
                    .sheared,
                    path: path,
                    detail: "frame \(index + 1) is shifted sideways by \(figure(length(off))) mm relative to the others"
                )
            }
            // Frames of one plane may be further apart than an implausibly small stated step.
            slices.append(Int(min(max(k, 0), Double(planes.count - 1))))
        }
        let lps = Affine(
            columnI: pixels.row * pixels.size.x,
            columnJ: pixels.column * pixels.size.y,
            columnK: normal * planes.step,
            translation: positions[lowest]
        )
        return (VolumeGeometry(shape: shape, lps: lps), slices)
    }

    private static func directions(
        of frame: cdcmtk_segmentation_frame,
        path: String
    ) throws(DICOMReadError) -> (row: SIMD3<Double>, column: SIMD3<Double>) {
        guard frame.has_orientation != 0 else {
            throw DICOMReadError(.missingElement, path: path, detail: "no usable ImageOrientationPatient (0020,0037)")
        }
        let (row, column) = frame.directions
        guard SliceStack.Tolerance.areOrthonormal(row, column) else {
            throw DICOMReadError(
                .orientationInvalid,
                path: path,
                detail: "ImageOrientationPatient (0020,0037) is not two perpendicular unit vectors"
            )
        }
        return (row / length(row), column / length(column))
    }

    private static func isAlike(_ frame: cdcmtk_segmentation_frame, _ first: cdcmtk_segmentation_frame) -> Bool {
        guard frame.has_orientation != 0, frame.has_spacing != 0 else { return false }
        let (own, other) = (frame.directions, first.directions)
        let allowed = SliceStack.Tolerance.pixelSpacing
        return SliceStack.Tolerance.areAlike(own.row, other.row)
            && SliceStack.Tolerance.areAlike(own.column, other.column)
            && abs(frame.pixel_spacing.0 - first.pixel_spacing.0) <= allowed * first.pixel_spacing.0
            && abs(frame.pixel_spacing.1 - first.pixel_spacing.1) <= allowed * first.pixel_spacing.1
    }

    /// The even planes that include all heights.
    private static func planes(
        at heights: [Double],
        stated: Double,
        thickness: Double,
        _ path: String
    ) throws(DICOMReadError) -> (lowest: Double, step: Double, count: Int) {
        let sorted = heights.sorted()
        // Frames within 5 µm are on one plane: positions are decimal numbers that were rounded.
        let gaps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }.filter { $0 > 0.005 }
        guard let smallest = gaps.min() else {
            let step = stated > 0 ? stated : thickness
            guard step > 0, step.isFinite else {
                throw DICOMReadError(
                    .singleSlice,
                    path: path,
                    detail: "all frames are on one slice, and neither SpacingBetweenSlices (0018,0088) nor "
                        + "SliceThickness (0018,0050) states its thickness"
                )
            }
            return (sorted[0], step, 1)
        }
        let span = sorted[sorted.count - 1] - sorted[0]
        guard span / smallest < 1e6 else {
            throw DICOMReadError(.spacingNotUniform, path: path, detail: "frames lie \(figure(smallest)) mm apart")
        }
        // The total distance divided by the number of steps is more precise than a single rounded gap. Where planes are
        // sparse, the smallest gap may itself be several steps: the stated spacing is used if it fits.
        var candidates = [smallest]
        // A stated step may be a little larger than the smallest gap by rounding, and so much smaller that planes are missing; 64
        // planes between two neighbours are not believed.
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
                "the frames are not on an even grid: the smallest distance is \(figure(smallest)) mm, and others are "
                + "no multiples of it"
        )
    }

    /// The slice of each position on a grid, which must have the same pixels.
    private static func slices(
        of pixels: Pixels,
        on grid: VolumeGeometry,
        path: String
    ) throws(DICOMReadError) -> [Int] {
        let lps = grid.affine.flippedBetweenRASAndLPS
        let (columns, rows) = (pixels.columns, pixels.rows)
        let (row, column) = (pixels.row * pixels.size.x, pixels.column * pixels.size.y)
        guard grid.shape.x == columns, grid.shape.y == rows else {
            let pixels = "it has \(columns)×\(rows) pixels, the grid \(grid.shape.x)×\(grid.shape.y)"
            throw DICOMReadError(.gridDiffers, path: path, detail: pixels)
        }
        // A fifth of a pixel at the far end of the image: rounded direction cosines may differ in the last digits.
        guard let inverse = lps.inverse, length(lps.columnI - row) * Double(columns) <= 0.2 * length(row),
            length(lps.columnJ - column) * Double(rows) <= 0.2 * length(column)
        else {
            let detail = "its rows and columns have another size or direction than those of the grid"
            throw DICOMReadError(.gridDiffers, path: path, detail: detail)
        }
        var places: [Int] = []
        for (index, position) in pixels.positions.enumerated() {
            let place = inverse(position)
            guard place.z.isFinite, abs(place.z) < 1e9, abs(place.x) <= 0.2, abs(place.y) <= 0.2,
                abs(place.z - place.z.rounded()) <= 0.2, (0..<grid.shape.z).contains(Int(place.z.rounded()))
            else {
                throw DICOMReadError(
                    .gridDiffers,
                    path: path,
                    detail: "frame \(index + 1) is not on a slice of the requested grid"
                )
            }
            places.append(Int(place.z.rounded()))
        }
        return places
    }
}

extension FrameGrid {
    /// Refuses a grid of which each frame covers several slices, as where a series of thin slices has the planes of thick ones: on
    /// it, the slices between would be empty.
    private static func checkThickness(
        of frame: cdcmtk_segmentation_frame,
        _ slices: [Int],
        on grid: VolumeGeometry,
        path: String
    ) throws(DICOMReadError) {
        let planes = Set(slices).sorted()
        let gaps = zip(planes, planes.dropFirst()).map { $1 - $0 }
        guard let smallest = gaps.min(), smallest > 1, gaps.allSatisfy({ $0 % smallest == 0 }) else { return }
        // A distance of planes alone may be that of an object without empty frames.
        let stated = frame.slice_spacing > 0 ? frame.slice_spacing : frame.slice_thickness
        let distance = Double(smallest) * length(grid.affine.columnK)
        guard abs(stated - distance) <= 0.02 * distance else { return }
        let detail = "its frames are \(figure(distance)) mm apart: each covers \(smallest) slices of the grid"
        throw DICOMReadError(.gridDiffers, path: path, detail: detail)
    }
}

extension cdcmtk_segmentation_frame {
    /// Along a row and down a column, as stated, LPS+.
    fileprivate var directions: (row: SIMD3<Double>, column: SIMD3<Double>) {
        let values = orientation
        return (SIMD3(values.0, values.1, values.2), SIMD3(values.3, values.4, values.5))
    }
}
