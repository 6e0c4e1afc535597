internal import Glibc
internal import NocturneCore
import NocturneSystem

/// Slices with a common orientation and matrix, in order along their normal, each at a different position.
struct StackFrame {
    /// A slice and its position along the normal in mm.
    struct PositionedSlice {
        let slice: DICOMSlice
        let position: SIMD3<Double>
        let height: Double
    }

    /// Unit vectors along a row and down a column, LPS+.
    let row: SIMD3<Double>
    let column: SIMD3<Double>
    let normal: SIMD3<Double>
    /// Distance in mm between columns and between rows.
    let pixel: SIMD2<Double>
    let columns: Int
    let rows: Int
    let stack: [PositionedSlice]

    init(of slices: [DICOMSlice]) throws(DICOMReadError) {
        let first = slices[0]
        (row, column) = try Self.directions(of: first)
        try Self.checkAlike(slices)
        guard slices.count > 1 else {
            throw first.error(.singleSlice, "a single slice: the slice distance is unknown")
        }
        let normal = Self.unit(cross(row, column))
        self.normal = normal
        stack = slices.map { slice in
            let position = slice.plane.position ?? .zero
            return PositionedSlice(slice: slice, position: position, height: dot(position, normal))
        }.sorted { (left: PositionedSlice, right: PositionedSlice) in
            left.height != right.height
                ? left.height < right.height : SeriesSplitCriterion.isBefore(left.slice, right.slice)
        }
        pixel = SIMD2(first.plane.columnSpacing ?? 0, first.plane.rowSpacing ?? 0)
        columns = first.plane.columns ?? 0
        rows = first.plane.rows ?? 0
        try Self.checkDuplicates(stack)
    }

    /// The grid whose planes are the slices: a straight line from the first to the last one.
    func geometry() throws(DICOMReadError) -> VolumeGeometry {
        let step = (stack[stack.count - 1].position - stack[0].position) / Double(stack.count - 1)
        return try geometry(x: columns, y: rows, z: stack.count, step: step, origin: stack[0].position)
    }

    /// - Parameters:
    ///   - step: the vector from one plane to the next, LPS+ mm.
    ///   - origin: the centre of the first voxel, LPS+ mm.
    func geometry(
        x: Int,
        y: Int,
        z: Int,
        step: SIMD3<Double>,
        origin: SIMD3<Double>
    ) throws(DICOMReadError) -> VolumeGeometry {
        guard let shape = VolumeShape(validating: x, y: y, z: z) else {
            throw stack[0].slice.error(.tooLarge, "\(x)×\(y)×\(z) voxels are more than a volume may have")
        }
        let lps = Affine(columnI: row * pixel.x, columnJ: column * pixel.y, columnK: step, translation: origin)
        // The step is computed from positions, for which a file may contain any numbers.
        guard lps.isFinite, length(step).isFinite, let inverse = lps.inverse, inverse.isFinite else {
            throw stack[0].slice.error(
                .positionsInvalid,
                "ImagePositionPatient (0020,0032) gives a step of \(figure(length(step))) mm from slice to "
                    + "slice, which does not define a grid"
            )
        }
        return VolumeGeometry(shape: shape, lps: lps)
    }

    /// The unit vectors along a row and down a column.
    private static func directions(
        of slice: DICOMSlice
    ) throws(DICOMReadError) -> (row: SIMD3<Double>, column: SIMD3<Double>) {
        let row = slice.plane.rowDirection ?? .zero
        let column = slice.plane.columnDirection ?? .zero
        guard SliceStack.Tolerance.areOrthonormal(row, column) else {
            throw slice.error(
                .orientationInvalid,
                "ImageOrientationPatient (0020,0037) is not two perpendicular unit vectors: lengths "
                    + "\(figure(length(row))) and \(figure(length(column))), product \(figure(dot(row, column)))"
            )
        }
        return (unit(row), unit(column))
    }

    /// All slices have the size, pixel spacing and orientation of the first one.
    private static func checkAlike(_ slices: [DICOMSlice]) throws(DICOMReadError) {
        let first = slices[0]
        // x is the distance of columns: the second value of PixelSpacing.
        let spacing = SIMD2(first.plane.columnSpacing ?? 0, first.plane.rowSpacing ?? 0)
        let plausible = SliceStack.Tolerance.pixelSizes
        guard plausible.contains(spacing.x), plausible.contains(spacing.y) else {
            throw first.error(
                .pixelSpacingsDiffer,
                "PixelSpacing (0028,0030) is \(spacing.y) × \(spacing.x) mm, which is not a plausible pixel "
                    + "size: it must be between \(plausible.lowerBound) and \(plausible.upperBound) mm"
            )
        }
        let orientations = distinctOrientations(slices)
        if orientations.count > 1 {
            let angle = degrees(orientations[0].normal, orientations[1].normal)
            let single = orientations.filter { $0.count == 1 }.map(\.first)
            let odd = single.count == 1 ? single[0] : nil
            throw (odd ?? orientations[1].first).error(
                .orientationsDiffer,
                "\(orientations.count) orientations among the \(slices.count) slices of one series; the first "
                    + "two planes are \(figure(angle))° apart"
                    + (odd.map { "; \($0.name) is the only one of its orientation" } ?? "")
            )
        }
        for slice in slices.dropFirst() {
            if slice.plane.rows != first.plane.rows || slice.plane.columns != first.plane.columns {
                throw slice.error(
                    .matricesDiffer,
                    "\(slice.name) has \(slice.plane.columns ?? 0)×\(slice.plane.rows ?? 0) pixels, but "
                        + "\(first.name) of the same series has \(first.plane.columns ?? 0)×\(first.plane.rows ?? 0)"
                )
            }
            let other = SIMD2(slice.plane.columnSpacing ?? 0, slice.plane.rowSpacing ?? 0)
            let difference = SIMD2(abs(other.x - spacing.x), abs(other.y - spacing.y))
            let allowed = spacing * SliceStack.Tolerance.pixelSpacing
            if difference.x > allowed.x || difference.y > allowed.y {
                throw slice.error(
                    .pixelSpacingsDiffer,
                    "PixelSpacing (0028,0030) is \(other.y) × \(other.x) mm in \(slice.name), but "
                        + "\(spacing.y) × \(spacing.x) mm in \(first.name) of the same series"
                )
            }
        }
    }

    private typealias Orientation = (
        row: SIMD3<Double>, column: SIMD3<Double>, normal: SIMD3<Double>, first: DICOMSlice, count: Int
    )

    private static func distinctOrientations(_ slices: [DICOMSlice]) -> [Orientation] {
        var found: [Orientation] = []
        for slice in slices {
            let row = slice.plane.rowDirection ?? .zero
            let column = slice.plane.columnDirection ?? .zero
            let known = found.firstIndex {
                SliceStack.Tolerance.areAlike($0.row, row) && SliceStack.Tolerance.areAlike($0.column, column)
            }
            if let known {
                found[known].count += 1
            } else if found.count < 100 {
                // At most a hundred are distinguished, because the search time is quadratic in their number.
                found.append((row, column, unit(cross(row, column)), slice, 1))
            }
        }
        return found
    }

    private static func checkDuplicates(_ stack: [PositionedSlice]) throws(DICOMReadError) {
        let usual = usualStep(stack)
        // A tenth of a step, so that thin slices are not taken for copies, and at most the rounding of two decimals.
        let limit = usual > 0 ? min(0.01, 0.1 * usual) : 0.01
        let pairs = zip(stack, stack.dropFirst()).filter { $1.height - $0.height <= limit }
        guard let (one, other) = pairs.first else { return }
        let copies = pairs.count {
            $0.slice.isCopy(of: $1.slice)
        }
        let positions = stack.count - pairs.count
        var detail =
            "\(stack.count) slices share \(counted(positions, "position")), e.g. "
            + (one.slice.name == other.slice.name
                ? "\(shortPath(one.slice.path)) and \(shortPath(other.slice.path))"
                : "\(one.slice.name) and \(other.slice.name)")
        if copies == pairs.count {
            detail += ": the same SOPInstanceUID (0008,0018), but not the same pixels"
        } else if copies > 0 {
            detail += "; \(copies) have the SOPInstanceUID (0008,0018) of their neighbour, but other pixels"
        }
        // A hundred pairs are enough to name the elements.
        let differing = SeriesSplitCriterion.elements(thatDifferIn: pairs.prefix(100).map { ($0.slice, $1.slice) })
        if !differing.isEmpty { detail += "; they differ in " + differing.joined(separator: ", ") }
        throw one.slice.error(.duplicateSlices, detail + missing(stack, limit))
    }

    /// Where a few positions have fewer slices than the others, as one that lacks a slice of one volume.
    private static func missing(_ stack: [PositionedSlice], _ limit: Double) -> String {
        var counts = [1]
        for (below, slice) in zip(stack, stack.dropFirst()) {
            if slice.height - below.height <= limit { counts[counts.count - 1] += 1 } else { counts.append(1) }
        }
        let most = counts.max() ?? 1
        let lacking = counts.indices.filter { counts[$0] < most }
        guard let first = lacking.first, lacking.count * 2 < counts.count else { return "" }
        let more = lacking.count > 1 ? ", as at \(lacking.count - 1) more" : ""
        return "; position \(first + 1) of \(counts.count) has \(counted(counts[first], "slice")), others "
            + "\(most): slices are missing there\(more)"
    }

    /// The median distance between neighbours.
    static func usualStep(_ stack: [PositionedSlice]) -> Double {
        let steps = zip(stack, stack.dropFirst()).map { $1.height - $0.height }.sorted()
        return steps.isEmpty ? 0 : steps[(steps.count - 1) / 2]
    }

    static func unit(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        let size = length(vector)
        return size > 0 ? vector / size : vector
    }

    /// The angle between two unit vectors.
    static func degrees(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double {
        atan2(length(cross(a, b)), dot(a, b)) * 180 / Double.pi
    }
}

extension DICOMSlice {
    /// Whether both have the identifiers of the same slice of the same object.
    func isCopy(of other: DICOMSlice) -> Bool {
        !object.sopInstanceUID.isEmpty && object.sopInstanceUID == other.object.sopInstanceUID
            && frame == other.frame && tile == other.tile
    }
}

/// A number for a message: at most four decimal places.
func figure(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "\(value)" }
    let rounded = (value * 10_000).rounded() / 10_000
    return rounded == 0 ? "0" : "\(rounded)"
}

extension VolumeGeometry {
    /// From the map to DICOM's coordinate system, LPS+ mm.
    init(shape: VolumeShape, lps: Affine) {
        let ras = lps.flippedBetweenRASAndLPS
        // Adding zero converts -0, which results from the sign change, to 0.
        let zero = SIMD3<Double>.zero
        self.init(
            shape: shape,
            affine: Affine(
                columnI: ras.columnI + zero,
                columnJ: ras.columnJ + zero,
                columnK: ras.columnK + zero,
                translation: ras.translation + zero
            )
        )
    }
}
