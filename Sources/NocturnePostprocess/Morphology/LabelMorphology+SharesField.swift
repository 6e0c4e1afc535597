import Glibc
import NocturneConcurrency
import NocturneCore

extension LabelMorphology {
    /// The share of some labels in the neighbourhood of each voxel of a box: a mean weighted by a Gaussian function of the distance in
    /// mm, over the voxels of the volume. Outside the volume nothing counts, so that a border does not change shares.
    ///
    /// Three passes in place, one for each axis. Weights reach 4 standard deviations. Memory is 4 bytes for each voxel of the box and
    /// ``planeBytes(_:)`` for each thread. Sums are in a fixed order.
    struct SharesField: ~Copyable {
        private static let truncation = 4.0

        let box: VoxelBox
        private let axes: [AxisWeights]
        /// i fastest, 0 to 1.
        private var shares: VoxelBuffer<Float>

        /// - Parameters:
        ///   - box: contains all voxels of the labels, and with them the ``reach(deviation:spacing:in:)`` of the weights.
        ///   - deviation: the standard deviation in mm, above 0.
        /// - Throws: `AllocationError`.
        init(box: VoxelBox, geometry: VolumeGeometry, deviation: Double) throws {
            self.box = box
            let reach = Self.reach(deviation: deviation, spacing: geometry.spacing, in: geometry.shape)
            axes = (0..<3).map { axis in
                AxisWeights(
                    reach: reach[axis],
                    deviation: deviation / geometry.spacing[axis],
                    range: box.lower[axis]..<box.upper[axis],
                    count: geometry.shape[axis]
                )
            }
            shares = try VoxelBuffer(count: box.shape.count)
        }

        /// The number of voxels along each axis to which weights reach.
        static func reach(deviation: Double, spacing: SIMD3<Double>, in shape: VolumeShape) -> SIMD3<Int> {
            var reach = SIMD3<Int>(repeating: 0)
            for axis in 0..<3 {
                reach[axis] = Int(min(Double(shape[axis] - 1), truncation * deviation / spacing[axis] + 0.5))
            }
            return reach
        }

        /// The memory in bytes of one thread in addition to the field: a copy of a plane, or a row with the reach of the weights on both sides.
        static func planeBytes(_ shape: VolumeShape) -> Int {
            shape.x * max(3, shape.y, shape.z) * MemoryLayout<Float>.stride
        }

        func withShares<R>(_ body: (ParallelReader<Float>) throws -> R) throws -> R {
            try shares.withParallelReader(body)
        }

        /// Computes the share of `values` together.
        mutating func measure(
            _ values: Slots,
            in labels: borrowing VoxelBuffer<UInt16>,
            _ shape: VolumeShape,
            _ scope: ComputeScope
        ) throws {
            let (box, size, axes) = (box, box.shape, axes)
            try labels.withParallelReader { labels in
                try shares.withParallelBuffer { shares in
                    try scope.forEach(size.z) { k in
                        let slice = shares + k * size.sliceCount
                        for j in 0..<size.y {
                            let source = labels + box.offset(j, k, in: shape)
                            let row = slice + j * size.x
                            for i in 0..<size.x { row[i] = values.contains(source[i]) ? 1 : 0 }
                        }
                        axes[0].filterRows(of: slice, size.y, size.x)
                        axes[1].filterColumns(of: slice, size.y, size.x, rowStride: size.x)
                    }
                    try scope.forEach(size.y) { j in
                        axes[2].filterColumns(of: shares + j * size.x, size.z, size.x, rowStride: size.sliceCount)
                    }
                }
            }
        }

        /// The weights along one axis.
        fileprivate struct AxisWeights: Sendable {
            let reach: Int
            /// From `-reach` to `reach`.
            let weights: [Float]
            /// For each position in the box, one divided by the sum of the weights that lie in the volume.
            let scales: [Float]

            init(reach: Int, deviation: Double, range: Range<Int>, count: Int) {
                self.reach = reach
                let exact = (-reach...reach).map { exp(-0.5 * (Double($0) / deviation) * (Double($0) / deviation)) }
                weights = exact.map(Float.init)
                var sums = [0.0]
                for weight in exact { sums.append(sums[sums.count - 1] + weight) }
                let last = sums.count - 1
                scales = range.map { place in
                    let low = max(0, reach - place)
                    let high = min(last, count - place + reach)
                    return Float(1 / (sums[high] - sums[low]))
                }
            }

            func filterRows(of slice: UnsafeMutablePointer<Float>, _ rows: Int, _ width: Int) {
                guard reach > 0 else { return }
                var padded = [Float](repeating: 0, count: width + 2 * reach)
                padded.withUnsafeMutableBufferPointer { padded in
                    for row in 0..<rows {
                        let line = slice + row * width
                        for i in 0..<width { padded[reach + i] = line[i] }
                        for i in 0..<width { line[i] = 0 }
                        for (step, weight) in weights.enumerated() {
                            for i in 0..<width { line[i] += weight * padded[step + i] }
                        }
                        for i in 0..<width { line[i] *= scales[i] }
                    }
                }
            }

            func filterColumns(of plane: UnsafeMutablePointer<Float>, _ rows: Int, _ width: Int, rowStride: Int) {
                guard reach > 0 else { return }
                let copy = [Float](unsafeUninitializedCapacity: rows * width) { copy, count in
                    for row in 0..<rows {
                        for i in 0..<width { copy[row * width + i] = plane[row * rowStride + i] }
                    }
                    count = rows * width
                }
                copy.withUnsafeBufferPointer { copy in
                    for row in 0..<rows {
                        let line = plane + row * rowStride
                        for i in 0..<width { line[i] = 0 }
                        for other in max(0, row - reach)..<min(rows, row + reach + 1) {
                            let weight = weights[other - row + reach]
                            for i in 0..<width { line[i] += weight * copy[other * width + i] }
                        }
                        for i in 0..<width { line[i] *= scales[row] }
                    }
                }
            }
        }
    }
}
