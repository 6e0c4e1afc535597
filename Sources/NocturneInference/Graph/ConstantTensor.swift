/// A tensor whose elements are known when the network is loaded: weights, shapes, indices.
///
/// ONNX's many element types are reduced to two: float32 and int64 (booleans are 0 and 1).
struct ConstantTensor: Sendable {
    enum Elements: Sendable {
        case floats([Float])
        case integers([Int64])
    }

    let shape: [Int]
    let elements: Elements

    init(shape: [Int], floats: [Float]) {
        precondition(shape.reduce(1, *) == floats.count, "elements do not fill the shape")
        self.shape = shape
        elements = .floats(floats)
    }

    init(shape: [Int], integers: [Int64]) {
        precondition(shape.reduce(1, *) == integers.count, "elements do not fill the shape")
        self.shape = shape
        elements = .integers(integers)
    }

    var count: Int {
        switch elements {
        case .floats(let values): values.count
        case .integers(let values): values.count
        }
    }

    var byteCount: Int {
        switch elements {
        case .floats(let values): values.count * 4
        case .integers(let values): values.count * 8
        }
    }

    /// The elements as float32, converted where they are integers.
    var floats: [Float] {
        switch elements {
        case .floats(let values): values
        case .integers(let values): values.map(Float.init)
        }
    }

    func floats(at index: Int) -> Float {
        switch elements {
        case .floats(let values): values[index]
        case .integers(let values): Float(values[index])
        }
    }

    /// The elements as integers; nil when they are floats.
    var integers: [Int]? {
        if case .integers(let values) = elements { return values.map(Int.init) }
        return nil
    }

    func reshaped(_ shape: [Int]) -> ConstantTensor {
        switch elements {
        case .floats(let values): ConstantTensor(shape: shape, floats: values)
        case .integers(let values): ConstantTensor(shape: shape, integers: values)
        }
    }

    /// The elements at the given offsets, with a new shape; `fill` at negative ones.
    func gathered(shape: [Int], from places: [Int], fill: Float = 0) -> ConstantTensor {
        switch elements {
        case .floats(let values):
            return ConstantTensor(shape: shape, floats: places.map { $0 < 0 ? fill : values[$0] })
        case .integers(let values):
            let whole = Int64(max(-9e18, min(9e18, fill)))
            return ConstantTensor(shape: shape, integers: places.map { $0 < 0 ? whole : values[$0] })
        }
    }
}
