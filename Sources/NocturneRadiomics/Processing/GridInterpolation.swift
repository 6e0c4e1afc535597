internal import NocturneCore
internal import NocturneSystem

/// The voxels of a new grid along one axis, with the old voxels that each is interpolated from (section 2.4).
///
/// Both grids have the same centre. The new one has as many voxels as are needed to cover the old one.
package struct AxisInterpolation: Sendable {
    /// The number of voxels of the old and of the new grid.
    package let sourceCount: Int
    /// At least 1. On a new axis at most 2²⁰, at which no region is made.
    package let count: Int
    /// The distance in mm between voxels of the new grid.
    package let spacing: Double
    /// Of the first new voxel, and the distance of new voxels; in old voxels.
    private let start: Double
    private let step: Double

    /// - Parameter spacing: of the new grid; nil or 0 keeps the axis.
    package init(count: Int, spacing old: Double, to new: Double?) {
        sourceCount = count
        guard let new, new > 0, new != old else {
            (self.count, spacing, start, step) = (count, old, 0, 1)
            return
        }
        // A voxel more than a whole number by rounding alone is none.
        // Limited, so that the product of three axes is a number; ``RegionExtractor`` takes no region on such a grid.
        self.count = max(1, Int(min((Double(count) * old / new - 1e-9).rounded(.up), 0x1p20)))
        spacing = new
        step = new / old
        start = 0.5 * (Double(count) - 1) - 0.5 * (Double(self.count) - 1) * step
    }

    /// Whether every new voxel is an old one, so that nothing is interpolated along the axis.
    package var keepsGrid: Bool { step == 1 && count == sourceCount }

    /// The place of a new voxel among the old ones, not beyond the first and the last.
    package func place(of voxel: Int) -> Double { min(max(start + Double(voxel) * step, 0), Double(sourceCount - 1)) }

    /// The new voxels that may be interpolated from old ones of a range.
    package func voxels(near range: Range<Int>) -> Range<Int> {
        let first = ((Double(range.lowerBound) - 1 - start) / step).rounded(.down)
        let last = ((Double(range.upperBound) - start) / step).rounded(.up)
        let lower = Int(min(max(first, 0), Double(count)))
        return lower..<max(lower, Int(min(max(last + 1, 0), Double(count))))
    }

    /// The old voxels that some new ones are interpolated from, with `reach` more at each side of the nearest two.
    package func sources(of range: Range<Int>, reach: Int) -> Range<Int> {
        let first = Int(place(of: range.lowerBound).rounded(.down)) - reach
        let last = Int(place(of: range.upperBound - 1).rounded(.down)) + 1 + reach
        return max(first, 0)..<min(last + 1, sourceCount)
    }
}

extension GridInterpolation {
    /// The old voxels and their weights for each new voxel of a range along an axis.
    struct AxisWeights: Sendable {
        /// The voxels that a value is a sum of: 1, 2 or 4.
        let taps: Int
        /// The old voxel of each tap, less the first of the range of old voxels.
        let sources: [Int32]
        let weights: [Double]

        init(_ axis: AxisInterpolation, _ range: Range<Int>, _ kernel: RadiomicsSettings.Kernel, from first: Int) {
            let kernel = axis.keepsGrid ? .nearest : kernel
            taps = kernel == .nearest ? 1 : kernel == .linear ? 2 : 4
            var sources: [Int32] = []
            var weights: [Double] = []
            let last = axis.sourceCount - 1
            for voxel in range {
                let place = axis.place(of: voxel)
                let below = Int(place.rounded(.down))
                let share = place - Double(below)
                switch kernel {
                case .nearest:
                    sources.append(Int32(Int(place.rounded(.toNearestOrAwayFromZero)) - first))
                    weights.append(1)
                case .linear:
                    sources += [below, min(below + 1, last)].map { Int32($0 - first) }
                    weights += [1 - share, share]
                case .cubic:
                    // Coefficients continue as in a mirror at the first and the last voxel.
                    let mirrored = (below - 1...below + 2).map { $0 < 0 ? -$0 : $0 > last ? 2 * last - $0 : $0 }
                    sources += mirrored.map { Int32(min(max($0, 0), last) - first) }
                    weights += Self.cubic(share)
                }
            }
            self.sources = sources
            self.weights = weights
        }

        /// The cubic B-spline at the distances 1 + t, t, 1 − t and 2 − t.
        private static func cubic(_ t: Double) -> [Double] {
            let s = 1 - t
            return [
                s * s * s / 6, (4 - 6 * t * t + 3 * t * t * t) / 6, (4 - 6 * s * s + 3 * s * s * s) / 6, t * t * t / 6,
            ]
        }
    }
}

/// Interpolates boxes of an image from its voxels, axis by axis, in double precision.
struct GridInterpolation: Sendable {
    let axes: [AxisInterpolation]

    /// - Parameter spacing: of the new grid in mm; a component of 0 keeps an axis, nil all of them.
    init(_ geometry: VolumeGeometry, to spacing: SIMD3<Double>?) {
        axes = (0..<3).map { axis in
            AxisInterpolation(
                count: geometry.shape[axis],
                spacing: geometry.spacing[axis],
                to: spacing.map { $0[axis] }
            )
        }
    }

    var shape: VolumeShape { VolumeShape(x: axes[0].count, y: axes[1].count, z: axes[2].count) }
    var spacing: SIMD3<Double> { SIMD3(axes[0].spacing, axes[1].spacing, axes[2].spacing) }
    var keepsGrid: Bool { axes.allSatisfy(\.keepsGrid) }

    /// The new voxels that may be interpolated from old ones of a box; nil when there are none.
    func voxels(near box: VoxelBox) -> VoxelBox? {
        let ranges = (0..<3).map { axes[$0].voxels(near: box.lower[$0]..<box.upper[$0]) }
        guard ranges.allSatisfy({ !$0.isEmpty }) else { return nil }
        return VoxelBox(
            lower: SIMD3(ranges[0].lowerBound, ranges[1].lowerBound, ranges[2].lowerBound),
            upper: SIMD3(ranges[0].upperBound, ranges[1].upperBound, ranges[2].upperBound)
        )
    }

    /// The values of a box of the new grid.
    ///
    /// Memory: the old voxels of the box in double precision for cubic interpolation, else four slices.
    /// - Parameters:
    ///   - box: not empty.
    ///   - flag: checked for every slice.
    ///   - read: copies the old voxels of a row: from (x, j, k) on, as many as the buffer has.
    func values(
        in box: VoxelBox,
        _ kernel: RadiomicsSettings.Kernel,
        _ flag: CancellationFlag,
        _ read: @escaping (_ start: SIMD3<Int>, _ row: UnsafeMutableBufferPointer<Double>) -> Void
    ) throws(CancelledError) -> [Float] {
        guard !keepsGrid else { return try copied(box, flag, read) }
        let reach = kernel == .cubic ? SplineFilter.reach : 0
        let ranges = (0..<3).map { axes[$0].sources(of: box.lower[$0]..<box.upper[$0], reach: reach) }
        let weights = (0..<3).map {
            AxisWeights(axes[$0], box.lower[$0]..<box.upper[$0], kernel, from: ranges[$0].lowerBound)
        }
        let size = VolumeShape(x: ranges[0].count, y: ranges[1].count, z: ranges[2].count)
        let origin = SIMD3(ranges[0].lowerBound, ranges[1].lowerBound, ranges[2].lowerBound)
        var slices = SourceSlices(size: size, weights: weights, target: box.shape) { slice, values in
            for row in 0..<size.y {
                let part = UnsafeMutableBufferPointer(rebasing: values[row * size.x..<(row + 1) * size.x])
                read(origin &+ SIMD3(0, row, slice), part)
            }
        }
        if kernel == .cubic { try slices.filter(axes.map { !$0.keepsGrid }, flag) }
        var target: [Float] = []
        target.reserveCapacity(box.shape.count)
        for voxel in 0..<box.shape.z {
            try flag.check()
            slices.append(slice: voxel, to: &target)
        }
        return target
    }

    /// The old voxels of a box. Adding 0 turns −0 into 0, as sums over several voxels do.
    private func copied(
        _ box: VoxelBox,
        _ flag: CancellationFlag,
        _ read: (_ start: SIMD3<Int>, _ row: UnsafeMutableBufferPointer<Double>) -> Void
    ) throws(CancelledError) -> [Float] {
        var target: [Float] = []
        target.reserveCapacity(box.shape.count)
        var row = [Double](repeating: 0, count: box.shape.x)
        for k in box.lower.z..<box.upper.z {
            try flag.check()
            for j in box.lower.y..<box.upper.y {
                row.withUnsafeMutableBufferPointer { read(SIMD3(box.lower.x, j, k), $0) }
                target += row.lazy.map { Float($0 + 0) }
            }
        }
        return target
    }
}

extension GridInterpolation {
    /// The old slices that are interpolated in their planes, kept as long as they are needed.
    fileprivate struct SourceSlices {
        let size: VolumeShape
        let weights: [AxisWeights]
        let target: VolumeShape
        /// Fills a slice with old voxels.
        let load: (_ slice: Int, _ values: UnsafeMutableBufferPointer<Double>) -> Void
        /// All old voxels, filtered, for cubic interpolation.
        var coefficients: [Double] = []
        /// By the number of the old slice.
        var ready: [Int: [Double]] = [:]

        /// Turns all old voxels into coefficients of splines along some axes.
        mutating func filter(_ isInterpolated: [Bool], _ flag: CancellationFlag) throws(CancelledError) {
            coefficients = [Double](repeating: 0, count: size.count)
            try coefficients.withUnsafeMutableBufferPointer { values throws(CancelledError) in
                for slice in 0..<size.z {
                    try flag.check()
                    load(
                        slice,
                        UnsafeMutableBufferPointer(
                            rebasing: values[slice * size.sliceCount..<(slice + 1) * size.sliceCount]
                        )
                    )
                }
                let steps = [1, size.x, size.sliceCount]
                for axis in 0..<3 where isInterpolated[axis] && size[axis] > 1 {
                    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3)
                    for a in 0..<size[u] {
                        try flag.check()
                        for b in 0..<size[v] {
                            SplineFilter.apply(
                                values,
                                start: a * steps[u] + b * steps[v],
                                step: steps[axis],
                                count: size[axis]
                            )
                        }
                    }
                }
            }
        }

        /// A slice of the new grid: the weighted sum of old slices.
        mutating func append(slice: Int, to values: inout [Float]) {
            let taps = weights[2].taps
            // What this slice does not read is dropped: the old slices of later ones are the same or lie beyond.
            let needed = (0..<taps).map { Int(weights[2].sources[slice * taps + $0]) }
            ready = ready.filter { needed.contains($0.key) }
            var sum = [Double](repeating: 0, count: target.sliceCount)
            for (tap, source) in needed.enumerated() {
                let plane = ready[source] ?? plane(source)
                ready[source] = plane
                let weight = weights[2].weights[slice * taps + tap]
                // A weight of 0 must not spread what is not a number.
                guard weight != 0 else { continue }
                for place in sum.indices { sum[place] += weight * plane[place] }
            }
            values += sum.lazy.map { Float($0) }
        }

        /// An old slice, interpolated along i and j.
        private func plane(_ slice: Int) -> [Double] {
            var source = [Double](repeating: 0, count: size.sliceCount)
            if coefficients.isEmpty {
                source.withUnsafeMutableBufferPointer { load(slice, $0) }
            } else {
                source = Array(coefficients[slice * size.sliceCount..<(slice + 1) * size.sliceCount])
            }
            var rows = [Double](repeating: 0, count: target.x * size.y)
            let (across, down) = (weights[0], weights[1])
            for j in 0..<size.y {
                for i in 0..<target.x {
                    var sum = 0.0
                    for tap in i * across.taps..<(i + 1) * across.taps where across.weights[tap] != 0 {
                        sum += across.weights[tap] * source[j * size.x + Int(across.sources[tap])]
                    }
                    rows[j * target.x + i] = sum
                }
            }
            var plane = [Double](repeating: 0, count: target.sliceCount)
            for j in 0..<target.y {
                for tap in j * down.taps..<(j + 1) * down.taps where down.weights[tap] != 0 {
                    let row = Int(down.sources[tap]) * target.x
                    for i in 0..<target.x { plane[j * target.x + i] += down.weights[tap] * rows[row + i] }
                }
            }
            return plane
        }
    }
}

/// The filter that turns voxels into coefficients of cubic B-splines through them (Unser, Aldroubi and Eden, 1993).
package enum SplineFilter {
    /// Old voxels beyond those of the box that coefficients depend on: farther ones change a coefficient by less than 10⁻⁹ of
    /// a voxel.
    package static let reach = 16
    private static let pole = 3.0.squareRoot() - 2

    /// In place; the voxels continue as in a mirror at both ends.
    package static func apply(_ values: UnsafeMutableBufferPointer<Double>, start: Int, step: Int, count: Int) {
        // The first coefficient of the causal filter is a sum over all voxels. The pole to the power of 40 is 10⁻²³, less than a
        // double can add to the sum.
        var (sum, power) = (0.0, 1.0)
        for place in 0..<min(count, 40) {
            sum += power * values[start + place * step]
            power *= pole
        }
        // Six times the voxels is the gain of the filter.
        values[start] = 6 * sum
        for place in 1..<count {
            values[start + place * step] = 6 * values[start + place * step] + pole * values[start + (place - 1) * step]
        }
        let last = start + (count - 1) * step
        values[last] = pole / (pole * pole - 1) * (values[last] + pole * values[last - step])
        for place in (0..<count - 1).reversed() {
            values[start + place * step] = pole * (values[start + (place + 1) * step] - values[start + place * step])
        }
    }
}
