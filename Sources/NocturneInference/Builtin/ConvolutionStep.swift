internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// A convolution with its fused operations: reading several sources with their scale, shift and slope; adding a
/// residual; the activation; sums for a following normalisation.
struct ConvolutionStep: Step {
    /// Buffers of the sums and sums of squares of the output, in double precision.
    struct Statistics {
        /// One row per chunk, for one batch element at a time.
        var chunks: Int
        /// `[batch][2][channels]`.
        var merged: Int
    }

    /// Chunks of a slab of which the threads wait for the last one without losing much time.
    static let smallestSlab = 32

    let plan: Plan
    let sources: [Lowering.Piece]
    let residual: Int?
    let output: Lowering.Stored
    let slope: Float
    let statistics: Statistics?
    let inputShape: [Int]
    let outputShape: [Int]

    var reads: [Int] {
        sources.flatMap { [$0.stored.buffer] + ($0.affine.map { [$0] } ?? []) } + (residual.map { [$0] } ?? [])
    }
    var writes: [Int] { [output.buffer] + (statistics.map { [$0.chunks, $0.merged] } ?? []) }
    var overlaps: [WorkspacePlanner.Overlap] {
        // Of a batch, one element follows the other in memory.
        guard outputShape[0] == 1, plan.slabs.count > 1, plan.slabs[0].chunk_count >= Self.smallestSlab else {
            return []
        }
        let written = outputShape[1] * outputShape[3...].reduce(output.isBfloat16 ? 2 : 4, *)
        return sources.filter { $0.stored.buffer != residual }.map { piece in
            let read = piece.channels * inputShape[3...].reduce(piece.stored.isBfloat16 ? 2 : 4, *)
            return WorkspacePlanner.Overlap(
                output: output.buffer,
                source: piece.stored.buffer,
                distances: plan.distances(read: read, written: written)
            )
        }
    }
    // Slots start on a cache line boundary.
    var scratchBytes: Int { (plan.scratchBytes + 63) / 64 * 64 }
    var packedBytes: Int { plan.packedBytes }
    var work: StepWork {
        var work = plan.work(batch: outputShape[0])
        work.bytes = StepWork.convolutionBytes(
            input: inputShape,
            output: outputShape,
            hasResidual: residual != nil,
            packedBytes: packedBytes
        )
        // What is stored as bfloat16 takes half of the bytes.
        let input = inputShape[0] * inputShape[2...].reduce(1, *)
        for piece in sources where piece.stored.isBfloat16 { work.bytes -= Double(2 * input * piece.channels) }
        if output.isBfloat16 { work.bytes -= Double(2 * outputShape.reduce(1, *)) }
        return work
    }

    /// The chunks in parts that run one after the other: all at once, or slabs in the direction in which the output follows the
    /// planes that have been read.
    private func parts(_ run: PlanRun) -> [Range<Int>] {
        let start = run.buffers[output.buffer]
        let end = start + outputShape.reduce(output.isBfloat16 ? 2 : 4, *)
        let voxels = inputShape[2...].reduce(1, *)
        let overlapped = sources.map { piece in
            let first = run.buffers[piece.stored.buffer]
            return first..<(first + voxels * piece.channels * (piece.stored.isBfloat16 ? 2 : 4))
        }.first { $0.overlaps(start..<end) }
        guard let overlapped else { return [0..<plan.chunkCount] }
        let slabs = plan.slabs.map { Int($0.first_chunk)..<Int($0.first_chunk + $0.chunk_count) }
        return start < overlapped.lowerBound ? slabs : slabs.reversed()
    }

    private func address(_ stored: Lowering.Stored, element: Int, _ run: PlanRun) -> UnsafeMutableRawPointer {
        run.buffers[stored.buffer] + element * (stored.isBfloat16 ? 2 : 4)
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let inputVoxels = inputShape[2...].reduce(1, *)
        let outputCount = outputShape[1...].reduce(1, *)
        // The elements of a batch run one after the other; the threads share the chunks of one.
        for item in 0..<outputShape[0] {
            let list = sources.map { piece in
                let affine = piece.affine.map { run.floats($0) + item * 2 * piece.channels }
                return nk_conv_source(
                    data: address(piece.stored, element: item * inputVoxels * piece.channels, run),
                    channels: Int32(piece.channels),
                    bfloat16: piece.stored.isBfloat16 ? 1 : 0,
                    scale: affine.map { UnsafePointer($0) },
                    shift: affine.map { UnsafePointer($0 + piece.channels) },
                    slope: piece.slope
                )
            }
            let rows = statistics.map { run.doubles($0.chunks) }
            let parts = parts(run)
            try list.withUnsafeBufferPointer { sources throws(CancelledError) in
                let memory = ParallelValue(
                    nk_conv_run(
                        sources: sources.baseAddress!,
                        source_count: Int32(sources.count),
                        residual: residual.map { UnsafePointer(run.floats($0) + item * outputCount) },
                        out: address(output, element: item * outputCount, run),
                        out_bfloat16: output.isBfloat16 ? 1 : 0,
                        out_slope: slope,
                        stats: rows
                    )
                )
                for part in parts {
                    try run.scope.forEach(part.count) { chunk in
                        run.scratch.withSlot { scratch in
                            withUnsafePointer(to: memory.value) {
                                nk_conv_run_chunk(plan.handle, $0, Int32(part.lowerBound + chunk), scratch)
                            }
                        }
                    }
                }
            }
            // After all chunks and in their order, so that the sums do not depend on the number of threads.
            if let statistics, let rows {
                nk_conv_merge_stats(plan.handle, rows, run.doubles(statistics.merged) + item * 2 * outputShape[1])
            }
        }
    }
}

extension ConvolutionStep {
    /// A layer's packed weights, freed with the last step that uses them.
    final class Plan: @unchecked Sendable {
        // Unchecked: the kernels guarantee that a plan does not change after its creation.
        let handle: OpaquePointer
        let kind: StepKind
        let chunkCount: Int
        /// The chunks along z.
        let slabs: [nk_conv_slab]
        let scratchBytes: Int
        let packedBytes: Int
        /// Whether the output may be bfloat16, where there is no residual.
        let storesBfloat16: Bool

        /// Whether a layer can read bfloat16, with the instructions and the precision that store it.
        static func readsBfloat16(_ parameters: Operation.Convolution) -> Bool {
            nk_conv_reads_bfloat16(Int32(clamping: parameters.inputChannels), Int32(clamping: parameters.groups)) != 0
        }

        /// Nil for a layer that the kernels cannot run.
        /// - Parameter kind: what the layer is called; nil for the kind of convolution that the parameters describe.
        init?(
            _ parameters: Operation.Convolution,
            kind: StepKind?,
            input: [Int],
            output: [Int],
            arithmetic: ConvolutionArithmetic
        ) {
            // Layers with fewer than three spatial axes are volumes whose leading extents are 1.
            let i = Lowering.three(input, filler: 1)
            let o = Lowering.three(output, filler: 1)
            let kernel = Lowering.three(parameters.kernel, filler: 1)
            let stride = Lowering.three(parameters.stride, filler: 1)
            let pad = Lowering.three(parameters.padBefore, filler: 0)
            let dilation = Lowering.three(parameters.dilation, filler: 1)
            var desc = nk_conv_desc(
                in_z: i[0],
                in_y: i[1],
                in_x: i[2],
                out_z: o[0],
                out_y: o[1],
                out_x: o[2],
                cin: Int32(clamping: parameters.inputChannels),
                cout: Int32(clamping: parameters.outputChannels),
                kz: kernel[0],
                ky: kernel[1],
                kx: kernel[2],
                stride_z: stride[0],
                stride_y: stride[1],
                stride_x: stride[2],
                pad_z: pad[0],
                pad_y: pad[1],
                pad_x: pad[2],
                dilation_z: dilation[0],
                dilation_y: dilation[1],
                dilation_x: dilation[2],
                groups: Int32(clamping: parameters.groups),
                transposed: parameters.transposed ? 1 : 0,
                isa: arithmetic.instructions,
                precision: arithmetic.precision
            )
            let handle: OpaquePointer? =
                if let bias = parameters.bias {
                    nk_conv_plan_create(&desc, parameters.weights, bias)
                } else {
                    nk_conv_plan_create(&desc, parameters.weights, nil)
                }
            guard let handle else { return nil }
            self.handle = handle
            self.kind = kind ?? Self.kind(of: parameters)
            chunkCount = Int(nk_conv_chunk_count(handle))
            slabs = (0..<nk_conv_slab_count(handle)).map { nk_conv_slab_of(handle, $0) }
            scratchBytes = nk_conv_scratch_bytes(handle)
            packedBytes = nk_conv_plan_bytes(handle)
            storesBfloat16 = nk_conv_plan_stores_bfloat16(handle) != 0
        }

        /// How far the output must begin before or after a source of the layer, if slabs run one after the other.
        ///
        /// - Parameters:
        ///   - read: bytes of a plane of the source along z.
        ///   - written: bytes of a plane of the output.
        func distances(read: Int, written: Int) -> (below: Int, above: Int) {
            // 1 at least: where both begin at one place, slabs run backwards.
            var (below, above) = (1, 0)
            // Forwards, this slab and the later ones still read from here on; the chunks of a slab run at the same time.
            var lowest = Int.max
            for slab in slabs.reversed() {
                lowest = min(lowest, Int(slab.read_from) * read)
                below = max(below, Int(slab.written_to) * written - lowest)
            }
            var highest = 0
            for slab in slabs {
                highest = max(highest, Int(slab.read_to) * read)
                above = max(above, highest - Int(slab.written_from) * written)
            }
            return (below, above)
        }

        deinit { nk_conv_plan_destroy(handle) }

        private static func kind(of parameters: Operation.Convolution) -> StepKind {
            if parameters.transposed { return .transposedConvolution }
            let groups = parameters.groups
            let isDepthwise = groups > 1 && groups == parameters.inputChannels && groups == parameters.outputChannels
            return isDepthwise ? .depthwiseConvolution : .convolution
        }

        /// The operations of `batch` runs.
        func work(batch: Int) -> StepWork {
            let counts = nk_conv_plan_work(handle)
            var work = StepWork(kind, method: String(cString: nk_conv_plan_method(handle)))
            work.operations = Double(batch) * nk_conv_plan_operations(handle)
            work.products = Double(batch) * counts.products
            work.transforms = Double(batch) * counts.transforms
            // One element of the batch after the other.
            work.parts = chunkCount
            work.operands =
                switch counts.operands {
                case Int32(NK_CONV_PRODUCTS_BFLOAT16): .bfloat16
                case Int32(NK_CONV_PRODUCTS_TILES): .tiles
                default: .float32
                }
            return work
        }
    }
}
