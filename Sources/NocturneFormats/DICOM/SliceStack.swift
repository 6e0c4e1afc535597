internal import Glibc
internal import NocturneCore
import NocturneSystem

/// Slices in order along their normal, and their grid.
///
/// The distance between slices is computed from ImagePositionPatient alone: SliceThickness and SpacingBetweenSlices
/// often differ from it. Method: DICOM PS3.3 C.7.6.2.1.1, with x and y negated for RAS+.
///
/// Positions are rounded decimal numbers, so all comparisons allow some noise: see ``Tolerance``.
struct SliceStack {
    let slices: [DICOMSlice]
    let geometry: VolumeGeometry
    /// The resampling needed to make the grid orthogonal and even; nil where the slices are the grid's planes.
    let correction: StackCorrection?
    /// The median distance of neighbouring slices in mm.
    let usualStep: Double
    /// Remarks that do not prevent reading.
    let notes: [Note]

    /// The allowed differences between numbers that should be equal.
    enum Tolerance {
        /// Of a direction cosine: 0.06°.
        private static let cosine = 1e-3
        /// For the length of a direction vector and the angle between the two.
        private static let orthonormality = 1e-2
        /// Whether two direction vectors are the same.
        static func areAlike(_ one: SIMD3<Double>, _ other: SIMD3<Double>) -> Bool {
            (0..<3).allSatisfy { abs(one[$0] - other[$0]) <= cosine }
        }
        /// Whether direction vectors of rows and columns are two perpendicular unit vectors.
        static func areOrthonormal(_ row: SIMD3<Double>, _ column: SIMD3<Double>) -> Bool {
            abs(length(row) - 1) <= orthonormality && abs(length(column) - 1) <= orthonormality
                && abs(dot(row, column)) <= orthonormality
        }
        /// PixelSpacing in mm: from less than the size of a cell to more than the size of the body.
        static let pixelSizes = 1e-4...1e4
        /// PixelSpacing, relative.
        static let pixelSpacing = 1e-4
        /// One step compared with the usual step: 1 % of it, or 0.01 mm, the rounding of two-digit positions.
        static func step(_ usual: Double) -> Double { max(0.01 * usual, 0.01) + 1e-9 }
        /// A slice compared with an even grid, in steps: small errors of the same sign must not add up.
        static let drift = 0.1
        /// The tilt of the stack. A smaller tilt is stored exactly in the affine.
        static let tiltDegrees = 0.1
        /// A slice's sideways position in mm: a tenth of a pixel, or 0.05 mm.
        static func sideways(_ pixel: Double) -> Double { max(0.1 * pixel, 0.05) }
        /// Positions rounded to a tenth of a millimetre: the distance in mm of a slice from an even grid, across its
        /// plane and within it. The steps between such slices differ by up to twice that.
        static let rounding = 0.1
    }

    /// A stack that is not a volume in its stored form.
    struct StackError: Error {
        let error: DICOMReadError
        /// The correction that would make it a volume, if there is one.
        let correction: StackCorrection?
    }

    /// - Parameters:
    ///   - slices: at least one; each has passed ``ObjectCheck``.
    ///   - corrects: whether a tilted or uneven stack is resampled instead of refused.
    init(of slices: [DICOMSlice], corrects: Bool = false) throws(StackError) {
        var fault: DICOMReadError?
        do throws(DICOMReadError) {
            let frame = try StackFrame(of: slices)
            self.slices = frame.stack.map(\.slice)
            let usual = StackFrame.usualStep(frame.stack)
            usualStep = usual
            let odd = Self.oddSteps(frame.stack, usual)
            notes = Self.roundingNotes(frame.stack, odd)
            // The first one decides the code of the error; its text names all.
            let faults = Self.stepFaults(frame.stack, odd, usual) + Self.tiltFaults(frame)
            if let worst = faults.first {
                let detail = faults.map(\.detail).joined(separator: "; also ")
                let error = DICOMReadError(worst.code, path: slices[0].object.path, detail: detail)
                let possible = try Self.correction(of: frame, against: error)
                geometry = possible.geometry
                correction = possible
                fault = error
            } else {
                geometry = try frame.geometry()
                correction = nil
            }
        } catch {
            throw StackError(error: error, correction: nil)
        }
        if let fault, !corrects { throw StackError(error: fault, correction: correction) }
    }

    private static func correction(
        of frame: StackFrame,
        against fault: DICOMReadError
    ) throws(DICOMReadError) -> StackCorrection {
        do {
            return try StackCorrection(of: frame)
        } catch {
            throw DICOMReadError(
                fault.code,
                path: fault.path,
                detail: "\(fault.detail). It cannot be corrected: \(error.detail)"
            )
        }
    }

    /// Whether the slices form a volume without correction.
    static func isEven(_ slices: [DICOMSlice]) -> Bool { suitability(of: slices) == .even }

    /// What slices can become.
    enum Suitability {
        /// A volume as they are.
        case even
        /// A volume by resampling.
        case correctable
        case unsuitable
    }

    static func suitability(of slices: [DICOMSlice]) -> Suitability {
        do {
            _ = try SliceStack(of: slices)
            return .even
        } catch {
            return error.correction == nil ? .unsuitable : .correctable
        }
    }

    /// The largest distance in mm of a slice from the even grid between the first and the last one.
    private static func drift(_ heights: [Double]) -> Double {
        guard heights.count > 1 else { return 0 }
        let step = (heights[heights.count - 1] - heights[0]) / Double(heights.count - 1)
        return heights.indices.map { abs(heights[$0] - heights[0] - Double($0) * step) }.max() ?? 0
    }

    /// Whether the positions of slices with uneven steps are those of an even grid, rounded.
    static func isRounded(_ heights: [Double]) -> Bool {
        guard heights.count > 2 else { return false }
        let step = (heights[heights.count - 1] - heights[0]) / Double(heights.count - 1)
        return drift(heights) <= min(Tolerance.rounding, Tolerance.drift * step) + 1e-9
    }

    /// The places of the slices that do not follow the one before at the usual step.
    private static func oddSteps(_ stack: [StackFrame.PositionedSlice], _ usual: Double) -> [Int] {
        stack.indices.dropFirst().filter {
            abs(stack[$0].height - stack[$0 - 1].height - usual) > Tolerance.step(usual)
        }
    }

    private static func roundingNotes(_ stack: [StackFrame.PositionedSlice], _ odd: [Int]) -> [Note] {
        let heights = stack.map(\.height)
        guard !odd.isEmpty, isRounded(heights) else { return [] }
        let step = (heights[heights.count - 1] - heights[0]) / Double(heights.count - 1)
        return [
            Note(
                "dicom.roundedPositions",
                "ImagePositionPatient (0020,0032) is rounded: slices lie up to \(own: figure(drift(heights))) mm away from "
                    + "an even grid of \(own: figure(step)) mm"
            )
        ]
    }

    private typealias StackFault = (code: DICOMReadError.Code, detail: String)

    /// Steps that differ from the usual step. Slices are counted from 1.
    private static func stepFaults(
        _ stack: [StackFrame.PositionedSlice],
        _ odd: [Int],
        _ usual: Double
    ) -> [StackFault] {
        if let worst = odd.first, !isRounded(stack.map(\.height)) {
            let step = stack[worst].height - stack[worst - 1].height
            let more = odd.count > 1 ? ", and \(odd.count - 1) more such positions" : ""
            // An odd step of whole usual steps means missing slices; any other is a spacing that changes.
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
        let detail = "slices lie up to \(figure(most)) steps away from an even grid of \(figure(step)) mm"
        return [(.spacingNotUniform, detail)]
    }

    /// A stack whose slices are shifted relative to each other in their plane.
    private static func tiltFaults(_ frame: StackFrame) -> [StackFault] {
        let (stack, normal, pixel) = (frame.stack, frame.normal, min(frame.pixel.x, frame.pixel.y))
        let whole = stack[stack.count - 1].position - stack[0].position
        let along = dot(whole, normal)
        let sideways = length(whole - normal * along)
        // Both limits: on a short stack a small angle moves a slice by less than the rounding of positions.
        let tilt = atan2(sideways, along) * 180 / Double.pi
        if tilt > Tolerance.tiltDegrees, sideways > Tolerance.sideways(pixel) {
            let stated =
                stack[0].slice.object.gantryTilt.map { "; GantryDetectorTilt (0018,1120) is \(figure($0))°" } ?? ""
            return [(.sheared, "sheared by \(figure(tilt))°: the slices are not stacked along their normal\(stated)")]
        }
        // Against the straight line from the first slice to the last one, so that noise does not add up.
        let step = whole / Double(stack.count - 1)
        for (index, slice) in stack.enumerated() {
            let off = slice.position - stack[0].position - step * Double(index)
            let shift = length(off - normal * dot(off, normal))
            if shift > max(Tolerance.sideways(pixel), Tolerance.rounding) {
                let detail = "slice \(index + 1) is shifted sideways by \(figure(shift)) mm relative to the others"
                return [(.sheared, detail)]
            }
        }
        return []
    }
}

extension SliceStack {
    /// Whether the slices of an even stack are further apart than they are thick, so that slices may be missing between them.
    enum Sparseness {
        case none
        /// Enough slices to trust their distance.
        case noted(Note)
        /// Too few of them: slices of a larger series.
        case fragment(DICOMReadError)

        /// The distance of slices relative to the largest stated one. Gaps of half a thickness are common in MR.
        private static let limit = 1.6
        /// With fewer slices, only one or two distances show that the distance is even.
        private static let leastSlices = 4

        init(_ stack: SliceStack) {
            let (slices, usualStep) = (stack.slices, stack.usualStep)
            let steps = stack.correction?.unevenSteps ?? figure(usualStep)
            // Scanners state the thickness, the distance, or the gap between slices in either element.
            let plausible = SliceStack.Tolerance.pixelSizes
            let thickness = slices.compactMap(\.plane.sliceThickness).filter(plausible.contains).max() ?? 0
            let spacing =
                slices.compactMap { $0.object.spacingBetweenSlices.map { abs($0) } }.filter(plausible.contains).max()
                ?? 0
            let stated = max(thickness, spacing)
            guard stated > 0, usualStep > Self.limit * stated else {
                self = .none
                return
            }
            let element = spacing > thickness ? "SpacingBetweenSlices (0018,0088)" : "SliceThickness (0018,0050)"
            let fact: Sentence =
                "\(slices.count) slices \(own: steps) mm apart, but \(own: element) is \(own: figure(stated)) mm"
            if slices.count < Self.leastSlices {
                let detail = "\(fact.description): part of a series whose other slices are missing"
                self = .fragment(slices[0].error(.missingSlices, detail))
            } else {
                self = .noted(Note("dicom.slicesApart", "\(fact): what lies between the slices is not imaged"))
            }
        }
    }
}
