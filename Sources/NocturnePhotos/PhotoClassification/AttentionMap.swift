import NocturnePostprocess

/// How much each part of the square picture contributes to the score of a class (Grad-CAM); rows from the top.
package struct AttentionMap: Hashable, Sendable {
    /// Index of the class in the package.
    package let index: Int
    /// Columns of the map.
    package let width: Int
    /// Rows of the map.
    package let height: Int
    /// Row by row, from the upper left.
    package let values: [Float]

    /// - Parameter shape: the last two are rows and columns.
    /// - Throws: ``NetworkOutputError`` for values that are NaN or infinite.
    package init(index: Int, shape: [Int], values: [Float]) throws {
        guard shape.count >= 2, let width = shape.last, width > 0, values.count == width * shape[shape.count - 2] else {
            throw NetworkOutputError(detail: "a map of shape \(shape) has \(values.count) values")
        }
        guard values.allSatisfy(\.isFinite) else {
            throw NetworkOutputError(detail: "the map contains NaN or infinite values")
        }
        self.index = index
        self.width = width
        height = shape[shape.count - 2]
        // Some kernels write a rectified value as -0, which would appear in the files.
        self.values = values.map { $0 == 0 ? 0 : $0 }
    }

    /// The smallest value.
    package var minimum: Float { values.min() ?? 0 }
    /// The largest value.
    package var maximum: Float { values.max() ?? 0 }

    /// Whether no place stands out: the spread is below a thousandth of the largest value, or no value is above 0. The
    /// map is also uniform if the spread, or its share of the largest value, is not a finite number.
    package var isUniform: Bool {
        let spread = maximum - minimum
        return maximum <= 0 || spread <= maximum * 1e-3 || !spread.isFinite || !(1 / maximum).isFinite
    }

    /// The map resized, in 0...1: values divided by the largest, linear between the centres of cells. All 0 for a
    /// uniform map.
    package func enlarged(to side: Int) -> [Float] {
        guard !isUniform else { return [Float](repeating: 0, count: side * side) }
        let columns = AttentionMap.places(count: width, side: side)
        let rows = AttentionMap.places(count: height, side: side)
        let scale = 1 / maximum
        return [Float](unsafeUninitializedCapacity: side * side) { result, filled in
            for (y, row) in rows.enumerated() {
                for (x, column) in columns.enumerated() {
                    let above = value(column, row.first)
                    let below = value(column, row.second)
                    let mixed = (above + (below - above) * row.share) * scale
                    result[y * side + x] = min(max(mixed, 0), 1)
                }
            }
            filled = side * side
        }
    }

    private typealias Place = (first: Int, second: Int, share: Float)

    /// Linear along a row of the map.
    private func value(_ column: Place, _ row: Int) -> Float {
        let left = values[row * width + column.first]
        return left + (values[row * width + column.second] - left) * column.share
    }

    /// For each of `side` pixels the two cells whose centres are nearest, and the share of the second. Ends are repeated.
    private static func places(count: Int, side: Int) -> [Place] {
        (0..<side).map { index in
            let exact = min(max((Float(index) + 0.5) * Float(count) / Float(side) - 0.5, 0), Float(count - 1))
            let first = Int(exact)
            return (first, min(first + 1, count - 1), exact - Float(first))
        }
    }
}
