extension ONNXReader {
    /// The supported element types of tensors in ONNX files, with their numbers in `TensorProto.DataType`.
    enum ElementType: Int32 {
        case float32 = 1
        case uint8 = 2
        case int8 = 3
        case uint16 = 4
        case int16 = 5
        case int32 = 6
        case int64 = 7
        case boolean = 9
        case float16 = 10
        case float64 = 11
        case bfloat16 = 16

        /// Whether computations with these values use float32.
        var isFloat: Bool {
            switch self {
            case .float32, .float16, .float64, .bfloat16: true
            case .uint8, .int8, .uint16, .int16, .int32, .int64, .boolean: false
            }
        }

        /// The type that an attribute of a node names.
        init?(attribute: Int) {
            guard let number = Int32(exactly: attribute) else { return nil }
            self.init(rawValue: number)
        }
    }
}
