/// A graph bound to input shapes: all extents are known, and everything that depends only on constants has been
/// computed.
///
/// Values are numbered; ``Operation``s are in execution order and each produces one value.
struct BoundGraph: Sendable {
    var shapes: [[Int]] = []
    /// Values that are known: operands of operations other than weights.
    var constants: [Int: ConstantTensor] = [:]
    var operations: [Operation] = []
    var inputs: [(name: String, value: Int)] = []
    var outputs: [(name: String, value: Int)] = []

    /// The number of operations that read each value; an output of the graph counts as one more.
    var readerCounts: [Int] {
        var counts = [Int](repeating: 0, count: shapes.count)
        for operation in operations { for input in operation.inputs { counts[input] += 1 } }
        for output in outputs { counts[output.value] += 1 }
        return counts
    }
}

struct Operation: Sendable {
    enum Kind: Sendable {
        /// Inputs: x, and, if there is a second one, the value that is added to the result.
        case convolution(Convolution)
        case normalise(Normalisation)
        /// y = leaky(x * scale[c] + shift[c]).
        case channelAffine(scale: [Float], shift: [Float], slope: Float)
        /// y = leaky(a + b), both with the shape of the output.
        case sum(slope: Float)
        case unary(Unary)
        /// One of NK_BINARY_*.
        case binary(Int32)
        case concatenate(axis: Int)
        case pool(Pool)
        /// Means over all axes but the first two; the other axes keep extent 1.
        case channelMeans
        case alongAxes([Int], AxisFunction)
        case interpolate([InterpolationAxis])
        case move(Move)
        /// The same elements in C order with another shape.
        case reshape
        case matrixProduct(MatrixProduct)
        /// A convolution without a window, over the last axis of x. Inputs: x, and, if there is a second one, the value that is added
        /// to the result.
        case linear(Convolution)
        /// Inputs: query, key, value, and the addends of the scores.
        case attention(Attention)
        case indexed(Indexed)
    }

    var kind: Kind
    var inputs: [Int]
    var output: Int
    /// Used in messages.
    var title: String
}

extension Operation {
    struct Convolution: Sendable {
        /// In ONNX's layout: [cout][cin / groups][kernel], transposed [cin][cout / groups][kernel].
        var weights: [Float]
        var bias: [Float]?
        /// Per spatial axis.
        var kernel: [Int]
        var stride: [Int]
        var padBefore: [Int]
        var dilation: [Int]
        var groups: Int
        var inputChannels: Int
        var outputChannels: Int
        var transposed: Bool
        var slope: Float = 1
    }

    /// Instance and group normalisation: mean and variance over space and the channels of a group.
    struct Normalisation: Sendable {
        var groups: Int
        /// Per channel.
        var scale: [Float]
        var shift: [Float]
        var epsilon: Float
        var slope: Float = 1
    }

    struct Unary: Sendable {
        var kind: Int32
        var first: Float = 0
        var second: Float = 0
    }

    struct Pool: Sendable {
        var kernel: [Int]
        var stride: [Int]
        var padBefore: [Int]
        /// Input extent including padding on both sides.
        var padded: [Int]
        var dilation: [Int]
        /// 0 maximum, 1 average over the elements inside the input, 2 average over the padding too.
        var mode: Int32
    }

    /// For each output index of an axis, the two input indices between which it is interpolated.
    struct InterpolationAxis: Sendable {
        var low: [Int32]
        var high: [Int32]
        /// The weight of `high`.
        var weight: [Float]
    }

    /// Output element o is input element i with i[axes[d].input] = axes[d].map(o[d]), or the fill value.
    struct Move: Sendable {
        enum Map: Sendable {
            case line(start: Int, step: Int)
            /// Input index for each output index; -1 is the fill value.
            case table([Int])
        }

        struct Axis: Sendable {
            /// The input axis that this output axis traverses; nil for repetition.
            var input: Int?
            var map: Map
        }

        var axes: [Axis]
        /// Indices of input axes that no output axis traverses.
        var fixed: [Int: Int] = [:]
        var fill: Float = 0

        static func identity(_ rank: Int) -> Move {
            Move(axes: (0..<rank).map { Axis(input: $0, map: .line(start: 0, step: 1)) })
        }
    }
}
