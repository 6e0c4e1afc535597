internal import NocturneCore

/// Converts the operations of a graph to steps: assigns a buffer and a layout to every value, and decides which values
/// are never stored.
///
/// A transposition is only another set of strides, and so is a reshape where strides can express it; the elements move
/// when an operation needs them in an order.
///
/// Activations of rank 3 to 5 are kept channels-last for convolutions, pooling and similar operators; operators that
/// depend on ONNX's order get a conversion first. A normalised value whose readers can apply scale, shift and slope
/// themselves (convolutions, sums) is never stored, and neither is a concatenation of channels that only convolutions
/// read.
struct Lowering {
    /// Memory that steps read and write.
    struct Buffer {
        var place: ExecutionPlan.Place
        var bytes: Int
    }

    /// A dense tensor: its buffer, and its stride along each axis (in ONNX's order).
    struct Stored {
        var buffer: Int
        var strides: [Int]
        /// Whether it is bfloat16, not float32: only where convolutions alone read it.
        var isBfloat16 = false
    }

    /// Channels of a channels-last tensor, with the function that readers must apply: leaky(x * scale[c] + shift[c],
    /// slope).
    struct Piece {
        var stored: Stored
        var channels: Int
        /// `[batch][2][channels]` floats: scales, then shifts.
        var affine: Int?
        var slope: Float = 1
    }

    /// Where a value is.
    enum ValueStorage {
        /// In a buffer.
        case stored(Stored)
        /// In pieces with functions that the readers apply; never written as a whole.
        case lazy([Piece])
    }

    let graph: BoundGraph
    let path: String
    let arithmetic: ConvolutionArithmetic
    private(set) var steps: [any Step] = []
    /// Of the steps.
    private(set) var titles: [String] = []
    /// Of the operation that is being converted.
    private var title = ""
    var buffers: [Buffer] = []
    var storages: [ValueStorage?]
    /// The value in the other layout, where that was needed too.
    var copies: [Int: Stored] = [:]
    /// Merged sums and sums of squares, `[batch][2][channels]` doubles, of values whose producer computed them.
    var statistics: [Int: Int] = [:]
    /// The operations that read a value, and the input number.
    private(set) var readers: [[(operation: Int, input: Int)]]
    /// The number of readers of each value that have not been processed yet.
    private var remainingReaders: [Int]
    /// The values that a buffer contains, completely or in part.
    private var occupants: [Int: Set<Int>] = [:]

    init(_ graph: BoundGraph, path: String, arithmetic: ConvolutionArithmetic) {
        self.graph = graph
        self.arithmetic = arithmetic
        self.path = path
        storages = [ValueStorage?](repeating: nil, count: graph.shapes.count)
        readers = [[(operation: Int, input: Int)]](repeating: [], count: graph.shapes.count)
        for (index, operation) in graph.operations.enumerated() {
            for (input, value) in operation.inputs.enumerated() { readers[value].append((index, input)) }
        }
        remainingReaders = graph.readerCounts
    }

    /// Converts all operations, in the order of the graph. Inputs are the first buffers, outputs the last ones.
    mutating func lower() throws {
        for (index, input) in graph.inputs.enumerated() {
            let shape = graph.shapes[input.value]
            buffers.append(Buffer(place: .input(index), bytes: 0))
            recordStorage(input.value, .stored(Stored(buffer: buffers.count - 1, strides: Extents.strides(shape))))
        }
        for (value, tensor) in graph.constants where remainingReaders[value] > 0 {
            let buffer = try constant(tensor.floats)
            recordStorage(value, .stored(Stored(buffer: buffer, strides: Extents.strides(tensor.shape))))
        }
        for operation in graph.operations {
            title = operation.title
            try lower(operation)
            // Only now, because ``canOverwrite(_:by:)`` counts the operation itself among the readers.
            for input in operation.inputs { remainingReaders[input] -= 1 }
        }
        // Outputs are copied to the caller's memory in ONNX's order.
        for (index, output) in graph.outputs.enumerated() {
            buffers.append(Buffer(place: .output(index), bytes: 0))
            let shape = graph.shapes[output.value]
            let target = Stored(buffer: buffers.count - 1, strides: Extents.strides(shape))
            append(copyStep(from: try stored(output.value), to: target, shape: shape), title: "output \(output.name)")
        }
    }

    private mutating func lower(_ operation: Operation) throws {
        switch operation.kind {
        case .convolution(let parameters): try lowerConvolution(operation, parameters)
        case .normalise(let parameters): try lowerNormalisation(operation, parameters)
        case .channelAffine(let scale, let shift, let slope):
            try lowerAffine(operation, scale: scale, shift: shift, slope: slope)
        case .sum(let slope): try lowerSum(operation, slope: slope)
        case .unary(let function): try lowerUnary(operation, function)
        case .binary(let kind): try lowerBinary(operation, kind)
        case .concatenate(let axis): try lowerConcatenation(operation, axis: axis)
        case .pool(let parameters): try lowerPool(operation, parameters)
        case .channelMeans: try lowerChannelMeans(operation)
        case .alongAxes(let axes, let function): try lowerAlongAxes(operation, axes, function)
        case .interpolate(let axes): try lowerInterpolation(operation, axes)
        case .move(let parameters): try lowerMove(operation, parameters)
        case .reshape: try lowerReshape(operation)
        case .matrixProduct(let parameters): try lowerProduct(operation, parameters)
        case .linear(let parameters): try lowerLinear(operation, parameters)
        case .attention(let parameters): try lowerAttention(operation, parameters)
        case .indexed(let kind): try lowerIndexed(operation, kind)
        }
    }

    // MARK: Buffers

    mutating func workspace(bytes: Int) -> Int {
        buffers.append(Buffer(place: .workspace, bytes: bytes))
        return buffers.count - 1
    }

    mutating func workspace(floatsOf shape: [Int]) -> Int { workspace(bytes: shape.reduce(4, *)) }

    mutating func constant(_ values: [Float]) throws -> Int {
        buffers.append(Buffer(place: .constant(try FrozenVoxels(values)), bytes: 0))
        return buffers.count - 1
    }

    /// - Parameter title: for messages and measurements; nil for that of the operation.
    mutating func append(_ step: any Step, title: String? = nil) {
        steps.append(step)
        titles.append(title ?? self.title)
    }

    /// Adds the step that computes the result of an operation.
    mutating func append(_ step: any Step, resultOf operation: Operation, in target: Stored) {
        append(step)
        recordStorage(operation.output, .stored(target))
    }

    /// Records where a value is stored from now on.
    mutating func recordStorage(_ value: Int, _ storage: ValueStorage) {
        storages[value] = storage
        switch storage {
        case .stored(let stored): occupants[stored.buffer, default: []].insert(value)
        case .lazy(let pieces):
            for piece in pieces { occupants[piece.stored.buffer, default: []].insert(value) }
        }
    }

    /// Whether an operation may write its result over a buffer it reads, because no later operation needs the content.
    func canOverwrite(_ buffer: Int, by operation: Operation) -> Bool {
        guard case .workspace = buffers[buffer].place else { return false }
        return (occupants[buffer] ?? []).allSatisfy { value in
            remainingReaders[value] == operation.inputs.count { $0 == value }
        }
    }

    // MARK: Layouts

    /// Strides of `[N][D][H][W][C]` for a shape in ONNX's order `[N, C, D, H, W]`.
    static func channelsLastStrides(_ shape: [Int]) -> [Int] {
        var strides = [Int](repeating: 1, count: shape.count)
        var step = shape[1]
        for axis in stride(from: shape.count - 1, through: 2, by: -1) {
            strides[axis] = step
            step *= shape[axis]
        }
        strides[0] = step
        return strides
    }

    /// Whether two sets of strides lead to the same offsets.
    static func same(_ a: [Int], _ b: [Int], _ shape: [Int]) -> Bool {
        shape.indices.allSatisfy { shape[$0] == 1 || a[$0] == b[$0] }
    }

    /// A value in memory, in the layout it has.
    mutating func stored(_ value: Int) throws -> Stored {
        switch storages[value] {
        case .stored(let stored)?: return stored
        case .lazy(let pieces)?:
            let result = try materialised(pieces, shape: graph.shapes[value])
            recordStorage(value, .stored(result))
            return result
        case nil:
            throw ModelFormatError.malformed(path: path, reason: "a value is read before it is computed")
        }
    }

    /// A value in ONNX's order.
    mutating func plain(_ value: Int) throws -> Stored {
        try layout(value, strides: Extents.strides(graph.shapes[value]))
    }

    /// A value of rank 3 to 5 as channels-last.
    mutating func channelsLast(_ value: Int) throws -> Stored {
        try layout(value, strides: Self.channelsLastStrides(graph.shapes[value]))
    }

    private mutating func layout(_ value: Int, strides: [Int]) throws -> Stored {
        let stored = try stored(value)
        let shape = graph.shapes[value]
        if Self.same(stored.strides, strides, shape) {
            return Stored(buffer: stored.buffer, strides: strides, isBfloat16: stored.isBfloat16)
        }
        // A conversion is made once, however many operations need it.
        if let copy = copies[value], Self.same(copy.strides, strides, shape) { return copy }
        let copy = Stored(buffer: workspace(floatsOf: shape), strides: strides)
        append(copyStep(from: stored, to: copy, shape: shape), title: "layout")
        copies[value] = copy
        occupants[copy.buffer, default: []].insert(value)
        return copy
    }
}
