internal import CNocturneKernels
internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension ImageResampler {
    /// One axis after the other, in float64: cubic splines, and separate slices with interpolation between them.
    ///
    /// The prefilter and the sums of a spline are linear and act on one axis, so the axes are independent. Every source
    /// plane (perpendicular to the stream axis) is resampled to its target shape at once; a ring buffer of such planes
    /// moves along the stream axis. There the forward pass of the prefilter continues where it stopped; the backward pass
    /// starts 32 planes ahead of those that are kept, so that its start value has no effect (pole √3 − 2 = −0.268; 0.268³² is 5e-19).
    ///
    /// **Memory.** 67 target planes and 16 partially resampled planes of float64, for any depth of the image. A float64 copy of
    /// the whole image, which an earlier version kept, takes 8 bytes per voxel.
    struct StreamedResampling: Sendable {
        /// Number of planes that become final together, and number of planes of look-ahead needed for it.
        private static let advance = 32
        private static let lookAhead = 32
        /// Source planes resampled at the same time.
        private static let together = 16
        private static let rowsTogether = 8
        private static let lanesTogether = 32

        private let source: VoxelView
        private let target: VolumeShape
        private let map: PointwiseMap
        private let isSeparate: Bool
        /// Number of floats from one target voxel to the next along the axes of `target`, for the result and for the mask.
        private let resultStep: SIMD3<Int>
        private let maskStep: SIMD3<Int>
        private let columns: AxisPlan
        private let rows: AxisPlan
        private let planes: AxisPlan

        init(_ resampler: ImageResampler) {
            let view = resampler.view
            let order = Self.axes(of: resampler)
            source = view.permuted(order)
            target = VolumeShape(
                x: resampler.target[order[0]],
                y: resampler.target[order[1]],
                z: resampler.target[order[2]]
            )
            map = resampler.map
            isSeparate = resampler.separateAxis != nil
            func permuted(_ steps: SIMD3<Int>) -> SIMD3<Int> {
                SIMD3(steps[order[0]], steps[order[1]], steps[order[2]])
            }
            resultStep = permuted(SIMD3(1, resampler.target.x, resampler.target.sliceCount))
            maskStep = permuted(SIMD3(1, view.shape.x, view.shape.sliceCount))
            func plan(_ axis: Int) -> AxisPlan {
                AxisPlan(
                    inputs: view.shape[axis],
                    outputs: resampler.target[axis],
                    order: Self.order(of: axis, resampler)
                )
            }
            (columns, rows, planes) = (plan(order[0]), plan(order[1]), plan(order[2]))
        }

        /// The view's axes as the columns, rows and planes of the stream.
        private static func axes(of resampler: ImageResampler) -> [Int] {
            // The planes are the separate slices, otherwise the ones with the largest memory stride.
            let steps = (0..<3).map { abs(resampler.view.step[$0]) }
            let across = resampler.separateAxis ?? (0..<3).max { steps[$0] < steps[$1] } ?? 2
            return (0..<3).filter { $0 != across } + [across]
        }

        private static func order(of axis: Int, _ resampler: ImageResampler) -> ResamplingRule.Order {
            axis == resampler.separateAxis ? resampler.rule.orderZ : resampler.rule.order
        }

        /// Planes of the widened stream axis held at a time.
        private static func slotCount(samples: Int, isFiltered: Bool) -> Int {
            min(samples, Self.advance + (isFiltered ? Self.lookAhead : 0) + 3)
        }

        private var slots: Int { Self.slotCount(samples: planes.samples, isFiltered: planes.isFiltered) }

        private var bandCount: Int { target.x * source.shape.y }

        /// Memory of `resample`, from sizes alone, because a damaged header may imply tables of any length.
        static func workingBytes(_ resampler: ImageResampler) -> Int {
            let axes = Self.axes(of: resampler)
            let (from, to) = (resampler.view.shape, resampler.target)
            let (columns, rows, planes) = (axes[0], axes[1], axes[2])
            let isFiltered = AxisPlan.isFiltered(
                inputs: from[planes],
                outputs: to[planes],
                order: Self.order(of: planes, resampler)
            )
            let samples = AxisPlan.samples(inputs: from[planes], isFiltered: isFiltered)
            let ring = slotCount(samples: samples, isFiltered: isFiltered) * to[columns] * to[rows]
            let bands = min(Self.together, from[planes]) * to[columns] * from[rows]
            return (ring + bands) * MemoryLayout<Double>.stride
        }

        func resample(
            _ voxels: UnsafePointer<Float>,
            inside: UnsafePointer<UInt8>?,
            into result: UnsafeMutablePointer<Float>,
            scope: ComputeScope
        ) throws {
            var ring = try VoxelBuffer<Double>(count: slots * target.sliceCount)
            var bands = try VoxelBuffer<Double>(count: min(Self.together, source.shape.z) * bandCount)
            var lowest = Float.infinity
            var highest = -Float.infinity
            let image = Input(
                voxels: ParallelReader(voxels),
                inside: inside.map(ParallelReader.init),
                isNeeded: planes.neededInputs
            )
            try ring.withUnsafeMutableBufferPointer { ring in
                try bands.withUnsafeMutableBufferPointer { bands in
                    guard let ring = ring.baseAddress, let bands = bands.baseAddress else { return }
                    var (loaded, final, made) = (0, 0, 0)
                    while made < target.z {
                        let before = (loaded, final)
                        // As many planes as fit into the ring together with those that outputs still read.
                        let goal = slots == planes.samples ? slots : min(planes.samples, final + slots - 3)
                        while loaded < goal {
                            let end = min(goal, loaded + Self.together)
                            let range = try load(
                                loaded..<end,
                                of: image,
                                ring: ring,
                                bands: bands,
                                scope: scope
                            )
                            lowest = min(lowest, range.lowest)
                            highest = max(highest, range.highest)
                            loaded = end
                        }
                        // A filtered plane is final once the backward pass has started far enough ahead of it.
                        final = loaded == planes.samples ? loaded : planes.isFiltered ? loaded - Self.lookAhead : loaded
                        let first = made
                        while made < target.z, planes.lastTap(of: made) < final { made += 1 }
                        try advance(
                            loaded: before.0..<loaded,
                            final: before.1..<final,
                            outputs: first..<made,
                            ring: ring,
                            into: result,
                            scope: scope
                        )
                    }
                }
            }
            // If all values are NaN, there are no bounds.
            if !isSeparate, lowest <= highest { try clamp(result, lowest, highest, scope) }
        }

        /// The image that is read.
        private struct Input {
            let voxels: ParallelReader<Float>
            /// One byte per voxel, not 0 where it is mapped; nil for everywhere.
            let inside: ParallelReader<UInt8>?
            /// For each plane, whether an output depends on it.
            let isNeeded: [Bool]
        }

        /// Resamples planes to their target shape, several at a time; the padding consists of copies of the outermost
        /// planes.
        /// - Returns: the value range of the voxels that were read.
        private func load(
            _ positions: Range<Int>,
            of image: Input,
            ring: UnsafeMutablePointer<Double>,
            bands: UnsafeMutablePointer<Double>,
            scope: ComputeScope
        ) throws(CancelledError) -> (lowest: Float, highest: Float) {
            let (ring, bands) = (ParallelBuffer(ring), ParallelBuffer(bands))
            let (slots, count) = (slots, target.sliceCount)
            let planes = planes
            // Positions in the padding share the source plane of the border, which is resampled once and copied.
            @Sendable func origin(_ position: Int) -> Int { planes.input(at: position) }
            // The first position of every source plane in `positions`.
            let firsts = positions.filter {
                image.isNeeded[origin($0)] && ($0 == positions.lowerBound || origin($0) != origin($0 - 1))
            }
            let ranges = try scope.map(firsts.count) { index in
                makePlane(
                    origin(firsts[index]),
                    image.voxels.base,
                    image.inside?.base,
                    band: bands + index * bandCount,
                    into: ring + firsts[index] % slots * count
                )
            }
            for position in positions where position > positions.lowerBound && origin(position) == origin(position - 1)
            {
                (ring + position % slots * count).update(from: ring + (position - 1) % slots * count, count: count)
            }
            return ranges.reduce((.infinity, -.infinity)) { (min($0.0, $1.x), max($0.1, $1.y)) }
        }

        /// Resamples one source plane: rows into `band` first, then columns into `plane`, because rows are contiguous in the
        /// source, and columns are processed several at a time in vectors.
        /// - Returns: the smallest and the largest mapped voxel.
        private func makePlane(
            _ k: Int,
            _ voxels: UnsafePointer<Float>,
            _ inside: UnsafePointer<UInt8>?,
            band: UnsafeMutablePointer<Double>,
            into plane: UnsafeMutablePointer<Double>
        ) -> SIMD2<Float> {
            let scratchCount = max(Self.rowsTogether * columns.samples, Self.lanesTogether * rows.samples)
            return withUnsafeTemporaryAllocation(of: Double.self, capacity: scratchCount) { scratch in
                var range = SIMD2(Float.infinity, -Float.infinity)
                guard let scratch = scratch.baseAddress else { return range }
                columns.withKernel { columns in
                    for j in stride(from: 0, to: source.shape.y, by: Self.rowsTogether) {
                        var from = nk_rows(
                            values: voxels + source.offset(0, j, k),
                            row_step: source.step.y,
                            step: source.step.x,
                            inside: inside.map { $0 + j * maskStep.y + k * maskStep.z },
                            inside_row_step: maskStep.y,
                            inside_step: maskStep.x,
                            map: map.kernel,
                            count: Int32(min(Self.rowsTogether, source.shape.y - j))
                        )
                        var bounds = nk_range(lowest: range.x, highest: range.y)
                        nk_resample_rows(
                            band + j * target.x,
                            target.x,
                            &from,
                            columns,
                            scratch,
                            &bounds
                        )
                        range = SIMD2(bounds.lowest, bounds.highest)
                    }
                }
                // With separate slices nnU-Net clamps each slice to its own range; otherwise the whole result is clamped at the end.
                let isBounded = isSeparate && range.x <= range.y
                rows.withKernel { rows in
                    var lanes = nk_lanes(
                        values: band,
                        step: target.x,
                        count: target.x,
                        low: isBounded ? Double(range.x) : -.infinity,
                        high: isBounded ? Double(range.y) : .infinity
                    )
                    nk_resample_lanes(plane, target.x, &lanes, rows, scratch)
                }
                return range
            }
        }

        /// Continues along the stream axis, one row of the planes at a time.
        private func advance(
            loaded: Range<Int>,
            final: Range<Int>,
            outputs: Range<Int>,
            ring: UnsafeMutablePointer<Double>,
            into result: UnsafeMutablePointer<Float>,
            scope: ComputeScope
        ) throws(CancelledError) {
            let (ring, result) = (ParallelBuffer(ring), ParallelBuffer(result))
            let (slots, target, planes, resultStep) = (slots, target, planes, resultStep)
            try scope.forEachRange(of: target.y, by: 4) { rows in
                planes.withKernel { axis in
                    var stream = nk_stream(
                        ring: ring.base,
                        plane_step: target.sliceCount,
                        slots: slots,
                        samples: planes.samples,
                        loaded_before: loaded.lowerBound,
                        loaded: loaded.upperBound,
                        final_before: final.lowerBound,
                        final: final.upperBound,
                        first_output: outputs.lowerBound,
                        end_output: outputs.upperBound,
                        is_filtered: planes.isFiltered ? 1 : 0,
                        axis: axis.pointee,
                        out_plane_step: resultStep.z,
                        out_step: resultStep.x
                    )
                    for row in rows {
                        nk_resample_stream(&stream, row * target.x, target.x, result + row * resultStep.y)
                    }
                }
            }
        }

        private func clamp(
            _ result: UnsafeMutablePointer<Float>,
            _ lowest: Float,
            _ highest: Float,
            _ scope: ComputeScope
        ) throws(CancelledError) {
            let result = ParallelBuffer(result)
            try scope.forEachRange(of: target.count, by: 1 << 16) { range in
                nk_clamp(result + range.lowerBound, range.count, lowest, highest)
            }
        }
    }
}
