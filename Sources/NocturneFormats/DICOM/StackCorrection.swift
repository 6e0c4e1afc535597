internal import Glibc
public import NocturneCore
import NocturneSystem

/// How a tilted or unevenly spaced stack is resampled to an orthogonal and even grid.
///
/// Method: that of dcm2niix. A tilted stack is sheared in plane: each slice is shifted according to its position, by
/// linear interpolation, on a matrix enlarged by the total shift. Uneven slices are interpolated linearly between
/// neighbours, at the shortest distance that occurs, or at the median distance where the shortest would give more than
/// three planes for each slice. Voxels outside all slices get the smallest stored value.
public struct StackCorrection: Sendable, Hashable {
    /// Columns, rows and slices as stored.
    public let storedShape: VolumeShape
    /// The orthogonal, even grid; RAS+ mm.
    public let geometry: VolumeGeometry
    /// The angle between the stack and its slices' normal; 0 if it is small enough to be stored in the affine.
    public let tiltDegrees: Double
    /// The shortest and the longest distance of neighbouring slices along their normal, in mm.
    public let shortestStep: Double
    /// See ``shortestStep``.
    public let longestStep: Double
    /// Planes of the grid at whose positions no slice was stored.
    public let interpolatedPlanes: Int

    /// The position of the first pixel of each stored slice in the grid, in pixels along i and j; never negative.
    let shifts: [SIMD2<Double>]
    /// The slice at or below each plane of the grid, and the weight of the slice above it.
    let planes: [Plane]

    struct Plane: Sendable, Hashable {
        var lower: Int
        var weight: Double
    }

    /// Why a stack cannot be corrected.
    struct CorrectionError: Error {
        let detail: String
    }

    /// Limits of the correction. Beyond them, most of the image would be interpolated rather than moved.
    enum Limit {
        static let tiltDegrees = 45.0
        /// One step relative to the longer of its neighbours: one slice may be missing.
        static let gap = 2.05
        /// The shortest step relative to the median one: closer slices are at one place rather than a step apart.
        static let shortStep = 0.1
        /// Planes of the grid for each stored slice.
        static let planes = 3
        /// The maximum shift of a slice in pixels.
        static let shift = 1e6
    }

    /// The distances of slices, in mm, where planes are interpolated because they differ; nil elsewhere.
    var unevenSteps: String? {
        interpolatedPlanes > 0 ? "\(figure(shortestStep)) to \(figure(longestStep))" : nil
    }

    var note: Note {
        var parts: [Sentence] = []
        if tiltDegrees > 0 { parts.append("tilt of \(own: figure(tiltDegrees))° corrected by shearing") }
        if let steps = unevenSteps {
            parts.append(
                "steps of \(own: steps) mm resampled to "
                    + "\(own: figure(geometry.spacing.z)) mm, \(own: counted(interpolatedPlanes, "plane")) interpolated"
            )
        }
        if geometry.shape.x > storedShape.x || geometry.shape.y > storedShape.y {
            parts.append("voxels outside the slices have the smallest value, and count in measures")
        }
        let (from, to) = (storedShape, geometry.shape)
        return Note(
            "dicom.resampled",
            "resampled: " + parts.joined(separator: "; ")
                + "; \(from.x)×\(from.y)×\(from.z) voxels became \(to.x)×\(to.y)×\(to.z)"
        )
    }

    init(of frame: StackFrame) throws(CorrectionError) {
        let stack = frame.stack
        let first = stack[0]
        let extent = stack[stack.count - 1].height - first.height
        let steps = zip(stack, stack.dropFirst()).map { $1.height - $0.height }
        shortestStep = steps.min() ?? 0
        longestStep = steps.max() ?? 0

        // The in-plane shift of each slice in mm, relative to a position perpendicular to the first slice.
        let sideways = stack.map { $0.position - first.position - frame.normal * ($0.height - first.height) }
        // mm sideways for each mm along the normal.
        let tilt = (sideways.last ?? .zero) / extent
        let pixel = min(frame.pixel.x, frame.pixel.y)
        for (index, slice) in stack.enumerated() {
            let off = length(sideways[index] - tilt * (slice.height - first.height))
            guard off <= max(SliceStack.Tolerance.sideways(pixel), SliceStack.Tolerance.rounding) else {
                throw CorrectionError(
                    detail: "slice \(index + 1) lies \(figure(off)) mm away from the line of the others"
                )
            }
        }
        let degrees = atan(length(tilt)) * 180 / Double.pi
        guard degrees <= Limit.tiltDegrees else {
            throw CorrectionError(detail: "it is tilted by more than \(figure(Limit.tiltDegrees))°")
        }
        let isSheared =
            degrees > SliceStack.Tolerance.tiltDegrees
            && length(tilt) * extent > SliceStack.Tolerance.sideways(pixel)
        tiltDegrees = isSheared ? degrees : 0

        let (planes, step) = try Self.planes(of: stack.map { $0.height - first.height }, steps: steps)
        self.planes = planes
        interpolatedPlanes = planes.count { $0.weight > 0 }

        let along = try Self.shifts(sideways.map { isSheared ? dot($0, frame.row) / frame.pixel.x : 0 })
        let down = try Self.shifts(sideways.map { isSheared ? dot($0, frame.column) / frame.pixel.y : 0 })
        shifts = zip(along.shifts, down.shifts).map { SIMD2($0, $1) }
        let origin =
            first.position + frame.row * (frame.pixel.x * Double(along.start))
            + frame.column * (frame.pixel.y * Double(down.start))
        // Without shearing, a tilt below the tolerance stays in the affine, as for a stack that needs no correction.
        let upright = isSheared ? frame.normal * step : (frame.normal + tilt) * step
        guard let stored = VolumeShape(validating: frame.columns, y: frame.rows, z: stack.count) else {
            throw CorrectionError(detail: "it has more voxels than a volume may have")
        }
        storedShape = stored
        do {
            geometry = try frame.geometry(
                x: frame.columns + along.growth,
                y: frame.rows + down.growth,
                z: planes.count,
                step: upright,
                origin: origin
            )
        } catch {
            throw CorrectionError(detail: error.detail)
        }
    }

    /// Shifts in pixels from the first pixel of an axis that is long enough for all of them.
    private static func shifts(
        _ pixels: [Double]
    ) throws(CorrectionError) -> (shifts: [Double], start: Int, growth: Int) {
        // Also false for NaN.
        guard pixels.allSatisfy({ abs($0) <= Limit.shift }) else {
            throw CorrectionError(detail: "its slices lie more than \(figure(Limit.shift)) pixels apart sideways")
        }
        // A hundredth of a pixel is noise and does not justify another column.
        let low = Int(((pixels.min() ?? 0) + 0.01).rounded(.down))
        let high = Int(((pixels.max() ?? 0) - 0.01).rounded(.up))
        guard low < high else { return (pixels.map { _ in 0 }, 0, 0) }
        return (pixels.map { min(max($0 - Double(low), 0), Double(high - low)) }, low, high - low)
    }

    /// The planes of an even grid from the first height, which is 0, to the last one; and their distance.
    private static func planes(
        of heights: [Double],
        steps: [Double]
    ) throws(CorrectionError) -> (planes: [Plane], step: Double) {
        let extent = heights[heights.count - 1]
        for (index, step) in steps.enumerated() {
            let neighbours = [index - 1, index + 1].filter(steps.indices.contains).map { steps[$0] }
            guard let longer = neighbours.max(), step > Limit.gap * longer else { continue }
            throw CorrectionError(
                detail: "only single missing slices can be interpolated"
            )
        }
        // The steps are even except for noise: use their mean, not the shortest one.
        let usual = steps.sorted()[(steps.count - 1) / 2]
        let isEven = steps.allSatisfy { abs($0 - usual) <= SliceStack.Tolerance.step(usual) }
        if !isEven, SliceStack.isRounded(heights) {
            // The planes are the slices, whose positions are rounded.
            return (heights.indices.map { Plane(lower: $0, weight: 0) }, extent / Double(steps.count))
        }
        var shortest = isEven ? extent / Double(steps.count) : steps.min() ?? 0
        // One short step, where slabs of different thickness meet, must not multiply the planes.
        let isTooMany = extent / shortest > Double(Limit.planes * heights.count)
        if isTooMany, shortest >= Limit.shortStep * usual { shortest = usual }
        let count = (extent / shortest).rounded()
        guard count.isFinite, count >= 1, count <= Double(Limit.planes * heights.count) else {
            throw CorrectionError(
                detail:
                    "steps from \(figure(shortest)) to \(figure(steps.max() ?? 0)) mm are too uneven to be interpolated"
            )
        }
        let step = extent / count
        let snap = SliceStack.Tolerance.step(step) / step
        var lower = 0
        let planes = (0...Int(count)).map { index in
            let height = Double(index) * step
            while lower < heights.count - 2, heights[lower + 1] <= height { lower += 1 }
            let weight = (height - heights[lower]) / steps[lower]
            if weight * steps[lower] <= snap * step { return Plane(lower: lower, weight: 0) }
            if (1 - weight) * steps[lower] <= snap * step { return Plane(lower: lower + 1, weight: 0) }
            return Plane(lower: lower, weight: weight)
        }
        return (planes, step)
    }
}
