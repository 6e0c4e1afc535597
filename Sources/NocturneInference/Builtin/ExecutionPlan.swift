internal import NocturneCore

/// A network for one set of input shapes: steps with their packed weights, and the position of every buffer.
final class ExecutionPlan: Sendable {
    let inputs: [(name: String, shape: [Int])]
    let outputs: [(name: String, shape: [Int])]
    let steps: [any Step]
    /// Of the steps, for messages and measurements.
    let titles: [String]
    let places: [Place]
    /// With outputs that overlap a source of their layer, and without.
    private let overlapping, separate: WorkspacePlanner.Layout
    /// Scratch bytes per thread.
    let scratchBytes: Int
    /// Bytes of the weights packed for the steps, and of constants.
    let packedBytes: Int

    /// Binds the shapes, fuses operations, packs the weights and places the buffers.
    ///
    /// - Throws: ``ModelFormatError`` for a graph that does not accept the shapes, or that the kernels cannot run;
    ///   ``AllocationError`` where there is no memory for constants.
    init(_ graph: NetworkGraph, inputShapes: [String: [Int]], arithmetic: ConvolutionArithmetic) throws {
        let bound = GraphFusion.fused(try GraphBinder.bind(graph, inputShapes: inputShapes))
        var lowering = Lowering(bound, path: graph.path, arithmetic: arithmetic)
        try lowering.lower()
        inputs = bound.inputs.map { ($0.name, bound.shapes[$0.value]) }
        outputs = bound.outputs.map { ($0.name, bound.shapes[$0.value]) }
        (steps, titles) = (lowering.steps, lowering.titles)
        places = lowering.buffers.map(\.place)

        // Only buffers of the workspace take memory there: inputs and outputs are the caller's, and constants are stored with the
        // plan.
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
        // A buffer that no step uses has no time of use, and takes no memory.
        for index in spans.indices where spans[index].last < 0 {
            spans[index].bytes = 0
            spans[index].first = 0
        }
        // Of several the largest, and of equal ones that which is used first and is likely to be at the lowest place.
        let overlaps = steps.enumerated().compactMap { index, step in
            step.overlaps.filter { spans[$0.source].bytes > 0 && spans[$0.output].bytes > 0 }
                .filter { spans[$0.source].last == index && spans[$0.output].first == index }
                .max {
                    (spans[$0.source].bytes, spans[$1.source].first) < (spans[$1.source].bytes, spans[$0.source].first)
                }
        }
        guard let separate = WorkspacePlanner.layout(spans),
            let overlapping = WorkspacePlanner.layout(spans, overlaps: overlaps)
        else {
            throw ModelFormatError.shapeMismatch(
                network: graph.path,
                reason: "the shape needs more memory than can be addressed"
            )
        }
        // Largest first is a heuristic, which may need more memory with fewer restrictions.
        (self.separate, self.overlapping) = (separate, overlapping.bytes < separate.bytes ? overlapping : separate)
        // A thread runs one step at a time, so the largest of all steps is enough for it. In whole pages.
        let largest = steps.map(\.scratchBytes).max() ?? 0
        scratchBytes = (largest + 4095) / 4096 * 4096
        packedBytes =
            steps.reduce(0) { $0 + $1.packedBytes }
            + places.reduce(0) { total, place in
                if case .constant(let values) = place { return total + values.byteCount }
                return total
            }
    }

    /// Where the buffers of a session on `width` threads are. Many threads would wait for each other at the end of every slab.
    func layout(width: Int) -> WorkspacePlanner.Layout {
        width * 4 <= ConvolutionStep.smallestSlab ? overlapping : separate
    }

    /// The bytes of a session that runs on `width` threads: the buffers once, the scratch memory for every thread.
    func workspaceBytes(width: Int) -> Int {
        max(layout(width: width).bytes, 1) + max(scratchBytes, 1) * max(width, 1)
    }
}
