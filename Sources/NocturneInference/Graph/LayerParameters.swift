internal import CNocturneKernels

extension Operation.Kind {
    /// Whether the result is of integers when all inputs are.
    var keepsIntegers: Bool {
        switch self {
        case .move, .reshape, .concatenate, .indexed, .channelAffine: true
        case .sum(let slope): slope == 1
        case .binary(let kind): Int(kind) != NK_BINARY_DIV && Int(kind) != NK_BINARY_POW
        case .unary(let function):
            [NK_UNARY_NEG, NK_UNARY_ABS, NK_UNARY_CLIP, NK_UNARY_NOT, NK_UNARY_TRUNCATE].contains(Int(function.kind))
        case .alongAxes(_, .reduce(let kind)):
            [NK_REDUCE_SUM, NK_REDUCE_MAX, NK_REDUCE_MIN, NK_REDUCE_PRODUCT].contains(Int(kind))
        default: false
        }
    }
}

extension Operation {
    /// C = alpha * A B + beta * D over the last two axes; the preceding axes are broadcast.
    struct MatrixProduct: Sendable {
        var transposeA = false
        var transposeB = false
        var alpha: Float = 1
    }

    /// softmax(scale * query key + addends) value over the last two axes.
    struct Attention: Sendable {
        /// Whether the last two axes of an operand are exchanged.
        var transposeQuery = false
        var transposeKey = false
        var transposeValue = false
        var scale: Float
        /// The shape to which the score of each addend is broadcast: other batch axes than those of the operands, with the
        /// same product.
        var addendShapes: [[Int]] = []
    }

    /// A function of the elements along some axes, which are a single one but for reductions and normalisations.
    enum AxisFunction: Sendable {
        /// One of NK_REDUCE_*; the axes keep extent 1.
        case reduce(Int32)
        case softmax(logarithm: Bool)
        /// (x - mean) / sqrt(variance + epsilon) * scale + shift, where mean and variance are over all axes from the first one
        /// on; scale and shift per element of these axes.
        case normalise(scale: [Float], shift: [Float]?, epsilon: Float)
        /// The index of the largest or smallest element; `last`: which of several equal elements counts.
        case argument(smallest: Bool, last: Bool)
        /// The largest or smallest elements in order, or their indices.
        case topK(count: Int, smallest: Bool, indices: Bool)
        case runningSum(exclusive: Bool, reversed: Bool)
    }

    /// Reading or writing at indices, which are an operand.
    enum Indexed: Sendable {
        enum Reduction: String, Sendable {
            case none, add, mul, min, max
        }

        /// Inputs: data, indices.
        case gatherElements(axis: Int)
        /// `extents`: of the axes that an index has a number for.
        case gatherSlices(batch: Int, extents: [Int])
        /// Inputs: data, indices, updates.
        case scatterElements(axis: Int, Reduction)
        case scatterSlices(extents: [Int], Reduction)
    }
}
