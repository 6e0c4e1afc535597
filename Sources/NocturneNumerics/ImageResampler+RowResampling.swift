internal import CNocturneKernels
internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension ImageResampler {
    /// Resampling of orders 0 and 1, and of torch: every target row is a sum of at most four source rows.
    struct RowResampling: Sendable {
        private let view: VoxelView
        private let target: VolumeShape
        private let map: PointwiseMap
        private let isTorch: Bool
        /// Whether terms are those of SciPy with an array of axes (x, y, z), which multiplies and adds in that order.
        private let isXFirst: Bool
        private let truncates: Bool
        private let x: AxisTaps
        private let y: AxisTaps
        private let z: AxisTaps
        private let xOffsets: [Int]

        init(_ resampler: ImageResampler) {
            view = resampler.view
            target = resampler.target
            map = resampler.map
            isTorch = resampler.rule.method == .torch
            isXFirst = resampler.rule.method == .zoom
            truncates = resampler.truncates
            (x, y, z) = AxisTaps.along(
                resampler.view.shape,
                to: resampler.target,
                rule: resampler.rule,
                separateAxis: resampler.separateAxis
            )
            xOffsets = x.indices.map { $0 * resampler.view.step.x }
        }

        func resample(
            _ source: UnsafePointer<Float>,
            inside: UnsafePointer<UInt8>?,
            into result: UnsafeMutablePointer<Float>,
            scope: ComputeScope
        ) throws(CancelledError) {
            // Every range of slices writes its own part of the result.
            let (source, inside) = (ParallelReader(source), inside.map(ParallelReader.init))
            let result = ParallelBuffer(result)
            // Where k varies along the stored rows, neighbouring slices share cache lines and are computed together.
            let depth = abs(view.step.z) == 1 ? 16 : 1
            try scope.forEachRange(of: target.z, by: depth) { slices in
                xOffsets.withUnsafeBufferPointer { offsets in
                    x.indices.withUnsafeBufferPointer { places in
                        x.weights.withUnsafeBufferPointer { weights in
                            guard let offsets = offsets.baseAddress, let places = places.baseAddress,
                                let weights = weights.baseAddress
                            else { return }
                            var row = nk_row_source(
                                values: source.base,
                                x_offsets: offsets,
                                x_weights: weights,
                                taps: Int32(x.count),
                                y_taps: Int32(y.count),
                                single: isTorch ? 1 : 0,
                                x_first: isXFirst ? 1 : 0,
                                truncates: truncates ? 1 : 0,
                                map: map.kernel,
                                inside: inside?.base,
                                inside_x_offsets: places
                            )
                            for j in 0..<target.y {
                                for k in slices { makeRow(j, k, &row, result + target.offset(0, j, k)) }
                            }
                        }
                    }
                }
            }
        }

        /// One row of the result. Its source rows are at most four (two in y times two in z), so their places and weights are on
        /// the stack: an array would be allocated for every row.
        private func makeRow(_ j: Int, _ k: Int, _ source: inout nk_row_source, _ result: UnsafeMutablePointer<Float>) {
            var offsets = InlineArray<4, Int>(repeating: 0)
            var places = InlineArray<4, Int>(repeating: 0)
            var wz = InlineArray<4, Double>(repeating: 0)
            var wy = InlineArray<4, Double>(repeating: 0)
            let count = z.count * y.count
            for row in 0..<count {
                // The last axis varies fastest.
                let a = isXFirst ? row % z.count : row / y.count
                let b = isXFirst ? row / z.count : row % y.count
                let (fromZ, fromY) = (z.indices[a * target.z + k], y.indices[b * target.y + j])
                offsets[row] = view.offset(0, fromY, fromZ)
                places[row] = view.shape.offset(0, fromY, fromZ)
                wz[row] = z.weights[a * target.z + k]
                wy[row] = y.weights[b * target.y + j]
            }
            offsets.span.withUnsafeBufferPointer { offsets in
                places.span.withUnsafeBufferPointer { places in
                    wz.span.withUnsafeBufferPointer { wz in
                        wy.span.withUnsafeBufferPointer { wy in
                            guard let offsets = offsets.baseAddress, let places = places.baseAddress,
                                let wz = wz.baseAddress, let wy = wy.baseAddress
                            else { return }
                            var rows = nk_source_rows(
                                row_offsets: offsets,
                                inside_row_offsets: places,
                                wz: wz,
                                wy: wy,
                                rows: Int32(count)
                            )
                            nk_resample_row(result, target.x, &source, &rows)
                        }
                    }
                }
            }
        }
    }
}
