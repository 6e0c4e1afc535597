internal import NocturneCore

/// A texture matrix of a part of the region, which can be merged with that of another part.
protocol TextureMatrix {
    /// What features are computed from.
    associatedtype Measures
    /// Nil when the matrix is empty.
    var measures: Measures? { get }
    /// Adds the counts of another part.
    mutating func merge(_ other: Self)
}

/// The values of one aggregation.
private struct AveragedValues {
    private var sums: [Double]
    private var counts: [Int]

    init(count: Int) {
        sums = [Double](repeating: 0, count: count)
        counts = [Int](repeating: 0, count: count)
    }

    /// Takes the values of a matrix into the mean; those that are undefined are left out.
    mutating func add<Matrix: TextureMatrix>(_ matrix: Matrix, _ features: [FeatureDefinition<Matrix.Measures>]) {
        guard let measures = matrix.measures else { return }
        for (place, feature) in features.enumerated() {
            let value = feature.value(measures)
            guard value.isFinite else { continue }
            sums[place] += value
            counts[place] += 1
        }
    }

    /// NaN where no matrix has a value.
    var means: [Double] { zip(sums, counts).map { $0 / Double($1) } }
}

/// Matrices of slices and directions, put together to values. Sums are in the order of slices and directions.
struct DirectionalTexture<Matrix: TextureMatrix> {
    let grid: LevelGrid
    let features: [FeatureDefinition<Matrix.Measures>]
    /// The offsets to the neighbours in half a plane and in half the space.
    let offsets: (plane: [SIMD3<Int>], space: [SIMD3<Int>])
    /// The matrix of some slices in a direction.
    let matrix: (_ slices: Range<Int>, _ offset: SIMD3<Int>) -> Matrix

    func values(_ aggregations: [Aggregation]) -> [FeatureValue] {
        var found: [Aggregation: [Double]] = [:]
        if aggregations.contains(where: { $0.extent != .volume }) {
            found = sliceValues(wantsSlices: aggregations.contains { $0.extent == .slices })
        }
        if aggregations.contains(where: { $0.extent == .volume }) {
            found.merge(volumeValues()) { $1 }
        }
        return aggregations.flatMap { aggregation in
            zip(features, found[aggregation] ?? []).map { feature, value in
                FeatureValue("\(feature.name)_\(aggregation.suffix)", "\(feature.code).\(aggregation.code)", value)
            }
        }
    }

    private func sliceValues(wantsSlices: Bool) -> [Aggregation: [Double]] {
        var averaged = AveragedValues(count: features.count)
        var merged = AveragedValues(count: features.count)
        var directions: [Matrix] = []
        for slice in grid.slices where grid.hasVoxels(slice) {
            let matrices = offsets.plane.map { matrix(slice..<slice + 1, $0) }
            if directions.isEmpty {
                directions = matrices
            } else {
                for place in directions.indices { directions[place].merge(matrices[place]) }
            }
            guard wantsSlices else { continue }
            for matrix in matrices { averaged.add(matrix, features) }
            if let all = Self.merged(matrices) { merged.add(all, features) }
        }
        var stackAveraged = AveragedValues(count: features.count)
        var stackMerged = AveragedValues(count: features.count)
        for matrix in directions { stackAveraged.add(matrix, features) }
        if let all = Self.merged(directions) { stackMerged.add(all, features) }
        return [
            .slicesAveraged: averaged.means, .slicesMerged: merged.means, .stackAveraged: stackAveraged.means,
            .stackMerged: stackMerged.means,
        ]
    }

    private func volumeValues() -> [Aggregation: [Double]] {
        var averaged = AveragedValues(count: features.count)
        var merged = AveragedValues(count: features.count)
        var all: Matrix?
        for offset in offsets.space {
            let matrix = matrix(grid.slices, offset)
            averaged.add(matrix, features)
            if all == nil { all = matrix } else { all?.merge(matrix) }
        }
        if let all { merged.add(all, features) }
        return [.volumeAveraged: averaged.means, .volumeMerged: merged.means]
    }

    private static func merged(_ matrices: [Matrix]) -> Matrix? {
        guard var all = matrices.first else { return nil }
        for matrix in matrices.dropFirst() { all.merge(matrix) }
        return all
    }
}

/// Matrices of slices, put together to values.
struct UndirectedTexture<Matrix: TextureMatrix> {
    let grid: LevelGrid
    let features: [FeatureDefinition<Matrix.Measures>]
    /// The matrix of some slices, with neighbours in their planes or in space.
    let matrix: (_ slices: Range<Int>, _ inSpace: Bool) -> Matrix

    func values(_ extents: [Aggregation.Extent]) -> [FeatureValue] {
        var found: [Aggregation.Extent: [Double]] = [:]
        if extents.contains(where: { $0 != .volume }) { found = sliceValues() }
        if extents.contains(.volume) {
            var values = AveragedValues(count: features.count)
            values.add(matrix(grid.slices, true), features)
            found[.volume] = values.means
        }
        return extents.flatMap { extent in
            zip(features, found[extent] ?? []).map { feature, value in
                FeatureValue("\(feature.name)_\(extent.rawValue)", "\(feature.code).\(extent.code)", value)
            }
        }
    }

    private func sliceValues() -> [Aggregation.Extent: [Double]] {
        var averaged = AveragedValues(count: features.count)
        var stack: Matrix?
        for slice in grid.slices where grid.hasVoxels(slice) {
            let matrix = matrix(slice..<slice + 1, false)
            averaged.add(matrix, features)
            if stack == nil { stack = matrix } else { stack?.merge(matrix) }
        }
        var merged = AveragedValues(count: features.count)
        if let stack { merged.add(stack, features) }
        return [.slices: averaged.means, .stack: merged.means]
    }
}

/// The offsets of neighbours.
package enum NeighbourOffsets {
    /// One of each pair of opposite offsets with a Chebyshev distance: 4 in a plane and 13 in space at distance 1.
    package static func half(distance: Int) -> (plane: [SIMD3<Int>], space: [SIMD3<Int>]) {
        let all = within(distance, inSpace: true).filter { offset in
            let farthest = max(abs(offset.x), abs(offset.y), abs(offset.z))
            let leading = offset.z != 0 ? offset.z : offset.y != 0 ? offset.y : offset.x
            return farthest == distance && leading > 0
        }
        return (all.filter { $0.z == 0 }, all)
    }

    /// All offsets but zero up to a Chebyshev distance.
    package static func within(_ distance: Int, inSpace: Bool) -> [SIMD3<Int>] {
        let range = -distance...distance
        return (inSpace ? range : 0...0).flatMap { k in range.flatMap { j in range.map { SIMD3($0, j, k) } } }
            .filter { $0 != SIMD3(0, 0, 0) }
    }
}
