internal import NocturneCore

#if canImport(Glibc)
    internal import Glibc
#endif

/// Slices in order along their normal, and the grid they make.
///
/// The distance between slices comes from ImagePositionPatient alone: SliceThickness and SpacingBetweenSlices are often
/// something else. Method: DICOM PS3.3 C.7.6.2.1.1, with x and y negated for RAS+.
///
/// Positions are rounded decimal texts, so some noise is allowed everywhere: see ``Tolerance``.
struct SliceStack {
    let slices: [DICOMSlice]
    let geometry: VolumeGeometry

    /// How far numbers may differ that should be equal.
    enum Tolerance {
        /// Of a direction cosine: 0.06°.
        static let cosine = 1e-3
        /// Of the length and the angle of one pair of direction vectors.
        static let orthonormality = 1e-2
        /// Of PixelSpacing, relative.
        static let pixelSpacing = 1e-4
        /// Of one step against the usual step: 1 % of it, or 0.01 mm, what two-digit positions leave.
        static func step(_ usual: Double) -> Double { max(0.01 * usual, 0.01) + 1e-9 }
        /// Of a slice against an even grid, in steps: small errors of one sign must not add up.
        static let drift = 0.1
        /// Of the lean of the stack. Less is kept, exactly, in the affine.
        static let leanDegrees = 0.1
        /// Of a slice's sideways place in mm: a tenth of a pixel, or 0.05 mm.
        static func sideways(_ pixel: Double) -> Double { max(0.1 * pixel, 0.05) }
    }

    /// A slice and where it lies along the normal, in mm.
    private struct Placed {
        let object: DICOMSlice
        let position: SIMD3<Double>
        let height: Double
    }

    /// - Parameter objects: at least one, each of which ``ObjectCheck`` has passed.
    init(of objects: [DICOMSlice]) throws(DICOMReadError) {
        let first = objects[0]
        let (row, column) = try Self.directions(of: first)
        try Self.checkAlike(objects)
        guard objects.count > 1 else {
            throw DICOMReadError(
                .singleSlice,
                path: first.path,
                detail: "a single slice: there is no second one to give a step"
            )
        }
        let normal = Self.unit(cross(row, column))
        let stack = objects.map { object in
            let position = object.position ?? .zero
            return Placed(object: object, position: position, height: dot(position, normal))
        }.sorted { (left: Placed, right: Placed) in
            left.height != right.height ? left.height < right.height : left.object.path < right.object.path
        }
        let pixel = SIMD2(first.columnSpacing ?? 0, first.rowSpacing ?? 0)
        try Self.checkDuplicates(stack)
        var faults = Self.stepFaults(stack)
        faults += Self.leanFaults(stack, normal: normal, pixel: min(pixel.x, pixel.y))
        if let worst = faults.first {
            throw DICOMReadError(
                worst.code,
                path: first.path,
                detail: faults.map(\.detail).joined(separator: "; also ")
            )
        }
        let step = (stack[stack.count - 1].position - stack[0].position) / Double(stack.count - 1)
        guard let shape = VolumeShape(validating: first.columns ?? 0, y: first.rows ?? 0, z: stack.count) else {
            throw DICOMReadError(
                .tooLarge,
                path: first.path,
                detail: "\(first.columns ?? 0)×\(first.rows ?? 0)×\(stack.count) voxels are more than a volume may have"
            )
        }
        slices = stack.map(\.object)
        let lps = Affine(
            columnI: row * pixel.x,
            columnJ: column * pixel.y,
            columnK: step,
            translation: stack[0].position
        )
        let ras = lps.flippedBetweenRASAndLPS
        // Adding zero makes -0, which the flip leaves behind, a plain 0.
        let zero = SIMD3<Double>.zero
        geometry = VolumeGeometry(
            shape: shape,
            affine: Affine(
                columnI: ras.columnI + zero,
                columnJ: ras.columnJ + zero,
                columnK: ras.columnK + zero,
                translation: ras.translation + zero
            )
        )
    }

    /// The unit vectors along a row and down a column.
    private static func directions(
        of object: DICOMSlice
    ) throws(DICOMReadError) -> (row: SIMD3<Double>, column: SIMD3<Double>) {
        let row = object.rowDirection ?? .zero
        let column = object.columnDirection ?? .zero
        guard abs(length(row) - 1) <= Tolerance.orthonormality, abs(length(column) - 1) <= Tolerance.orthonormality,
            abs(dot(row, column)) <= Tolerance.orthonormality
        else {
            throw DICOMReadError(
                .orientationInvalid,
                path: object.path,
                detail: "ImageOrientationPatient (0020,0037) is not two perpendicular unit vectors: lengths "
                    + "\(figure(length(row))) and \(figure(length(column))), product \(figure(dot(row, column)))"
            )
        }
        return (unit(row), unit(column))
    }

    /// Size, pixel spacing and orientation are those of the first slice in all.
    private static func checkAlike(_ objects: [DICOMSlice]) throws(DICOMReadError) {
        let first = objects[0]
        let spacing = SIMD2(first.columnSpacing ?? 0, first.rowSpacing ?? 0)
        guard spacing.x > 0, spacing.y > 0 else {
            throw DICOMReadError(
                .pixelSpacingsDiffer,
                path: first.path,
                detail: "PixelSpacing (0028,0030) \(figure(spacing.y)) × \(figure(spacing.x)) is not positive"
            )
        }
        let orientations = distinctOrientations(objects)
        if orientations.count > 1 {
            let angle = degrees(orientations[0].normal, orientations[1].normal)
            throw DICOMReadError(
                .orientationsDiffer,
                path: orientations[1].path,
                detail: "\(orientations.count) orientations among the \(objects.count) slices of one series; the first "
                    + "two planes are \(figure(angle))° apart"
            )
        }
        for object in objects.dropFirst() {
            if object.rows != first.rows || object.columns != first.columns {
                throw DICOMReadError(
                    .matricesDiffer,
                    path: object.path,
                    detail: "\(object.columns ?? 0)×\(object.rows ?? 0) pixels, but \(first.columns ?? 0)×"
                        + "\(first.rows ?? 0) in \(first.name) of the same series"
                )
            }
            let other = SIMD2(object.columnSpacing ?? 0, object.rowSpacing ?? 0)
            let difference = SIMD2(abs(other.x - spacing.x), abs(other.y - spacing.y))
            let allowed = spacing * Tolerance.pixelSpacing
            if difference.x > allowed.x || difference.y > allowed.y {
                throw DICOMReadError(
                    .pixelSpacingsDiffer,
                    path: object.path,
                    detail: "PixelSpacing (0028,0030) is \(other.y) × \(other.x) mm, but "
                        + "\(spacing.y) × \(spacing.x) mm in \(first.name) of the same series"
                )
            }
        }
    }

    private static func distinctOrientations(
        _ objects: [DICOMSlice]
    ) -> [(row: SIMD3<Double>, column: SIMD3<Double>, normal: SIMD3<Double>, path: String)] {
        var found: [(row: SIMD3<Double>, column: SIMD3<Double>, normal: SIMD3<Double>, path: String)] = []
        for object in objects {
            let row = object.rowDirection ?? .zero
            let column = object.columnDirection ?? .zero
            let isKnown = found.contains { other in
                (0..<3).allSatisfy {
                    abs(other.row[$0] - row[$0]) <= Tolerance.cosine
                        && abs(other.column[$0] - column[$0]) <= Tolerance.cosine
                }
            }
            // More than a hundred are not told apart: the search would take the square of their number.
            if !isKnown, found.count < 100 {
                found.append((row, column, unit(cross(row, column)), object.path))
            }
        }
        return found
    }

    private static func checkDuplicates(_ stack: [Placed]) throws(DICOMReadError) {
        let usual = usualStep(stack)
        let limit = usual > 0 ? min(0.01, 0.1 * usual) : 0.01
        let pairs = zip(stack, stack.dropFirst()).filter { $1.height - $0.height <= limit }
        guard let (one, other) = pairs.first else { return }
        let copies = pairs.count {
            !$0.object.object.sopInstanceUID.isEmpty && $0.object.object.sopInstanceUID == $1.object.object.sopInstanceUID
        }
        let positions = stack.count - pairs.count
        var detail =
            "\(stack.count) slices share \(positions) position\(positions == 1 ? "" : "s"), e.g. "
            + "\(one.object.name) and \(other.object.name)"
        if copies == pairs.count {
            detail += ": the same SOPInstanceUID (0008,0018), copies of one object"
        } else if copies > 0 {
            detail += "; \(copies) are copies by SOPInstanceUID (0008,0018)"
        }
        let objects = stack.map(\.object)
        var differing: [String] = []
        if Set(objects.map(\.echoNumber)).count > 1 { differing.append("EchoNumbers (0018,0086)") }
        if Set(objects.map(\.acquisitionNumber)).count > 1 { differing.append("AcquisitionNumber (0020,0012)") }
        if Set(objects.map(\.imageType)).count > 1 { differing.append("ImageType (0008,0008)") }
        if !differing.isEmpty { detail += "; they differ in " + differing.joined(separator: ", ") }
        throw DICOMReadError(.duplicateSlices, path: one.object.path, detail: detail)
    }

    private typealias Fault = (code: DICOMReadError.Code, detail: String)

    /// Steps that are not the usual one. Slices are counted from 1.
    private static func stepFaults(_ stack: [Placed]) -> [Fault] {
        let usual = usualStep(stack)
        let odd = stack.indices.dropFirst().filter {
            abs(stack[$0].height - stack[$0 - 1].height - usual) > Tolerance.step(usual)
        }
        if let worst = odd.first {
            let step = stack[worst].height - stack[worst - 1].height
            let more = odd.count > 1 ? ", and \(odd.count - 1) more such places" : ""
            let whole = (step / usual).rounded()
            if whole >= 2, abs(step - whole * usual) <= whole * Tolerance.step(usual) {
                let detail =
                    "gap of \(figure(step)) mm between slices \(worst) and \(worst + 1), elsewhere "
                    + "\(figure(usual)) mm: slices are missing\(more)"
                return [(.missingSlices, detail)]
            }
            let detail =
                "step of \(figure(step)) mm between slices \(worst) and \(worst + 1), elsewhere "
                + "\(figure(usual)) mm\(more)"
            return [(.spacingNotUniform, detail)]
        }
        let step = (stack[stack.count - 1].height - stack[0].height) / Double(stack.count - 1)
        let drifts = stack.indices.map { abs(stack[$0].height - stack[0].height - Double($0) * step) / step }
        guard let most = drifts.max(), most > Tolerance.drift else { return [] }
        return [(.spacingNotUniform, "slices lie up to \(figure(most)) steps off an even grid of \(figure(step)) mm")]
    }

    /// A stack whose slices are shifted against each other along their own plane.
    private static func leanFaults(_ stack: [Placed], normal: SIMD3<Double>, pixel: Double) -> [Fault] {
        let whole = stack[stack.count - 1].position - stack[0].position
        let along = dot(whole, normal)
        let sideways = length(whole - normal * along)
        let lean = atan2(sideways, along) * 180 / Double.pi
        if lean > Tolerance.leanDegrees, sideways > Tolerance.sideways(pixel) {
            let stated = stack[0].object.object.gantryTilt.map { "; GantryDetectorTilt (0018,1120) says \(figure($0))°" } ?? ""
            return [(.sheared, "sheared by \(figure(lean))°: the slices are not stacked along their normal\(stated)")]
        }
        let step = whole / Double(stack.count - 1)
        for (index, slice) in stack.enumerated() {
            let off = slice.position - stack[0].position - step * Double(index)
            let shift = length(off - normal * dot(off, normal))
            if shift > Tolerance.sideways(pixel) {
                return [(.sheared, "slice \(index + 1) is shifted sideways by \(figure(shift)) mm against the others")]
            }
        }
        return []
    }

    /// The median distance between neighbours.
    private static func usualStep(_ stack: [Placed]) -> Double {
        let steps = zip(stack, stack.dropFirst()).map { $1.height - $0.height }.sorted()
        return steps.isEmpty ? 0 : steps[(steps.count - 1) / 2]
    }

    private static func unit(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        let size = length(vector)
        return size > 0 ? vector / size : vector
    }

    /// The angle between two unit vectors.
    private static func degrees(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double {
        atan2(length(cross(a, b)), dot(a, b)) * 180 / Double.pi
    }
}

/// A number for a message: at most four digits after the point.
func figure(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "\(value)" }
    let rounded = (value * 10_000).rounded() / 10_000
    return rounded == 0 ? "0" : "\(rounded)"
}
