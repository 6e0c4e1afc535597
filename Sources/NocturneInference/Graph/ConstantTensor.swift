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

    /// The elements at the given offsets, with a new shape.
    func gathered(shape: [Int], from places: [Int]) -> ConstantTensor {
        switch elements {
        case .floats(let values): ConstantTensor(shape: shape, floats: places.map { values[$0] })
        case .integers(let values): ConstantTensor(shape: shape, integers: places.map { values[$0] })
        }
    }
}

/// Extents and strides, in elements.
enum Extents {
    /// The product of the extents; nil when it overflows, or when the product of the nonzero extents would overflow:
    /// strides are products of some of them.
    static func count(_ shape: [Int]) -> Int? {
        var product = 1
        for extent in shape {
            guard extent >= 0 else { return nil }
            let (next, overflow) = product.multipliedReportingOverflow(by: max(extent, 1))
            if overflow { return nil }
            product = next
        }
        return shape.contains(0) ? 0 : product
    }

    /// C-order strides.
    static func strides(_ shape: [Int]) -> [Int] {
        var strides = [Int](repeating: 1, count: shape.count)
        for axis in stride(from: shape.count - 2, through: 0, by: -1) {
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        }
        return strides
    }

    /// The common shape of two operands under ONNX's (NumPy's) broadcasting; nil when there is none.
    static func broadcast(_ first: [Int], _ second: [Int]) -> [Int]? {
        let rank = max(first.count, second.count)
        let a = [Int](repeating: 1, count: rank - first.count) + first
        let b = [Int](repeating: 1, count: rank - second.count) + second
        var shape: [Int] = []
        for (left, right) in zip(a, b) {
            guard left == right || left == 1 || right == 1 else { return nil }
            shape.append(left == 1 ? right : left)
        }
        return shape
    }

    /// Strides that read an operand as if it had `shape`: zero along repeated axes.
    static func broadcastStrides(_ operand: [Int], _ strides: [Int], to shape: [Int]) -> [Int] {
        let missing = shape.count - operand.count
        return shape.indices.map { axis in
            axis < missing || operand[axis - missing] == 1 ? 0 : strides[axis - missing]
        }
    }

    /// For every element of `shape` in C order, the sum of index times stride.
    static func places(_ shape: [Int], strides: [Int]) -> [Int] {
        if shape.contains(0) { return [] }
        var places = [0]
        for axis in shape.indices {
            var next: [Int] = []
            next.reserveCapacity(places.count * shape[axis])
            for place in places { for index in 0..<shape[axis] { next.append(place + index * strides[axis]) } }
            places = next
        }
        return places
    }
}
