internal import CNocturneKernels

/// Operations on channels-last activations.
extension Lowering {
    /// Converts lists per spatial axis to z, y, x.
    static func three<Number: BinaryInteger>(_ list: [Number], filler: Number) -> [Int32] {
        ([Number](repeating: filler, count: 3 - list.count) + list).map { Int32(clamping: $0) }
    }

    /// - Parameter kind: see ``ConvolutionStep/Plan``.
    func plan(
        _ parameters: Operation.Convolution,
        kind: StepKind? = nil,
        of operation: Operation,
        input: [Int],
        output: [Int]
    ) throws(ModelFormatError) -> ConvolutionStep.Plan {
        let made = ConvolutionStep.Plan(parameters, kind: kind, input: input, output: output, arithmetic: arithmetic)
        guard let made else {
            throw .shapeMismatch(
                network: path,
                reason: "\(operation.title): the kernels cannot run a layer of \(input) to \(output)"
            )
        }
        return made
    }

    mutating func lowerConvolution(_ operation: Operation, _ parameters: Operation.Convolution) throws {
        let (input, output) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.output])
        let sources = try pieces(operation.inputs[0])
        let residual = operation.inputs.count > 1 ? try channelsLast(operation.inputs[1]).buffer : nil
        let plan = try plan(
            parameters,
            of: operation,
            input: Array(input.dropFirst(2)),
            output: Array(output.dropFirst(2))
        )
        // Half the memory traffic; the convolutions that read the value round their operands to bfloat16 in any case.
        let isBfloat16 = plan.storesBfloat16 && residual == nil && canBeBfloat16(operation.output)
        let target = Stored(
            buffer: workspace(bytes: output.reduce(isBfloat16 ? 2 : 4, *)),
            strides: Self.channelsLastStrides(output),
            isBfloat16: isBfloat16
        )
        var statistics: ConvolutionStep.Statistics?
        // A normalisation follows: the convolution adds up its output while it writes it, which saves a pass over it. Sums and
        // sums of squares are doubles, hence the 8 bytes.
        if isNormalised(operation.output) {
            let merged = workspace(bytes: output[0] * 2 * output[1] * 8)
            statistics = .init(chunks: workspace(bytes: plan.chunkCount * 2 * output[1] * 8), merged: merged)
            self.statistics[operation.output] = merged
        }
        append(
            ConvolutionStep(
                plan: plan,
                sources: sources,
                residual: residual,
                output: target,
                slope: parameters.slope,
                statistics: statistics,
                inputShape: input,
                outputShape: output
            ),
            resultOf: operation,
            in: target
        )
    }

    /// Computes scale and shift of each channel; the readers apply them, or ``finish(_:_:)`` does.
    mutating func lowerNormalisation(_ operation: Operation, _ parameters: Operation.Normalisation) throws {
        let value = operation.inputs[0]
        let shape = graph.shapes[value]
        let source = try channelsLast(value)
        let statistics: Int
        // The sums are there if a convolution produced the value, or another normalisation of it.
        if let gathered = self.statistics[value] {
            statistics = gathered
        } else {
            statistics = channelSums(source.buffer, shape)
            self.statistics[value] = statistics
        }
        let affine = workspace(bytes: shape[0] * 2 * shape[1] * 4)
        append(
            NormalisationStep(
                statistics: statistics,
                affine: affine,
                parameters: parameters,
                shape: shape
            )
        )
        finish(operation, Piece(stored: source, channels: shape[1], affine: affine, slope: parameters.slope))
    }

    mutating func lowerAffine(_ operation: Operation, scale: [Float], shift: [Float], slope: Float) throws {
        let shape = graph.shapes[operation.output]
        if slope == 1, let a = scale.first, let b = shift.first, scale.allSatisfy({ $0 == a }),
            shift.allSatisfy({ $0 == b }), !canStayLazy(operation.output, single: true),
            case .stored? = storages[operation.inputs[0]]
        {
            // The same function of every element needs no layout.
            let function = Operation.Unary(kind: Int32(NK_UNARY_LINEAR), first: a, second: b)
            return try lowerUnary(operation, function)
        }
        let source = try channelsLast(operation.inputs[0])
        let table = [[Float]](repeating: scale + shift, count: shape[0]).flatMap { $0 }
        finish(operation, Piece(stored: source, channels: shape[1], affine: try constant(table), slope: slope))
    }

    /// Leaves the operation on a piece to its readers, or applies it in one pass, in place if the old content is not
    /// needed.
    private mutating func finish(_ operation: Operation, _ piece: Piece) {
        if canStayLazy(operation.output, single: true) {
            recordStorage(operation.output, .lazy([piece]))
            return
        }
        let shape = graph.shapes[operation.output]
        let inPlace = canOverwrite(piece.stored.buffer, by: operation)
        let target = inPlace ? piece.stored.buffer : workspace(floatsOf: shape)
        append(AffineStep(piece: piece, output: target, shape: shape), title: "normalise")
        recordStorage(operation.output, .stored(Stored(buffer: target, strides: Self.channelsLastStrides(shape))))
    }

    /// Adds a step that computes sums and sums of squares of each channel.
    /// - Returns: the buffer, `[batch][2][channels]` doubles.
    mutating func channelSums(_ buffer: Int, _ shape: [Int]) -> Int {
        let merged = workspace(bytes: shape[0] * 2 * shape[1] * 8)
        let voxels = shape[2...].reduce(1, *)
        let chunks = workspace(bytes: ChannelSumsStep.chunkCount(voxels: voxels, channels: shape[1]) * 2 * shape[1] * 8)
        append(ChannelSumsStep(source: buffer, chunks: chunks, merged: merged, shape: shape), title: "channel sums")
        return merged
    }

    mutating func lowerSum(_ operation: Operation, slope: Float) throws {
        let shape = graph.shapes[operation.output]
        var operands: [Piece] = []
        // Two tensors in the same layout are added without conversion.
        if case .stored(let a)? = storages[operation.inputs[0]], case .stored(let b)? = storages[operation.inputs[1]],
            Self.same(a.strides, b.strides, shape)
        {
            operands = [a, b].map { Piece(stored: $0, channels: shape[1]) }
        } else if isPlain(operation.inputs[0]) || isPlain(operation.inputs[1]),
            !operation.inputs.contains(where: isLazy),
            !operation.inputs.contains(where: isChannelsLast)
        {
            operands = try operation.inputs.map { Piece(stored: try plain($0), channels: shape[1]) }
        } else {
            for value in operation.inputs {
                if case .lazy(let pieces)? = storages[value], pieces.count == 1 {
                    operands.append(pieces[0])
                } else {
                    operands.append(Piece(stored: try channelsLast(value), channels: shape[1]))
                }
            }
        }
        // Both operands are read at the same position just before it is written.
        let free = operands.first { canOverwrite($0.stored.buffer, by: operation) }
        let target = free?.stored.buffer ?? workspace(floatsOf: shape)
        append(SumStep(a: operands[0], b: operands[1], slope: slope, output: target, shape: shape))
        recordStorage(operation.output, .stored(Stored(buffer: target, strides: operands[0].stored.strides)))
    }

    private func isLazy(_ value: Int) -> Bool {
        if case .lazy? = storages[value] { return true }
        return false
    }

    private func isPlain(_ value: Int) -> Bool {
        guard case .stored(let stored)? = storages[value] else { return false }
        return Self.same(stored.strides, Extents.strides(graph.shapes[value]), graph.shapes[value])
    }

    private func isChannelsLast(_ value: Int) -> Bool {
        guard case .stored(let stored)? = storages[value] else { return false }
        return Self.same(stored.strides, Self.channelsLastStrides(graph.shapes[value]), graph.shapes[value])
    }

    mutating func lowerConcatenation(_ operation: Operation, axis: Int) throws {
        let shape = graph.shapes[operation.output]
        // Channels that only convolutions read stay where they are.
        if axis == 1, (3...5).contains(shape.count), canStayLazy(operation.output, single: false) {
            var parts: [Piece] = []
            for value in operation.inputs { parts += try pieces(value) }
            recordStorage(operation.output, .lazy(parts))
            return
        }
        var sources: [Stored] = []
        for value in operation.inputs { sources.append(try stored(value)) }
        let isVolume = (3...5).contains(shape.count)
        let isChannelsLast =
            isVolume
            && zip(sources, operation.inputs).contains { source, value in
                let part = graph.shapes[value]
                return !Self.same(source.strides, Extents.strides(part), part)
            }
        // One operand that is not in ONNX's order is enough: the other order would be slow for its readers.
        let strides = isChannelsLast ? Self.channelsLastStrides(shape) : Extents.strides(shape)
        let target = Stored(buffer: workspace(floatsOf: shape), strides: strides)
        var first = 0
        for (source, value) in zip(sources, operation.inputs) {
            let part = graph.shapes[value]
            append(
                MoveStep(
                    Operation.Move.identity(part.count),
                    source: source,
                    target: target,
                    targetOffset: first * strides[axis],
                    shape: part
                )
            )
            first += part[axis]
        }
        recordStorage(operation.output, .stored(target))
    }

    /// Adds the step of an operation that reads and writes channels last.
    private mutating func append(
        channelsLast operation: Operation,
        _ step: (_ source: Int, _ target: Int, _ input: [Int], _ output: [Int]) -> any Step
    ) throws {
        let (input, output) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.output])
        let source = try channelsLast(operation.inputs[0])
        let target = Stored(buffer: workspace(floatsOf: output), strides: Self.channelsLastStrides(output))
        append(step(source.buffer, target.buffer, input, output), resultOf: operation, in: target)
    }

    mutating func lowerPool(_ operation: Operation, _ parameters: Operation.Pool) throws {
        try append(channelsLast: operation) { PoolStep(parameters, source: $0, target: $1, input: $2, output: $3) }
    }

    /// Adds linear interpolation along the spatial axes.
    mutating func lowerInterpolation(_ operation: Operation, _ axes: [Operation.InterpolationAxis]) throws {
        try append(channelsLast: operation) { InterpolationStep(axes, source: $0, target: $1, input: $2, output: $3) }
    }

    /// Means over all voxels of each channel, from sums that other steps may need too.
    mutating func lowerChannelMeans(_ operation: Operation) throws {
        let value = operation.inputs[0]
        let shape = graph.shapes[value]
        let source = try channelsLast(value)
        let sums = statistics[value] ?? channelSums(source.buffer, shape)
        statistics[value] = sums
        let target = workspace(floatsOf: graph.shapes[operation.output])
        append(MeanStep(statistics: sums, target: target, shape: shape))
        let strides = Extents.strides(graph.shapes[operation.output])
        recordStorage(operation.output, .stored(Stored(buffer: target, strides: strides)))
    }
}
