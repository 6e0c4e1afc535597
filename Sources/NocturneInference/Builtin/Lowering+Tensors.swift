/// Operations on tensors in any layout.
extension Lowering {
    mutating func lowerUnary(_ operation: Operation, _ function: UnaryFunction) throws {
        let shape = graph.shapes[operation.output]
        let source = try stored(operation.inputs[0])
        let inPlace = canOverwrite(source.buffer, by: operation)
        let target = Stored(buffer: inPlace ? source.buffer : workspace(floatsOf: shape), strides: source.strides)
        append(
            UnaryStep(
                function,
                source: source.buffer,
                target: target.buffer,
                count: shape.reduce(1, *),
                title: operation.title
            )
        )
        recordStorage(operation.output, .stored(target))
    }

    mutating func lowerBinary(_ operation: Operation, _ function: BinaryFunction) throws {
        let shape = graph.shapes[operation.output]
        let sources = try operation.inputs.map { ($0, try stored($0)) }
        let isChannelsLast =
            (3...5).contains(shape.count)
            && sources.contains { value, source in
                graph.shapes[value] == shape && !Self.same(source.strides, Extents.strides(shape), shape)
            }
        let strides = isChannelsLast ? Self.channelsLastStrides(shape) : Extents.strides(shape)
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
                function,
                operands: sources.map { ($0.1, graph.shapes[$0.0]) },
                target: target,
                shape: shape,
                title: operation.title
            )
        )
        recordStorage(operation.output, .stored(target))
    }

    mutating func lowerMove(_ operation: Operation, _ parameters: MoveParameters) throws {
        let (input, output) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.output])
        let source = try stored(operation.inputs[0])
        let keepsOrder = parameters.axes.enumerated().allSatisfy { $1.input == nil || $1.input == $0 }
        let isChannelsLast =
            (3...5).contains(output.count) && input.count == output.count && keepsOrder
            && !Self.same(source.strides, Extents.strides(input), input)
        let strides = isChannelsLast ? Self.channelsLastStrides(output) : Extents.strides(output)
        let target = Stored(buffer: workspace(floatsOf: output), strides: strides)
        append(
            MoveStep(
                parameters,
                source: source,
                sourceShape: input,
                target: target,
                targetOffset: 0,
                shape: output,
                title: operation.title
            )
        )
        recordStorage(operation.output, .stored(target))
    }

    mutating func lowerReduction(_ operation: Operation, kind: Int32, axes: [Int]) throws {
        let shape = graph.shapes[operation.inputs[0]]
        var source = try plain(operation.inputs[0])
        let n = axes.reduce(1) { $0 * shape[$1] }
        var inner = 1
        if let first = axes.first, let last = axes.last, last - first + 1 == axes.count {
            inner = shape[(last + 1)...].reduce(1, *)
        } else {
            // The axes are moved behind all others.
            let order = shape.indices.filter { !axes.contains($0) } + axes
            let moved = order.map { shape[$0] }
            let target = Stored(buffer: workspace(floatsOf: moved), strides: Extents.strides(moved))
            let move = MoveParameters(axes: order.map { .init(input: $0, map: .line(start: 0, step: 1)) })
            append(
                MoveStep(
                    move,
                    source: source,
                    sourceShape: shape,
                    target: target,
                    targetOffset: 0,
                    shape: moved,
                    title: operation.title
                )
            )
            source = target
        }
        let result = graph.shapes[operation.output]
        let target = Stored(buffer: workspace(floatsOf: result), strides: Extents.strides(result))
        append(
            RowsStep(
                .reduce(kind),
                source: source.buffer,
                target: target.buffer,
                outer: shape.reduce(1, *) / (n * inner),
                n: n,
                inner: inner,
                title: operation.title
            )
        )
        recordStorage(operation.output, .stored(target))
    }

    mutating func lowerSoftmax(_ operation: Operation, axis: Int, logarithm: Bool) throws {
        let shape = graph.shapes[operation.output]
        var source = try stored(operation.inputs[0])
        var outer = shape[..<axis].reduce(1, *)
        var inner = shape[(axis + 1)...].reduce(1, *)
        let isVolume = (3...5).contains(shape.count)
        if isVolume, axis == 1, Self.same(source.strides, Self.channelsLastStrides(shape), shape) {
            (outer, inner) = (outer * inner, 1)
        } else {
            source = try plain(operation.inputs[0])
        }
        let inPlace = canOverwrite(source.buffer, by: operation)
        let target = Stored(buffer: inPlace ? source.buffer : workspace(floatsOf: shape), strides: source.strides)
        append(
            RowsStep(
                .softmax(logarithm: logarithm),
                source: source.buffer,
                target: target.buffer,
                outer: outer,
                n: shape[axis],
                inner: inner,
                title: operation.title
            )
        )
        recordStorage(operation.output, .stored(target))
    }

    mutating func lowerProduct(_ operation: Operation, _ parameters: MatrixProductParameters) throws {
        let shape = graph.shapes[operation.output]
        let (a, b) = (try plain(operation.inputs[0]), try plain(operation.inputs[1]))
        let (left, right) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.inputs[1]])
        let target = Stored(buffer: workspace(floatsOf: shape), strides: Extents.strides(shape))
        append(
            ProductStep(
                parameters,
                a: a.buffer,
                left: left,
                b: b.buffer,
                right: right,
                target: target.buffer,
                shape: shape,
                title: operation.title
            )
        )
        recordStorage(operation.output, .stored(target))
    }
}
