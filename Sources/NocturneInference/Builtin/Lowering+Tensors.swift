/// Operations on tensors in any layout.
extension Lowering {
    /// Keeps the layout, because the function of an element does not depend on its position.
    mutating func lowerUnary(_ operation: Operation, _ function: Operation.Unary) throws {
        let shape = graph.shapes[operation.output]
        let source = try stored(operation.inputs[0])
        let inPlace = canOverwrite(source.buffer, by: operation)
        let target = Stored(buffer: inPlace ? source.buffer : workspace(floatsOf: shape), strides: source.strides)
        append(
            UnaryStep(
                function: function,
                source: source.buffer,
                target: target.buffer,
                count: shape.reduce(1, *)
            ),
            resultOf: operation,
            in: target
        )
    }

    mutating func lowerBinary(_ operation: Operation, _ kind: Int32) throws {
        let shape = graph.shapes[operation.output]
        let sources = try operation.inputs.map { ($0, try stored($0)) }
        let strides = resultStrides(shape, of: sources.filter { graph.shapes[$0.0] == shape }.map(\.1))
        // Overwriting is safe where each element is read just before it is written at the same position.
        let isShared = sources[0].1.buffer == sources[1].1.buffer
        let free =
            isShared
            ? nil
            : sources.first { value, source in
                graph.shapes[value] == shape && Self.same(source.strides, strides, shape)
                    && canOverwrite(source.buffer, by: operation)
            }
        let target = Stored(buffer: free?.1.buffer ?? workspace(floatsOf: shape), strides: strides)
        append(
            BinaryStep(
                kind,
                operands: sources.map { ($0.1, graph.shapes[$0.0]) },
                target: target,
                shape: shape
            ),
            resultOf: operation,
            in: target
        )
    }

    /// The layout of operands of the result's shape: their common one; else channels-last if one of them is.
    private func resultStrides(_ shape: [Int], of sources: [Stored]) -> [Int] {
        if let first = sources.first, sources.allSatisfy({ Self.same($0.strides, first.strides, shape) }) {
            return first.strides
        }
        let plain = Extents.strides(shape)
        guard (3...5).contains(shape.count) else { return plain }
        let channelsLast = Self.channelsLastStrides(shape)
        let isChannelsLast = sources.contains {
            Self.same($0.strides, channelsLast, shape) && !Self.same($0.strides, plain, shape)
        }
        return isChannelsLast ? channelsLast : plain
    }

    mutating func lowerMove(_ operation: Operation, _ parameters: Operation.Move) throws {
        let (input, output) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.output])
        let source = try stored(operation.inputs[0])
        // A transposition moves nothing: the result is the same buffer with its strides in another order.
        if let order = parameters.transposition(from: input, to: output) {
            let strides = order.map { source.strides[$0] }
            recordStorage(operation.output, .stored(Stored(buffer: source.buffer, strides: strides)))
            return
        }
        // A part of a channels-last tensor stays channels-last, unless axes are exchanged.
        let keepsOrder = parameters.axes.enumerated().allSatisfy { $1.input == nil || $1.input == $0 }
        let isChannelsLast =
            (3...5).contains(output.count) && input.count == output.count && keepsOrder
            && !Self.same(source.strides, Extents.strides(input), input)
            && Self.same(source.strides, Self.channelsLastStrides(input), input)
        let strides = isChannelsLast ? Self.channelsLastStrides(output) : Extents.strides(output)
        let target = Stored(buffer: workspace(floatsOf: output), strides: strides)
        append(
            MoveStep(
                parameters,
                source: source,
                target: target,
                targetOffset: 0,
                shape: output
            ),
            resultOf: operation,
            in: target
        )
    }
}
