/// The kinds of steps of a network, as a profile adds them up.
public enum StepKind: String, Sendable, Codable, CaseIterable, CustomStringConvertible {
    case convolution
    case depthwiseConvolution
    case transposedConvolution
    case linearLayer
    case matrixProduct
    case attention
    /// Sums of channels, and their application where a reader cannot apply them itself.
    case normalisation
    case elementwise
    case pooling
    case interpolation
    /// Sums, means, extremes, softmax and similar functions along axes.
    case reduction
    /// Changes of layout, crops, padding, stored concatenations.
    case copy
    /// Reading and writing at indices computed at run time.
    case indexing

    /// For people.
    public var description: String {
        switch self {
        case .depthwiseConvolution: "depthwise convolution"
        case .transposedConvolution: "transposed convolution"
        case .linearLayer: "linear layer"
        case .matrixProduct: "matrix product"
        case .elementwise: "element-wise"
        default: rawValue
        }
    }

    /// Whether the kernels of convolutions compute it.
    package var isConvolution: Bool {
        switch self {
        case .convolution, .depthwiseConvolution, .transposedConvolution, .linearLayer: true
        default: false
        }
    }
}

/// What a step computes and moves in one run, as its shapes and its method determine it.
///
/// Operations are those of products: 2 for a multiply-add. Steps without products have none. Bytes are those of every
/// element of inputs, outputs and packed weights, once each; what a step reads again, or keeps in scratch memory, and
/// tables of scales and shifts, are not counted.
package struct StepWork: Sendable, Equatable {
    /// The operands of products, each with its own peak.
    package enum Operands: Sendable {
        case float32, bfloat16
        /// bfloat16 on matrix tiles, whose peak is not measured.
        case tiles
    }

    /// Where a profile adds it.
    package var kind: StepKind
    /// The method of a convolution, such as "minimal 4x4".
    package var method: String?
    /// Operations of the direct method.
    package var operations = 0.0
    /// Operations of the products that are computed: fewer with minimal filtering, more where channels are padded.
    package var products = 0.0
    /// Operations of the transforms of minimal filtering, in float32.
    package var transforms = 0.0
    /// Of the products.
    package var operands = Operands.float32
    /// Read and written, once each.
    package var bytes = 0.0
    /// The parts that threads take one by one.
    package var parts = 1

    /// What a part of a loop over elements reads and writes, in floats.
    package static let elementsOfPart = 1 << 16

    /// Without operations and bytes at first.
    package init(_ kind: StepKind, method: String? = nil) {
        self.kind = kind
        self.method = method
    }

    /// A step without products that reads and writes `elements` elements of 4 bytes.
    package static func traffic(_ kind: StepKind, elements: Int) -> StepWork {
        var work = StepWork(kind)
        work.bytes = 4 * Double(elements)
        work.parts = max(1, elements / elementsOfPart)
        return work
    }

    /// - Parameters:
    ///   - input, output: shapes, `[batch, channels, …]`.
    ///   - hasResidual: whether a tensor of the output's shape is added.
    ///   - packedBytes: the packed weights.
    package static func convolutionBytes(input: [Int], output: [Int], hasResidual: Bool, packedBytes: Int) -> Double {
        let elements = input.reduce(1, *) + output.reduce(1, *) * (hasResidual ? 2 : 1)
        return Double(4 * elements + packedBytes)
    }

    /// `count` products of m × k by k × n matrices, of `lefts` and `rights` different operands.
    package static func matrixProducts(m: Int, n: Int, k: Int, count: Int, lefts: Int, rights: Int) -> StepWork {
        var work = traffic(.matrixProduct, elements: lefts * m * k + rights * k * n + count * m * n)
        work.operations = 2 * Double(m) * Double(n) * Double(k) * Double(count)
        work.products = work.operations
        return work
    }

    /// `count` attentions of queries over keys of length `depth`, with values of length `columns`. Scores are not
    /// stored. `added`: elements of the tensors added to the scores.
    package static func attention(queries: Int, keys: Int, depth: Int, columns: Int, count: Int, added: Int) -> StepWork
    {
        var work = traffic(.attention, elements: count * (queries + keys) * (depth + columns) + added)
        work.operations = 2 * Double(count) * Double(queries) * Double(keys) * Double(depth + columns)
        work.products = work.operations
        return work
    }

    /// The elements of an operand that a loop over `dims` reads: those along axes with a stride of 0 only once. `tabled`
    /// axes are read by an index table, whatever their stride.
    package static func elementsRead(dims: [Int], strides: [Int], tabled: [Bool] = []) -> Int {
        dims.indices.reduce(1) { count, axis in
            strides[axis] != 0 || (axis < tabled.count && tabled[axis]) ? count * dims[axis] : count
        }
    }
}
