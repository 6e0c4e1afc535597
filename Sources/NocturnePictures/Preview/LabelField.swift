import NocturneConcurrency

/// The labels of a grid as a smooth field: 1 inside any label, 0 outside, with quadratic B-splines in between.
///
/// Coordinates are canonical voxel indices (R, A, S); integers are the centres of voxels. There are no labels outside
/// the volume.
struct LabelField {
    /// The level of the surface: low enough that a single voxel still has one (its field reaches 0.42).
    static let surface = 0.4

    private let voxels: ParallelReader<UInt16>
    /// The storage offset of the canonical voxel (0, 0, 0).
    private let origin: Int
    /// By axis and index, what is added to it.
    private let offsets: [[Int]]
    private let spacing: SIMD3<Double>
    /// By axis, the distances in voxels at which voxels are read for gradients.
    private let taps: [[Int]]
    /// The distances in mm at which their weights would be 0.
    private let reach: SIMD3<Double>

    /// The voxels must stay allocated as long as the field is used.
    init(_ voxels: ParallelReader<UInt16>, _ grid: SlicedGrid) {
        self.voxels = voxels
        origin = grid.origin
        offsets = grid.axes.map(\.offsets)
        let spacing = SIMD3(grid.axes[0].spacing, grid.axes[1].spacing, grid.axes[2].spacing)
        self.spacing = spacing
        // Gradients are computed over the largest of three distances on every side: three voxels; six voxels, but at
        // most 5 mm; one and a half times the largest spacing. Smaller distances would show the steps between voxels
        // and slices. At most seven voxels along an axis are read.
        let radius = max(3 * spacing.min(), min(6 * spacing.min(), 5), 1.5 * spacing.max())
        taps = (0..<3).map { axis in
            // No volume is a million voxels long, whatever its spacings state.
            let most = max(1, Int(min((radius / spacing[axis]).rounded(), 1e6)))
            let step = (most + 2) / 3
            return Array(stride(from: -(most / step) * step, through: most, by: step))
        }
        reach = SIMD3(
            Double(taps[0].last! + 1) * spacing.x,
            Double(taps[1].last! + 1) * spacing.y,
            Double(taps[2].last! + 1) * spacing.z
        )
    }

    /// The weights of the nearest voxel and of its two neighbours along an axis.
    static func weights(_ place: Double) -> (nearest: Int, weights: SIMD3<Double>) {
        let nearest = Int((place + 0.5).rounded(.down))
        return (nearest, LabelDrawing.splineWeights(place - Double(nearest)))
    }

    private func offset(_ axis: Int, _ index: Int) -> Int? {
        offsets[axis].indices.contains(index) ? offsets[axis][index] : nil
    }

    /// At most nine voxels around a line along A. Kept in place: there is one for every ray.
    struct Column {
        private(set) var count = 0
        private(set) var offsets = InlineArray<9, Int>(repeating: 0)
        private(set) var weights = InlineArray<9, Double>(repeating: 0)

        fileprivate mutating func append(_ offset: Int, _ weight: Double) {
            offsets[count] = offset
            weights[count] = weight
            count += 1
        }
    }

    /// The column of nine voxels around a line along A, and their weights; voxels outside the volume are omitted.
    func column(x: Double, z: Double) -> Column {
        let (i, across) = Self.weights(x)
        let (k, down) = Self.weights(z)
        var column = Column()
        for dz in 0..<3 {
            guard let depth = offset(2, k + dz - 1) else { continue }
            for dx in 0..<3 {
                guard let place = offset(0, i + dx - 1) else { continue }
                column.append(origin + place + depth, across[dx] * down[dz])
            }
        }
        return column
    }

    /// The field of a column at the integer index `y`.
    @inline(__always)
    func sum(_ column: borrowing Column, y: Int) -> Double {
        guard let row = offset(1, y) else { return 0 }
        var sum = 0.0
        for index in 0..<column.count where voxels[column.offsets[index] + row] != 0 { sum += column.weights[index] }
        return sum
    }

    /// The outward direction of the labels, in mm: opposite to the gradient of their smoothed field. Of length 1.
    func normal(at place: SIMD3<Double>) -> SIMD3<Double> {
        // Along each axis: storage offsets of the voxels read, their distances in mm, their weights.
        var lines: (Line, Line, Line) = (Line(), Line(), Line())
        fill(&lines.0, axis: 0, place.x)
        fill(&lines.1, axis: 1, place.y)
        fill(&lines.2, axis: 2, place.z)
        var slope = SIMD3<Double>.zero
        for c in 0..<lines.2.count {
            for b in 0..<lines.1.count {
                let base = origin + lines.2.offsets[c] + lines.1.offsets[b]
                var weight = 0.0
                var moment = 0.0
                for a in 0..<lines.0.count where voxels[base + lines.0.offsets[a]] != 0 {
                    weight += lines.0.weights[a]
                    moment += lines.0.moments[a]
                }
                slope.x += moment * lines.1.weights[b] * lines.2.weights[c]
                slope.y += weight * lines.1.moments[b] * lines.2.weights[c]
                slope.z += weight * lines.1.weights[b] * lines.2.moments[c]
            }
        }
        // A neighbourhood that extends further along one axis biases gradients towards it, by the variance of its
        // weights.
        return SurfacePanel.Light.unit(-slope / SIMD3(lines.0.variance, lines.1.variance, lines.2.variance))
    }

    /// At most seven voxels along an axis.
    private struct Line {
        var count = 0
        var offsets = InlineArray<8, Int>(repeating: 0)
        var weights = InlineArray<8, Double>(repeating: 0)
        /// Weights times distances.
        var moments = InlineArray<8, Double>(repeating: 0)
        /// Variance of the distances, including those outside the volume, in mm².
        var variance = 0.0
    }

    private func fill(_ line: inout Line, axis: Int, _ place: Double) {
        let nearest = Int((place + 0.5).rounded(.down))
        var (total, squares) = (0.0, 0.0)
        for tap in taps[axis] {
            let distance = (Double(nearest + tap) - place) * spacing[axis]
            let share = distance / reach[axis]
            let weight = max(0, 1 - share * share) * max(0, 1 - share * share)
            total += weight
            squares += weight * distance * distance
            guard let offset = offset(axis, nearest + tap) else { continue }
            line.offsets[line.count] = offset
            line.weights[line.count] = weight
            line.moments[line.count] = weight * distance
            line.count += 1
        }
        line.variance = squares / total
    }

    /// The label with the largest weight around a position; 0 where there is none. On a tie, the smallest label.
    func label(at place: SIMD3<Double>) -> UInt16 {
        let (i, x) = Self.weights(place.x)
        let (j, y) = Self.weights(place.y)
        let (k, z) = Self.weights(place.z)
        // Of each label met so far; nearly always there is one.
        var labels = InlineArray<27, UInt16>(repeating: 0)
        var weights = InlineArray<27, Double>(repeating: 0)
        var count = 0
        for dz in 0..<3 {
            guard let depth = offset(2, k + dz - 1) else { continue }
            for dy in 0..<3 {
                guard let row = offset(1, j + dy - 1) else { continue }
                for dx in 0..<3 {
                    guard let column = offset(0, i + dx - 1) else { continue }
                    let label = voxels[origin + column + row + depth]
                    guard label != 0 else { continue }
                    let weight = x[dx] * y[dy] * z[dz]
                    var index = 0
                    while index < count, labels[index] != label { index += 1 }
                    if index == count {
                        labels[index] = label
                        count += 1
                    }
                    weights[index] += weight
                }
            }
        }
        var best = 0
        for index in 0..<count where (weights[index], labels[best]) > (weights[best], labels[index]) { best = index }
        return labels[best]
    }
}
