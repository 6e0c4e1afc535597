/// Float values in C order (last axis fastest).
public struct Tensor: Sendable, Equatable {
    public let shape: [Int]
    public var values: [Float]

    /// - Precondition: the number of values matches the shape.
    public init(shape: [Int], values: [Float]) {
        precondition(shape.reduce(1, *) == values.count, "values do not fill the shape")
        self.shape = shape
        self.values = values
    }
}
