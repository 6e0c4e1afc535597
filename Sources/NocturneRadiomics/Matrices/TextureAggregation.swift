/// A texture matrix of a part of the region, which can be merged with that of another part.
protocol TextureMatrix: Sendable {
    /// What features are computed from.
    associatedtype Measures: Sendable
    /// Nil when the matrix is empty.
    var measures: Measures? { get }
    /// Adds the counts of another part.
    mutating func merge(_ other: Self)
}

/// Matrices of slices and directions, put together to values. Sums are in the order of slices and directions.
struct TextureAggregation<Matrix: TextureMatrix, Direction> {
    /// Of the region; its slices are those of the box, without the layer around it.
    let grid: LevelGrid
    /// In the order of the values of a row.
    let features: [FeatureDefinition<Matrix.Measures>]
    /// In one slice, and in space; without directions a single element each.
    let directions: (plane: [Direction], space: [Direction])
    /// The matrix of some slices in a direction.
    let matrix: (_ slices: Range<Int>, _ direction: Direction) -> Matrix

    /// For each aggregation a value for each feature.
    func rows(_ aggregations: [Aggregation]) -> [[Double]] {
        var found: [Aggregation: [Double]] = [:]
        if aggregations.contains(where: { $0.extent != .volume }) {
            found = sliceRows(wantsSlices: aggregations.contains { $0.extent == .slices })
        }
        if aggregations.contains(where: { $0.extent == .volume }) {
            found.merge(volumeRows()) { $1 }
        }
        return aggregations.map { found[$0] ?? [] }
    }

    private func sliceRows(wantsSlices: Bool) -> [Aggregation: [Double]] {
        var averaged: [[Double]] = []
        var merged: [[Double]] = []
        var stack: [Matrix] = []
        // Empty slices have no value, and would not change a mean. Matrices of slices are needed for the stack in any case.
        for slice in grid.slices where grid.hasVoxels(slice) {
            let matrices = directions.plane.map { matrix(slice..<slice + 1, $0) }
            if stack.isEmpty {
                stack = matrices
            } else {
                for place in stack.indices { stack[place].merge(matrices[place]) }
            }
            guard wantsSlices else { continue }
            let rows = rows(of: matrices)
            averaged += rows.each
            merged.append(rows.merged)
        }
        let rows = rows(of: stack)
        return [
            .slicesAveraged: means(averaged), .slicesMerged: means(merged), .stackAveraged: means(rows.each),
            .stackMerged: rows.merged,
        ]
    }

    /// Merges each matrix before the next is made: together, 13 matrices of pairs take up to 100 MiB.
    private func volumeRows() -> [Aggregation: [Double]] {
        var each: [[Double]] = []
        var all: Matrix?
        for direction in directions.space {
            let matrix = matrix(grid.slices, direction)
            each.append(row(matrix))
            if all == nil { all = matrix } else { all?.merge(matrix) }
        }
        return [.volumeAveraged: means(each), .volumeMerged: each.count == 1 ? each[0] : row(all)]
    }

    private func rows(of matrices: [Matrix]) -> (each: [[Double]], merged: [Double]) {
        let each = matrices.map(row)
        guard each.count != 1, var all = matrices.first else { return (each, each.first ?? row(nil)) }
        for matrix in matrices.dropFirst() { all.merge(matrix) }
        return (each, row(all))
    }

    /// NaN for an empty matrix.
    private func row(_ matrix: Matrix?) -> [Double] {
        guard let measures = matrix?.measures else { return features.map { _ in .nan } }
        return features.map { $0.value(measures) }
    }

    /// The means over matrices. Undefined values are left out; NaN where no matrix has a value.
    private func means(_ rows: [[Double]]) -> [Double] {
        features.indices.map { place in
            let values = rows.map { $0[place] }.filter(\.isFinite)
            return values.reduce(0, +) / Double(values.count)
        }
    }
}
