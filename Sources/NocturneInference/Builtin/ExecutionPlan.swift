internal import NocturneCore

/// A network for one set of input shapes: steps with their packed weights, and the position of every buffer.
final class ExecutionPlan: Sendable {
    let inputs: [(name: String, shape: [Int])]
    let outputs: [(name: String, shape: [Int])]
    let steps: [any Step]
    /// Of the steps, for messages and measurements.
    let titles: [String]
    let places: [Place]
    let layout: WorkspacePlanner.Layout
    /// Scratch bytes per thread.
    let scratchBytes: Int
    /// Bytes of the weights packed for the steps, and of constants.
    let packedBytes: Int

    init(_ graph: NetworkGraph, inputShapes: [String: [Int]], arithmetic: ConvolutionArithmetic) throws {
        let bound = GraphFusion.fused(try GraphBinder.bind(graph, inputShapes: inputShapes))
        var lowering = Lowering(bound, path: graph.path, arithmetic: arithmetic)
        try lowering.lower()
        inputs = bound.inputs.map { ($0.name, bound.shapes[$0.value]) }
        outputs = bound.outputs.map { ($0.name, bound.shapes[$0.value]) }
        (steps, titles) = (lowering.steps, lowering.titles)
        places = lowering.buffers.map(\.place)

        var spans = lowering.buffers.map { buffer in
            var bytes = 0
            if case .workspace = buffer.place { bytes = buffer.bytes }
            return WorkspacePlanner.Span(bytes: bytes, first: Int.max, last: -1)
        }
        for (index, step) in steps.enumerated() {
            for buffer in step.reads + step.writes {
                spans[buffer].first = min(spans[buffer].first, index)
                spans[buffer].last = max(spans[buffer].last, index)
            }
        }
        for index in spans.indices where spans[index].last < 0 {
            spans[index].bytes = 0
            spans[index].first = 0
        }
        guard let layout = WorkspacePlanner.layout(spans) else {
            throw ModelFormatError.shapeMismatch(
                network: graph.path,
                reason: "the shape needs more memory than can be addressed"
            )
        }
        self.layout = layout
        let largest = steps.map(\.scratchBytes).max() ?? 0
        scratchBytes = (largest + 4095) / 4096 * 4096
        packedBytes =
            steps.reduce(0) { $0 + $1.packedBytes }
            + places.reduce(0) { total, place in
                if case .constant(let values) = place { return total + values.byteCount }
                return total
            }
    }

    func workspaceBytes(width: Int) -> Int {
        max(layout.bytes, 1) + max(scratchBytes, 1) * max(width, 1)
    }
}
