internal import CNocturneKernels

/// Reduces the number of operations of a graph, with the same result up to rounding.
///
/// - Reshape, InstanceNormalization, Reshape becomes one group normalisation (what PyTorch exports for GroupNorm).
/// - x * Sigmoid(x) becomes one function; so does x * HardSigmoid(x) of the right slope.
/// - The functions that make up GELU with Erf become one; so do the products and the softmax of an attention.
/// - A product with a constant matrix becomes a linear layer, which takes in its bias, a residual and a leaky ReLU.
/// - A scale and shift per channel (BatchNormalization, arithmetic with constants) is folded into the convolution or
///   the normalisation before it.
/// - A leaky or plain ReLU becomes the slope of the operation before it.
/// - A sum with a convolution's output is added in the convolution.
struct GraphFusion {
    var graph: BoundGraph
    private var readers: [Int]
    /// The operation that produces each value.
    private var producers: [Int?]
    /// Operations that were merged into others, or whose output nothing reads.
    private var removedOperations: Set<Int> = []

    static func fused(_ graph: BoundGraph) -> BoundGraph {
        var fusion = GraphFusion(graph)
        fusion.removeUnread()
        fusion.each { $0.mergeGroupNormalisation($1) }
        fusion.each { $0.mergeProductWithSigmoid($1) }
        fusion.each { $0.mergeGelu($1) }
        fusion.each { $0.mergeAttention($1) }
        fusion.each { $0.mergeLinear($1) }
        fusion.each { $0.mergeIntoLinear($1) }
        fusion.each { $0.mergeAffine($1) }
        fusion.each { $0.mergeActivation($1) }
        fusion.each { $0.mergeResidual($1) }
        fusion.each { $0.mergeActivation($1) }
        return fusion.result
    }

    private init(_ graph: BoundGraph) {
        self.graph = graph
        readers = graph.readerCounts
        producers = [Int?](repeating: nil, count: graph.shapes.count)
        for (index, operation) in graph.operations.enumerated() { producers[operation.output] = index }
    }

    private mutating func each(_ body: (inout GraphFusion, Int) -> Void) {
        for index in graph.operations.indices where !removedOperations.contains(index) { body(&self, index) }
        removeUnread()
    }

    private var result: BoundGraph {
        var result = graph
        result.operations = graph.operations.indices.filter { !removedOperations.contains($0) }.map {
            graph.operations[$0]
        }
        return result
    }

    /// The remaining operation that produces a value with only one reader.
    func soleProducer(_ value: Int) -> Int? {
        guard readers[value] == 1, let producer = producers[value], !removedOperations.contains(producer) else {
            return nil
        }
        return producer
    }

    /// Removes operations whose output nothing reads, from the last to the first: the inputs of a removed one may have lost their
    /// last reader.
    mutating func removeUnread() {
        for index in graph.operations.indices.reversed() where !removedOperations.contains(index) {
            if readers[graph.operations[index].output] == 0 { remove(index) }
        }
    }

    /// An operation that stays in the list until ``result``, so that indices stay valid.
    mutating func remove(_ index: Int) {
        removedOperations.insert(index)
        for input in graph.operations[index].inputs { readers[input] -= 1 }
    }

    /// Replaces operation `last` by `kind`, which reads `inputs`; the operations `merged` are removed.
    mutating func replace(_ last: Int, with kind: Operation.Kind, inputs: [Int], title: String) {
        for input in inputs { readers[input] += 1 }
        for input in graph.operations[last].inputs { readers[input] -= 1 }
        graph.operations[last].kind = kind
        graph.operations[last].inputs = inputs
        graph.operations[last].title = title
    }

    // MARK: The patterns; each receives the last operation of its pattern

    private mutating func mergeGroupNormalisation(_ index: Int) {
        let last = graph.operations[index]
        guard case .reshape = last.kind, let middle = soleProducer(last.inputs[0]),
            case .normalise(let inner) = graph.operations[middle].kind, inner.slope == 1,
            let first = soleProducer(graph.operations[middle].inputs[0]), case .reshape = graph.operations[first].kind
        else { return }
        let source = graph.operations[first].inputs[0]
        // The first reshape makes one channel of each group; the second one restores the shape.
        let (shape, grouped) = (graph.shapes[source], graph.shapes[graph.operations[middle].output])
        guard graph.shapes[last.output] == shape, (3...5).contains(shape.count), grouped[0] == shape[0],
            inner.groups == grouped[1], shape[1] % grouped[1] == 0
        else { return }
        let size = shape[1] / grouped[1]
        var parameters = inner
        parameters.scale = (0..<shape[1]).map { inner.scale[$0 / size] }
        parameters.shift = (0..<shape[1]).map { inner.shift[$0 / size] }
        replace(index, with: .normalise(parameters), inputs: [source], title: graph.operations[middle].title)
    }

    private mutating func mergeProductWithSigmoid(_ index: Int) {
        let operation = graph.operations[index]
        guard case .binary(Int32(NK_BINARY_MUL)) = operation.kind else { return }
        for side in 0..<2 {
            let (x, gate) = (operation.inputs[side], operation.inputs[1 - side])
            guard let producer = soleProducer(gate), case .unary(let inner) = graph.operations[producer].kind,
                graph.operations[producer].inputs == [x]
            else { continue }
            // HardSwish is x * max(0, min(1, x / 6 + 0.5)).
            let isHard =
                inner.kind == Int32(NK_UNARY_HARD_SIGMOID) && inner.second == 0.5 && abs(inner.first - 1 / 6) < 1e-7
            guard inner.kind == Int32(NK_UNARY_SIGMOID) || isHard else { continue }
            let kind = Int32(isHard ? NK_UNARY_HARD_SWISH : NK_UNARY_SILU)
            replace(index, with: .unary(Operation.Unary(kind: kind)), inputs: [x], title: operation.title)
            removeUnread()
            return
        }
    }

    /// A scale and shift after a linear operation are another linear operation: they go into its weights.
    private mutating func mergeAffine(_ index: Int) {
        let operation = graph.operations[index]
        guard case .channelAffine(let scale, let shift, let slope) = operation.kind,
            let producer = soleProducer(operation.inputs[0])
        else { return }
        let before = graph.operations[producer]
        let merged: Operation.Kind
        switch before.kind {
        // With a residual, the scale would have to apply to that, too.
        case .convolution(var parameters) where parameters.slope == 1 && before.inputs.count == 1:
            parameters.multiply(by: scale)
            let bias = parameters.bias ?? [Float](repeating: 0, count: scale.count)
            parameters.bias = bias.indices.map { bias[$0] * scale[$0] + shift[$0] }
            parameters.slope = slope
            merged = .convolution(parameters)
        case .normalise(var parameters) where parameters.slope == 1:
            parameters.scale = scale.indices.map { parameters.scale[$0] * scale[$0] }
            parameters.shift = scale.indices.map { parameters.shift[$0] * scale[$0] + shift[$0] }
            parameters.slope = slope
            merged = .normalise(parameters)
        case .channelAffine(let firstScale, let firstShift, let firstSlope) where firstSlope == 1:
            merged = .channelAffine(
                scale: scale.indices.map { firstScale[$0] * scale[$0] },
                shift: scale.indices.map { firstShift[$0] * scale[$0] + shift[$0] },
                slope: slope
            )
        default: return
        }
        replace(index, with: merged, inputs: before.inputs, title: before.title)
        remove(producer)
    }

    /// A leaky ReLU with the slope of ONNX's `alpha` (0 for a plain one) after an operation that has none.
    private mutating func mergeActivation(_ index: Int) {
        let operation = graph.operations[index]
        guard case .unary(let function) = operation.kind, function.kind == Int32(NK_UNARY_LEAKY),
            let producer = soleProducer(operation.inputs[0])
        else { return }
        let before = graph.operations[producer]
        let merged: Operation.Kind
        switch before.kind {
        case .convolution(var parameters) where parameters.slope == 1:
            parameters.slope = function.first
            merged = .convolution(parameters)
        case .normalise(var parameters) where parameters.slope == 1:
            parameters.slope = function.first
            merged = .normalise(parameters)
        case .channelAffine(let scale, let shift, let slope) where slope == 1:
            merged = .channelAffine(scale: scale, shift: shift, slope: function.first)
        case .sum(let slope) where slope == 1: merged = .sum(slope: function.first)
        default: return
        }
        replace(index, with: merged, inputs: before.inputs, title: before.title)
        remove(producer)
    }

    /// The addition moves into the convolution that computes one of the operands.
    private mutating func mergeResidual(_ index: Int) {
        let operation = graph.operations[index]
        guard case .sum(let slope) = operation.kind, operation.inputs[0] != operation.inputs[1] else { return }
        for side in 0..<2 {
            guard let producer = soleProducer(operation.inputs[side]),
                case .convolution(var parameters) = graph.operations[producer].kind, parameters.slope == 1,
                graph.operations[producer].inputs.count == 1, !isNormalised(operation.inputs[1 - side])
            else { continue }
            parameters.slope = slope
            let inputs = [graph.operations[producer].inputs[0], operation.inputs[1 - side]]
            replace(index, with: .convolution(parameters), inputs: inputs, title: graph.operations[producer].title)
            remove(producer)
            return
        }
    }

    /// A normalised value is cheaper to add separately, while it is being normalised.
    private func isNormalised(_ value: Int) -> Bool {
        guard let producer = producers[value], !removedOperations.contains(producer) else { return false }
        if case .normalise = graph.operations[producer].kind { return true }
        return false
    }
}

extension Operation.Convolution {
    /// Multiplies each output channel's weights.
    mutating func multiply(by scale: [Float]) {
        guard !weights.isEmpty else { return }
        let taps = kernel.reduce(1, *)
        let perGroup = outputChannels / groups
        // Weights with one output channel that are adjacent: [cout][cin / groups][taps]; transposed, [cin][cout / groups][taps].
        let run = transposed ? taps : inputChannels / groups * taps
        for (number, first) in Swift.stride(from: 0, to: weights.count, by: run).enumerated() {
            let group = number / perGroup / (inputChannels / groups)
            let factor = scale[transposed ? group * perGroup + number % perGroup : number]
            for place in first..<first + run { weights[place] *= factor }
        }
    }
}
