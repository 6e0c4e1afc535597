internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// Sums and sums of squares of each channel, over a fixed division that is merged in order.
struct ChannelSumsStep: Step {
    let source: Int
    let chunks: Int
    let merged: Int
    let shape: [Int]

    var reads: [Int] { [source] }
    var writes: [Int] { [chunks, merged] }
    var work: StepWork { .traffic(.normalisation, elements: shape.reduce(1, *)) }

    /// Voxels of a chunk: about 65 536 values, and at least 16 voxels for many channels. It depends on the shape only, never on
    /// the number of threads.
    private static func stride(_ channels: Int) -> Int { max(16, (1 << 16) / channels) }

    static func chunkCount(voxels: Int, channels: Int) -> Int {
        (voxels + stride(channels) - 1) / stride(channels)
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let channels = shape[1]
        let voxels = shape[2...].reduce(1, *)
        let stride = Self.stride(channels)
        for item in 0..<shape[0] {
            let from = ParallelBuffer(run.floats(source) + item * voxels * channels)
            let rows = ParallelBuffer(run.doubles(chunks))
            try run.scope.forEachRange(of: voxels, by: stride) { range in
                nk_channel_sums(
                    from.base + range.lowerBound * channels,
                    range.count,
                    channels,
                    rows.base + range.lowerBound / stride * 2 * channels
                )
            }
            let sums = run.doubles(merged) + item * 2 * channels
            // Merged by one thread and in order: the result does not depend on which thread computed which chunk.
            for index in 0..<2 * channels { sums[index] = 0 }
            for chunk in 0..<Self.chunkCount(voxels: voxels, channels: channels) {
                for index in 0..<2 * channels { sums[index] += rows.base[chunk * 2 * channels + index] }
            }
        }
    }
}

/// Converts sums to the scale and shift that readers apply.
struct NormalisationStep: Step {
    let statistics: Int
    let affine: Int
    let parameters: Operation.Normalisation
    let shape: [Int]

    var reads: [Int] { [statistics] }
    var writes: [Int] { [affine] }
    /// Two doubles and two floats for each channel.
    var work: StepWork { .traffic(.normalisation, elements: 6 * shape[0] * shape[1]) }

    func run(_ run: PlanRun) throws(CancelledError) {
        let channels = shape[1]
        let size = channels / parameters.groups
        let count = Double(shape[2...].reduce(1, *) * size)
        for item in 0..<shape[0] {
            let sums = run.doubles(statistics) + item * 2 * channels
            let scales = run.floats(affine) + item * 2 * channels
            let shifts = scales + channels
            // A group's mean and variance are those of all of its channels together.
            for group in 0..<parameters.groups {
                var sum = 0.0
                var squares = 0.0
                for channel in group * size..<(group + 1) * size {
                    sum += sums[channel]
                    squares += sums[channels + channel]
                }
                let mean = sum / count
                // Mean of squares minus square of the mean, in double precision; for a constant channel rounding can make it
                // negative.
                let variance = max(0, squares / count - mean * mean)
                let factor = 1 / (variance + Double(parameters.epsilon)).squareRoot()
                for channel in group * size..<(group + 1) * size {
                    let scale = Double(parameters.scale[channel]) * factor
                    scales[channel] = Float(scale)
                    shifts[channel] = Float(Double(parameters.shift[channel]) - mean * scale)
                }
            }
        }
    }
}

/// Spatial means, computed from sums.
struct MeanStep: Step {
    let statistics: Int
    let target: Int
    let shape: [Int]

    var reads: [Int] { [statistics] }
    var writes: [Int] { [target] }
    /// A double and a float for each channel.
    var work: StepWork { .traffic(.reduction, elements: 3 * shape[0] * shape[1]) }

    func run(_ run: PlanRun) throws(CancelledError) {
        let channels = shape[1]
        let voxels = Double(shape[2...].reduce(1, *))
        for item in 0..<shape[0] {
            for channel in 0..<channels {
                run.floats(target)[item * channels + channel] = Float(
                    run.doubles(statistics)[item * 2 * channels + channel] / voxels
                )
            }
        }
    }
}

/// Applies a piece's scale, shift and slope. The output may be the piece's own buffer.
struct AffineStep: Step {
    let piece: Lowering.Piece
    let output: Int
    let shape: [Int]

    var reads: [Int] { [piece.stored.buffer] + (piece.affine.map { [$0] } ?? []) }
    var writes: [Int] { [output] }
    var work: StepWork { .traffic(.normalisation, elements: 2 * shape.reduce(1, *)) }

    func run(_ run: PlanRun) throws(CancelledError) {
        let channels = shape[1]
        let voxels = shape[2...].reduce(1, *)
        for item in 0..<shape[0] {
            let affine = piece.affine.map { ParallelBuffer(run.floats($0) + item * 2 * channels) }
            let from = ParallelBuffer(run.floats(piece.stored.buffer) + item * voxels * channels)
            let to = ParallelBuffer(run.floats(output) + item * voxels * channels)
            try run.forEachPart(of: voxels, cost: channels) { begin, end in
                var voxels = nk_affine_operand(
                    data: from.base + begin * channels,
                    scale: affine.map { UnsafePointer($0.base) },
                    shift: affine.map { UnsafePointer($0.base + channels) },
                    slope: piece.slope
                )
                nk_affine_rows(&voxels, to.base + begin * channels, end - begin, channels)
            }
        }
    }
}

/// leaky(a + b), each with its scale, shift and slope. The output may be the buffer of either.
struct SumStep: Step {
    let a: Lowering.Piece
    let b: Lowering.Piece
    let slope: Float
    let output: Int
    let shape: [Int]

    var reads: [Int] { [a, b].flatMap { [$0.stored.buffer] + ($0.affine.map { [$0] } ?? []) } }
    var writes: [Int] { [output] }
    var work: StepWork { .traffic(.elementwise, elements: 3 * shape.reduce(1, *)) }

    func run(_ run: PlanRun) throws(CancelledError) {
        // Without functions of channels both are plain lists of numbers, whatever their layout.
        if a.affine == nil, b.affine == nil, a.slope == 1, b.slope == 1 {
            try add(run, from: 0, rows: shape.reduce(1, *), channels: 1, item: 0)
            return
        }
        let voxels = shape[2...].reduce(1, *)
        for item in 0..<shape[0] {
            try add(run, from: item * voxels * shape[1], rows: voxels, channels: shape[1], item: item)
        }
    }

    private func add(
        _ run: PlanRun,
        from: Int,
        rows: Int,
        channels: Int,
        item: Int
    ) throws(CancelledError) {
        func operand(_ piece: Lowering.Piece) -> nk_affine_operand {
            let affine = piece.affine.map { run.floats($0) + item * 2 * channels }
            return nk_affine_operand(
                data: run.floats(piece.stored.buffer) + from,
                scale: affine.map { UnsafePointer($0) },
                shift: affine.map { UnsafePointer($0 + channels) },
                slope: piece.slope
            )
        }
        let first = ParallelValue(operand(a))
        let second = ParallelValue(operand(b))
        let to = ParallelBuffer(run.floats(output) + from)
        try run.forEachPart(of: rows, cost: channels) { begin, end in
            var (x, y) = (first.value, second.value)
            x.data += begin * channels
            y.data += begin * channels
            // With one channel, consecutive rows can be processed as a single row.
            let isFlat = channels == 1 && x.scale == nil && y.scale == nil
            nk_sum_rows(
                &x,
                &y,
                slope,
                to.base + begin * channels,
                isFlat ? 1 : end - begin,
                isFlat ? end - begin : channels
            )
        }
    }
}
