import NocturneConcurrency
import NocturneCore

extension LabelMorphology {
    /// The squared distances in mm² from the voxels of a box to the nearest marked one, where they are at most a radius.
    ///
    /// The exact Euclidean distance transform of Felzenszwalb and Huttenlocher (Distance Transforms of Sampled Functions, 2012),
    /// axis by axis with a separate spacing for each, in place: time is linear in the voxels of the box whatever the radius, memory
    /// is 4 bytes for each and ``planeBytes(_:)`` for each thread. Squares are rounded to single precision; two that differ by less
    /// than ``tolerance`` of their value count as equal.
    struct DistanceField: ~Copyable {
        static let tolerance = 1e-6

        let box: VoxelBox
        /// mm.
        let spacing: SIMD3<Double>
        private let limit: Double
        /// i fastest; infinite beyond the radius.
        private var squares: VoxelBuffer<Float>

        /// - Parameter radius: mm, above 0.
        /// - Throws: `AllocationError`.
        init(box: VoxelBox, spacing: SIMD3<Double>, radius: Double) throws {
            self.box = box
            self.spacing = spacing
            limit = radius * radius * (1 + Self.tolerance)
            squares = try VoxelBuffer(count: box.shape.count)
        }

        /// The number of voxels along each axis that a ball can reach from its centre.
        static func reach(radius: Double, spacing: SIMD3<Double>, in shape: VolumeShape) -> SIMD3<Int> {
            var reach = SIMD3<Int>(repeating: 0)
            for axis in 0..<3 {
                reach[axis] = Int(min(Double(shape[axis]), radius * (1 + tolerance) / spacing[axis]))
            }
            return reach
        }

        /// The memory in bytes of one thread in addition to the field.
        static func planeBytes(_ shape: VolumeShape) -> Int {
            shape.x * max(shape.y, shape.z) * MemoryLayout<Float>.stride + max(shape.y, shape.z) * 24
        }

        func withSquares<R>(_ body: (ParallelReader<Float>) throws -> R) throws -> R {
            try squares.withParallelReader(body)
        }

        /// Marks the voxels that have the label, or those that do not have it.
        mutating func mark(
            _ value: UInt16,
            isMarked: Bool,
            in labels: borrowing VoxelBuffer<UInt16>,
            _ shape: VolumeShape,
            _ scope: ComputeScope
        ) throws {
            let box = box
            let size = box.shape
            try labels.withParallelReader { labels in
                try squares.withParallelBuffer { squares in
                    try scope.forEach(size.z) { k in
                        for j in 0..<size.y {
                            let source = labels + box.offset(j, k, in: shape)
                            let row = squares + (k * size.y + j) * size.x
                            for i in 0..<size.x { row[i] = (source[i] == value) == isMarked ? 0 : .infinity }
                        }
                    }
                }
            }
        }

        /// Marks what was beyond the radius, and nothing else.
        mutating func invert(_ scope: ComputeScope) throws {
            let size = box.shape
            try squares.withParallelBuffer { squares in
                try scope.forEach(size.z) { k in
                    let slice = squares + k * size.sliceCount
                    for voxel in 0..<size.sliceCount { slice[voxel] = slice[voxel].isFinite ? .infinity : 0 }
                }
            }
        }

        /// Replaces the marks, zeroes among infinite values, by squared distances.
        mutating func measure(_ scope: ComputeScope) throws {
            let (size, spacing, limit) = (box.shape, spacing, limit)
            try squares.withParallelBuffer { squares in
                try scope.forEach(size.z) { k in
                    let slice = squares + k * size.sliceCount
                    for j in 0..<size.y { Self.measureRow(slice + j * size.x, size.x, spacing.x) }
                    let width = size.x
                    PlaneColumns(rows: size.y, width: width, rowStride: width, spacing: spacing.y, limit: limit)
                        .measure(
                            slice
                        )
                }
                try scope.forEach(size.y) { j in
                    let (width, slice) = (size.x, size.sliceCount)
                    PlaneColumns(rows: size.z, width: width, rowStride: slice, spacing: spacing.z, limit: limit)
                        .measure(squares + j * width)
                }
            }
        }

        private static func measureRow(_ row: UnsafeMutablePointer<Float>, _ count: Int, _ spacing: Double) {
            func square(_ steps: Int) -> Float {
                let distance = Double(steps) * spacing
                return Float(distance * distance)
            }
            var last = -1
            for i in 0..<count {
                if row[i] == 0 { last = i } else if last >= 0 { row[i] = square(i - last) }
            }
            var next = -1
            for i in (0..<count).reversed() {
                if row[i] == 0 { next = i } else if next >= 0 { row[i] = min(row[i], square(next - i)) }
            }
        }

        /// The second axis of a plane, whose rows may lie anywhere in memory.
        fileprivate struct PlaneColumns {
            let rows: Int
            let width: Int
            let rowStride: Int
            let spacing: Double
            let limit: Double

            func measure(_ plane: UnsafeMutablePointer<Float>) {
                var envelope = LowerEnvelope(count: rows, spacing: spacing)
                // One column after the other.
                var columns = [Float](repeating: .infinity, count: rows * width)
                columns.withUnsafeMutableBufferPointer { columns in
                    guard let base = columns.baseAddress else { return }
                    for row in 0..<rows {
                        let source = plane + row * rowStride
                        for i in 0..<width { columns[i * rows + row] = source[i] }
                    }
                    for i in 0..<width { measure(base + i * rows, &envelope) }
                    for row in 0..<rows {
                        let target = plane + row * rowStride
                        for i in 0..<width { target[i] = columns[i * rows + row] }
                    }
                }
            }

            private func measure(_ column: UnsafeMutablePointer<Float>, _ envelope: inout LowerEnvelope) {
                envelope.clear()
                for row in 0..<rows where column[row].isFinite { envelope.add(row, height: Double(column[row])) }
                guard !envelope.isEmpty else { return }
                envelope.forEachHeight(count: rows) { row, height in
                    column[row] = height <= limit ? Float(height) : .infinity
                }
            }
        }
    }
}

extension VoxelBox {
    /// The index in a grid of the first voxel of a row of the box.
    func offset(_ j: Int, _ k: Int, in shape: VolumeShape) -> Int {
        ((lower.z + k) * shape.y + lower.y + j) * shape.x + lower.x
    }

    /// The box enlarged on every side, as far as the grid reaches.
    func enlarged(by margin: SIMD3<Int>, in shape: VolumeShape) -> VoxelBox {
        VoxelBox(
            lower: pointwiseMax(lower &- margin, SIMD3(0, 0, 0)),
            upper: pointwiseMin(upper &+ margin, SIMD3(shape.x, shape.y, shape.z))
        )
    }
}
