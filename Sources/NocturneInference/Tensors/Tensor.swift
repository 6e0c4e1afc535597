/// Float values in C order (last axis fastest).
public struct Tensor: Sendable, Equatable {
    /// Extents in ONNX order (N, C, D, H, W).
    public let shape: [Int]
    /// As many as the extents multiply to.
    public var values: [Float]

    /// - Precondition: the number of values matches the shape.
    public init(shape: [Int], values: [Float]) {
        precondition(shape.reduce(1, *) == values.count, "values do not fill the shape")
        self.shape = shape
        self.values = values
    }

    /// The differences of values from those expected: the largest one relative to the largest value, and the root mean square
    /// relative to that of the values. Infinite where a value is NaN or infinite.
    ///
    /// Uses sums in double precision, so that small differences are not lost in a large patch.
    package static func relativeDifferences(
        _ found: some Sequence<Float>,
        _ expected: some Sequence<Float>
    ) -> (maximum: Double, rms: Double) {
        var largest = 0.0
        var largestDifference = 0.0
        var squares = 0.0
        var differenceSquares = 0.0
        for (one, other) in zip(found, expected) {
            let difference = Double(one) - Double(other)
            // If a value is NaN, the difference is infinite.
            guard difference.isFinite else { return (.infinity, .infinity) }
            largest = max(largest, abs(Double(other)))
            largestDifference = max(largestDifference, abs(difference))
            squares += Double(other) * Double(other)
            differenceSquares += difference * difference
        }
        func ratio(_ part: Double, _ whole: Double) -> Double { part == 0 ? 0 : whole == 0 ? .infinity : part / whole }
        return (ratio(largestDifference, largest), ratio(differenceSquares, squares).squareRoot())
    }
}

/// The name and the shape of an input or output of a network that is bound to shapes.
public typealias TensorPort = (name: String, shape: [Int])

/// An input or output of a network.
public struct TensorDescription: Sendable, Equatable {
    /// Unique among the inputs, and among the outputs, of a network.
    public let name: String
    /// Extents in ONNX order (N, C, D, H, W); nil where the file leaves an extent open.
    public let shape: [Int?]
    /// Of an output: what makes probabilities of its values at the end of the network; nil for logits and other values.
    public var activation: FinalActivation?

    /// - Parameter shape: nil for an extent that the file leaves open.
    public init(name: String, shape: [Int?]) {
        self.name = name
        self.shape = shape
    }
}

/// The precision of the arithmetic.
public enum InferencePrecision: String, Codable, Sendable, CaseIterable {
    /// float32 multiply-adds in a fixed order.
    case exact
    /// float32 precision: relative error of a layer at most 3e-6.
    case float32
    /// bfloat16 products, float32 sums.
    case bfloat16
}
