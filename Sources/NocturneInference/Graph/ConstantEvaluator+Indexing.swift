/// Reading and writing at indices, as exporters do for masks and tables of positions.
extension ConstantEvaluator {
    /// nil when the node should rather be computed at run time.
    func indexed() throws(ModelFormatError) -> [ConstantTensor]? {
        guard inputs.count >= 2, let data = inputs[0], let indices = inputs[1], let list = indices.integers,
            list.count <= maximumCount, data.count <= maximumCount
        else { return nil }
        switch node.op {
        case "GatherND": return try gatheredSlices(data, indices.shape, list)
        case "GatherElements": return try gatheredElements(data, indices.shape, list)
        default: return try scatteredSlices(data, indices.shape, list)
        }
    }

    private func place(_ index: Int, _ extent: Int) throws(ModelFormatError) -> Int {
        guard index >= -extent, index < extent else {
            throw failure("index \(index) is out of range for an axis of \(extent)")
        }
        return index < 0 ? index + extent : index
    }

    private func mismatch(_ data: [Int], _ indices: [Int]) -> ModelFormatError {
        failure("indices of shape \(indices) for data of shape \(data)")
    }

    /// Where each slice begins that the last axis of the indices selects, and the number of its elements.
    private func slices(
        _ data: [Int],
        _ indices: [Int],
        _ list: [Int]
    ) throws(ModelFormatError) -> (starts: [Int], count: Int) {
        guard let depth = indices.last, depth > 0, depth <= data.count else { throw mismatch(data, indices) }
        let strides = Extents.strides(data)
        var starts: [Int] = []
        starts.reserveCapacity(list.count / depth)
        for first in stride(from: 0, to: list.count, by: depth) {
            var start = 0
            for axis in 0..<depth { start += try place(list[first + axis], data[axis]) * strides[axis] }
            starts.append(start)
        }
        return (starts, data[depth...].reduce(1, *))
    }

    private func gatheredSlices(
        _ data: ConstantTensor,
        _ indices: [Int],
        _ list: [Int]
    ) throws(ModelFormatError) -> [ConstantTensor]? {
        guard node.integer("batch_dims", 0) == 0 else { return nil }
        let (starts, length) = try slices(data.shape, indices, list)
        guard let count = Extents.count([starts.count, length]), count <= maximumCount else { return nil }
        let places = starts.flatMap { start in (0..<length).map { start + $0 } }
        let shape = Array(indices.dropLast()) + Array(data.shape[(indices.last ?? 0)...])
        return [data.gathered(shape: shape, from: places)]
    }

    private func gatheredElements(
        _ data: ConstantTensor,
        _ indices: [Int],
        _ list: [Int]
    ) throws(ModelFormatError) -> [ConstantTensor]? {
        let rank = data.shape.count
        let given = node.integer("axis", 0)
        guard indices.count == rank, given >= -rank, given < rank else { throw mismatch(data.shape, indices) }
        let axis = given < 0 ? given + rank : given
        guard (0..<rank).allSatisfy({ $0 == axis || indices[$0] <= data.shape[$0] }) else {
            throw mismatch(data.shape, indices)
        }
        var strides = Extents.strides(data.shape)
        let step = strides[axis]
        strides[axis] = 0
        var places = Extents.places(indices, strides: strides)
        for (index, value) in list.enumerated() { places[index] += try place(value, data.shape[axis]) * step }
        return [data.gathered(shape: indices, from: places)]
    }

    private func scatteredSlices(
        _ data: ConstantTensor,
        _ indices: [Int],
        _ list: [Int]
    ) throws(ModelFormatError) -> [ConstantTensor]? {
        guard inputs.count == 3, let updates = inputs[2], node.string("reduction", "none") == "none" else { return nil }
        let (starts, length) = try slices(data.shape, indices, list)
        guard updates.count == starts.count * length else { throw mismatch(data.shape, indices) }
        func written<Element>(_ elements: [Element], _ updates: [Element]) -> [Element] {
            var elements = elements
            for (number, start) in starts.enumerated() {
                for offset in 0..<length { elements[start + offset] = updates[number * length + offset] }
            }
            return elements
        }
        if case .integers(let old) = data.elements, case .integers(let new) = updates.elements {
            return [ConstantTensor(shape: data.shape, integers: written(old, new))]
        }
        return [ConstantTensor(shape: data.shape, floats: written(data.floats, updates.floats))]
    }
}
