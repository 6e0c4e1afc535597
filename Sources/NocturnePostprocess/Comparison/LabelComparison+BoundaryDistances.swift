import NocturneConcurrency
import NocturneCore
import NocturneSystem

extension LabelComparison {
    /// Distances between the boundaries of one label in two maps.
    ///
    /// The exact Euclidean distance transform of Felzenszwalb and Huttenlocher (Distance Transforms of Sampled Functions,
    /// 2012), axis by axis with a separate spacing for each. For each voxel, the position of the nearest boundary voxel of
    /// its slice (4 bytes) is stored instead of a distance, so distances are computed from integer steps and rounded only
    /// once. The last axis is processed in planes that are freed as soon as the distances at the other mask's boundary are
    /// computed.
    struct BoundaryDistances {
        /// Of the label in both maps.
        let value: UInt16
        /// Contains both masks.
        let box: VoxelBox
        /// In mm along i, j and k.
        let spacing: SIMD3<Double>
        /// mm. Within it, surfaces count as the same.
        let tolerance: Double
        /// The maximum number of boundary voxels of both masks together.
        let limit: Int

        /// Where the row, or later the slice, has no boundary voxel.
        private static let none = UInt32.max

        /// nil when there are too many boundary voxels.
        func between(_ a: LabelVolume, _ b: LabelVolume, scope: ComputeScope) throws -> LabelComparison
            .SurfaceDistances?
        {
            let counts = try [a, b].map { try boundaryCounts(of: $0, scope) }
            guard counts.reduce(0, { $0 + $1.reduce(0, +) }) <= limit else { return nil }
            var field = try VoxelBuffer<UInt32>(count: box.shape.count)
            let forth = try distances(from: a, counts[0], to: b, &field, scope)
            let back = try distances(from: b, counts[1], to: a, &field, scope)
            let sum = forth.reduce(0, +) + back.reduce(0, +)
            try scope.check()
            return LabelComparison.SurfaceDistances(
                mean: sum / Double(forth.count + back.count),
                hausdorff95: max(percentile95(of: forth), percentile95(of: back)),
                hausdorff: max(forth.last ?? 0, back.last ?? 0),
                surfaceDice: Double(countWithin(forth) + countWithin(back)) / Double(forth.count + back.count)
            )
        }

        /// Whether a voxel (relative to the box's corner) has the label and one of its six neighbours does not.
        private func isBoundary(_ i: Int, _ j: Int, _ k: Int, in labels: LabelVolume) -> Bool {
            labels.voxels.withUnsafeBufferPointer { voxels in
                let shape = labels.geometry.shape
                let (x, y, z) = (box.lower.x + i, box.lower.y + j, box.lower.z + k)
                let place = voxels.baseAddress! + shape.offset(x, y, z)
                guard place[0] == value else { return false }
                if x == 0 || y == 0 || z == 0 || x == shape.x - 1 || y == shape.y - 1 || z == shape.z - 1 {
                    return true
                }
                return place[-1] != value || place[1] != value || place[-shape.x] != value || place[shape.x] != value
                    || place[-shape.sliceCount] != value || place[shape.sliceCount] != value
            }
        }

        /// The number of boundary voxels in every plane across j.
        private func boundaryCounts(of labels: LabelVolume, _ scope: ComputeScope) throws(CancelledError) -> [Int] {
            let size = box.shape
            return try scope.map(size.y) { j in
                var count = 0
                for k in 0..<size.z {
                    for i in 0..<size.x where isBoundary(i, j, k, in: labels) { count += 1 }
                }
                return count
            }
        }

        /// How many of the sorted distances are within the tolerance. Distances are sums of rounded products: a millionth of a
        /// millimetre more is the same.
        private func countWithin(_ sorted: [Double]) -> Int {
            let limit = tolerance + 1e-6
            return sorted.prefixCount { $0 <= limit }
        }

        /// The percentile of sorted values, interpolated between ranks as in NumPy.
        private func percentile95(of sorted: [Double]) -> Double {
            let place = 0.95 * Double(sorted.count - 1)
            let low = Int(place)
            let high = min(low + 1, sorted.count - 1)
            return sorted[low] + (sorted[high] - sorted[low]) * (place - Double(low))
        }

        /// Distances from every boundary voxel of `from` to the nearest one of `to`, sorted.
        private func distances(
            from: LabelVolume,
            _ counts: [Int],
            to: LabelVolume,
            _ field: inout VoxelBuffer<UInt32>,
            _ scope: ComputeScope
        ) throws -> [Double] {
            let size = box.shape
            // The offset of the distances of each plane across j.
            var starts = [0]
            for count in counts { starts.append(starts[starts.count - 1] + count) }
            let places = starts
            var result = [Double](repeating: 0, count: places[places.count - 1])
            try field.withParallelBuffer { nearest in
                try scope.forEach(size.z) { k in
                    let slice = nearest.base + k * size.sliceCount
                    for j in 0..<size.y { nearestInRow(to, j, k, slice + j * size.x) }
                    nearestInSlice(slice)
                }
                try result.withParallelBuffer { target in
                    try scope.forEach(size.y) { j in
                        guard places[j + 1] > places[j] else { return }
                        takePlane(j, from, nearest.base, target.base + places[j])
                    }
                }
            }
            result.sort()
            return result
        }

        /// The column of the nearest boundary voxel of the row.
        private func nearestInRow(_ labels: LabelVolume, _ j: Int, _ k: Int, _ row: UnsafeMutablePointer<UInt32>) {
            let width = box.shape.x
            var last = -1
            for i in 0..<width {
                if isBoundary(i, j, k, in: labels) { last = i }
                row[i] = last < 0 ? Self.none : UInt32(last)
            }
            var next = -1
            for i in (0..<width).reversed() {
                if row[i] == UInt32(i) { next = i }
                if next >= 0, row[i] == Self.none || next - i < i - Int(row[i]) { row[i] = UInt32(next) }
            }
        }

        /// The nearest boundary voxel of the slice, by its index in the slice, from those of its rows.
        private func nearestInSlice(_ slice: UnsafeMutablePointer<UInt32>) {
            let (width, height) = (box.shape.x, box.shape.y)
            var envelope = LowerEnvelope(count: height, spacing: spacing.y)
            var columns = [UInt32](repeating: 0, count: height)
            for i in 0..<width {
                envelope.clear()
                for j in 0..<height {
                    let column = slice[j * width + i]
                    columns[j] = column
                    guard column != Self.none else { continue }
                    let across = Double(Int(column) - i) * spacing.x
                    envelope.add(j, height: across * across)
                }
                guard !envelope.isEmpty else { continue }
                envelope.forEach(0..<height) { j, nearest in
                    slice[j * width + i] = UInt32(nearest * width) + columns[nearest]
                }
            }
        }

        /// The distances of a plane's boundary voxels, by columns along k.
        private func takePlane(
            _ j: Int,
            _ from: LabelVolume,
            _ field: UnsafePointer<UInt32>,
            _ target: UnsafeMutablePointer<Double>
        ) {
            let size = box.shape
            var taken = 0
            // Column after column, so that an envelope reads neighbouring memory.
            var squares = [Double](repeating: .infinity, count: size.z * size.x)
            for k in 0..<size.z {
                let row = field + (k * size.y + j) * size.x
                for i in 0..<size.x where row[i] != Self.none {
                    let (column, line) = (Int(row[i]) % size.x, Int(row[i]) / size.x)
                    let step = SIMD2(Double(column - i) * spacing.x, Double(line - j) * spacing.y)
                    squares[i * size.z + k] = (step * step).sum()
                }
            }
            var envelope = LowerEnvelope(count: size.z, spacing: spacing.z)
            for i in 0..<size.x {
                let wanted = (0..<size.z).filter { isBoundary(i, j, $0, in: from) }
                guard !wanted.isEmpty else { continue }
                envelope.clear()
                for k in 0..<size.z where squares[i * size.z + k] < .infinity {
                    envelope.add(k, height: squares[i * size.z + k])
                }
                envelope.forEach(wanted) { k, nearest in
                    let along = Double(nearest - k) * spacing.z
                    target[taken] = (squares[i * size.z + nearest] + along * along).squareRoot()
                    taken += 1
                }
            }
        }
    }
}

/// The lowest of several parabolas of the same width, at every position of a line.
struct LowerEnvelope {
    /// Of the spacing: what all parabolas rise by.
    private let square: Double
    /// The positions of the parabolas, ascending; `used` of them count.
    private var vertices: [Int]
    /// At the vertices.
    private var heights: [Double]
    /// The position from which each one is the lowest, in steps.
    private var begins: [Double]
    private var used = 0

    init(count: Int, spacing: Double) {
        square = spacing * spacing
        vertices = [Int](repeating: 0, count: count)
        heights = [Double](repeating: 0, count: count)
        begins = [Double](repeating: 0, count: count)
    }

    var isEmpty: Bool { used == 0 }

    mutating func clear() { used = 0 }

    /// - Parameter vertex: larger than all vertices added before.
    mutating func add(_ vertex: Int, height: Double) {
        var begin = -Double.infinity
        while used > 0 {
            let (other, step) = (vertices[used - 1], Double(vertex - vertices[used - 1]))
            begin = Double(other) + step / 2 + (height - heights[used - 1]) / (2 * square * step)
            // Where the new parabola is lower before the last one begins, the last one is nowhere the lowest.
            if begin > begins[used - 1] { break }
            used -= 1
            begin = -.infinity
        }
        vertices[used] = vertex
        heights[used] = height
        begins[used] = begin
        used += 1
    }

    /// Calls `body` with each position, in ascending order, and the vertex that is lowest there.
    func forEach(_ places: some Sequence<Int>, _ body: (Int, Int) -> Void) {
        var lowest = 0
        for place in places {
            while lowest + 1 < used, begins[lowest + 1] <= Double(place) { lowest += 1 }
            body(place, vertices[lowest])
        }
    }

    /// Calls `body` with each position from 0, in ascending order, and the lowest height there.
    func forEachHeight(count: Int, _ body: (Int, Double) -> Void) {
        var lowest = 0
        for place in 0..<count {
            while lowest + 1 < used, begins[lowest + 1] <= Double(place) { lowest += 1 }
            let step = Double(place - vertices[lowest])
            body(place, heights[lowest] + square * (step * step))
        }
    }
}
