/// Extents and strides, in elements.
enum Extents {
    /// The maximum number of elements of a tensor: more than any realistic network needs, and small enough that
    /// products of extents cannot overflow.
    static let maximumCount = 1 << 36

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
