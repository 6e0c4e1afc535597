/// Values that need not be stored, and how they are stored where they must be.
extension Lowering {
    /// Whether all readers of a value accept it in pieces: convolutions and, for a single piece, sums and
    /// concatenations that are themselves not stored.
    func canStayLazy(_ value: Int, single: Bool) -> Bool {
        guard !graph.outputs.contains(where: { $0.value == value }), !readers[value].isEmpty else { return false }
        return readers[value].allSatisfy { reader in
            let operation = graph.operations[reader.operation]
            switch operation.kind {
            case .convolution: return reader.input == 0
            case .sum: return single
            case .concatenate(let axis):
                return single && axis == 1 && graph.shapes[operation.output].count <= 5
                    && canStayLazy(operation.output, single: false)
            default: return false
            }
        }
    }

    /// Whether only convolutions read a value, directly or in pieces of what they read, and can read it as bfloat16.
    func canBeBfloat16(_ value: Int) -> Bool {
        guard !graph.outputs.contains(where: { $0.value == value }), !readers[value].isEmpty else { return false }
        return readers[value].allSatisfy { reader in
            let operation = graph.operations[reader.operation]
            switch operation.kind {
            case .convolution(let parameters):
                return reader.input == 0 && ConvolutionStep.Plan.readsBfloat16(parameters)
            case .normalise, .channelAffine:
                return canStayLazy(operation.output, single: true) && canBeBfloat16(operation.output)
            case .concatenate(let axis):
                return axis == 1 && (3...5).contains(graph.shapes[operation.output].count)
                    && canStayLazy(operation.output, single: false) && canBeBfloat16(operation.output)
            default: return false
            }
        }
    }

    /// Whether a normalisation operation reads a value.
    func isNormalised(_ value: Int) -> Bool {
        readers[value].contains { reader in
            if case .normalise = graph.operations[reader.operation].kind { return true }
            return false
        }
    }

    /// A value as channels-last pieces.
    mutating func pieces(_ value: Int) throws -> [Piece] {
        if case .lazy(let pieces)? = storages[value] { return pieces }
        return [Piece(stored: try channelsLast(value), channels: graph.shapes[value][1])]
    }

    /// Writes pieces to one channels-last tensor, one after the other along the channels.
    mutating func materialised(_ pieces: [Piece], shape: [Int]) throws -> Stored {
        let target = Stored(buffer: workspace(floatsOf: shape), strides: Self.channelsLastStrides(shape))
        var first = 0
        // A piece with a function is computed first, because a move only copies.
        for piece in pieces {
            var part = shape
            part[1] = piece.channels
            var source = piece.stored
            if piece.affine != nil || piece.slope != 1 {
                source = Stored(buffer: workspace(floatsOf: part), strides: Self.channelsLastStrides(part))
                append(AffineStep(piece: piece, output: source.buffer, shape: part), title: "normalise")
            }
            append(
                MoveStep(
                    Operation.Move.identity(part.count),
                    source: source,
                    target: target,
                    targetOffset: first,
                    shape: part
                ),
                title: "concatenation"
            )
            first += piece.channels
        }
        return target
    }

    /// Copies a tensor to another layout. From channels-last to ONNX's order it is the transposition of a matrix, for which
    /// there is a kernel.
    func copyStep(from source: Stored, to target: Stored, shape: [Int]) -> any Step {
        let isChannelsLast = shape.count >= 3 && Self.same(source.strides, Self.channelsLastStrides(shape), shape)
        if isChannelsLast, Self.same(target.strides, Extents.strides(shape), shape), shape[1] > 1 {
            return TransposeStep(
                source: source.buffer,
                target: target.buffer,
                batch: shape[0],
                rows: shape[2...].reduce(1, *),
                columns: shape[1]
            )
        }
        return MoveStep(
            Operation.Move.identity(shape.count),
            source: source,
            target: target,
            targetOffset: 0,
            shape: shape
        )
    }
}
