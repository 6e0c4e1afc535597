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
    /// What was needed to make the grid orthogonal and even; nil where the slices are the grid's planes.
    let correction: StackCorrection?

    /// How far numbers may differ that should be equal.
    enum Tolerance {
        /// Of a direction cosine: 0.06°.
        static let cosine = 1e-3
        /// Of the length and the angle of one pair of direction vectors.
        static let orthonormality = 1e-2
        /// PixelSpacing in mm: from less than a cell of the body has to more than the body.
        static let pixelSizes = 1e-4...1e4
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

    /// A stack that is no volume as it is.
    struct Fault: Error {
        let error: DICOMReadError
        /// What would make it a volume, if that is possible.
        let correction: StackCorrection?
    }

    /// - Parameters:
    ///   - slices: at least one, each of which ``ObjectCheck`` has passed.
    ///   - corrects: whether a stack that leans or is uneven is resampled instead of refused.
    init(of slices: [DICOMSlice], corrects: Bool = false) throws(Fault) {
        do {
            let frame = try StackFrame(of: slices)
            self.slices = frame.stack.map(\.slice)
            let faults = Self.stepFaults(frame.stack) + Self.leanFaults(frame)
            guard let worst = faults.first else {
                geometry = try frame.geometry()
                correction = nil
                return
            }
            let words = faults.map(\.detail).joined(separator: "; also ")
            let error = DICOMReadError(worst.code, path: slices[0].object.path, detail: words)
            let possible = try Self.correction(of: frame, against: error)
            guard corrects else { throw Fault(error: error, correction: possible) }
            geometry = possible.geometry
            correction = possible
        } catch let error as DICOMReadError {
            throw Fault(error: error, correction: nil)
        } catch let fault as Fault {
            throw fault
        } catch {
            let words = DICOMReadError(.internalFault, path: slices[0].object.path, detail: "\(error)")
            throw Fault(error: words, correction: nil)
        }
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
                detail: "\(fault.detail); beyond repair: \(error.detail)"
            )
        }
    }

    /// Whether the slices make a volume as they are.
    static func isEven(_ slices: [DICOMSlice]) -> Bool { (try? SliceStack(of: slices)) != nil }

    private typealias StackFault = (code: DICOMReadError.Code, detail: String)

    /// Steps that are not the usual one. Slices are counted from 1.
    private static func stepFaults(_ stack: [StackFrame.Placed]) -> [StackFault] {
        let usual = StackFrame.usualStep(stack)
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
    private static func leanFaults(_ frame: StackFrame) -> [StackFault] {
        let (stack, normal, pixel) = (frame.stack, frame.normal, min(frame.pixel.x, frame.pixel.y))
        let whole = stack[stack.count - 1].position - stack[0].position
        let along = dot(whole, normal)
        let sideways = length(whole - normal * along)
        let lean = atan2(sideways, along) * 180 / Double.pi
        if lean > Tolerance.leanDegrees, sideways > Tolerance.sideways(pixel) {
            let stated =
                stack[0].slice.object.gantryTilt.map { "; GantryDetectorTilt (0018,1120) says \(figure($0))°" } ?? ""
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
}
