/// An input or output of a network.
public struct TensorDescription: Sendable, Equatable {
    public let name: String
    /// Extents in ONNX order (N, C, D, H, W); nil where the file leaves an extent open.
    public let shape: [Int?]

    public init(name: String, shape: [Int?]) {
        self.name = name
        self.shape = shape
    }
}
