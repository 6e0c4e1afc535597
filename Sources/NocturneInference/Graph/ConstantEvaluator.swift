/// Evaluates a node all of whose inputs are known: the small arithmetic on shapes and indices that exporters leave in a
/// graph, and weights that are sliced, transposed or scaled before use.
struct ConstantEvaluator {
    let graph: NetworkGraph
    let node: NetworkGraph.Node
    /// nil where an optional input is omitted.
    let inputs: [ConstantTensor?]

    /// The maximum number of elements of a result; larger ones are computed at run time, where they are planned for or
    /// refused.
    let maximumCount: Int

    /// The outputs; nil when the node should rather be computed at run time.
    func evaluate() throws(ModelFormatError) -> [ConstantTensor]? {
        // Operators that only move elements or look at shapes are not here: ``GraphBinder`` does it for constants too.
        switch node.op {
        case "Constant": return [try constant()]
        case "ConstantOfShape": return try filled()
        case "Range": return try range()
        case "Identity", "Dropout": return try [input(0)]
        case "Cast": return [cast(try input(0), to: node.integer("to", 1))]
        case "Concat": return try concatenated()
        case "Where": return try selected()
        case "Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Equal", "Greater", "Less", "GreaterOrEqual",
            "LessOrEqual", "And", "Or", "Xor":
            guard inputs.count == 2 else { return nil }
            return try arithmetic()
        case "Neg", "Abs", "Floor", "Ceil", "Round", "Sqrt", "Exp", "Log", "Not", "Reciprocal", "Sin", "Cos", "Sign":
            return try [function()]
        case "GatherND", "GatherElements", "ScatterND": return try indexed()
        case "Clip": return try clipped()
        case "ReduceProd": return try product()
        default: return nil
        }
    }

    func failure(_ reason: String) -> ModelFormatError {
        .shapeMismatch(network: graph.path, reason: "\(node.title): \(reason)")
    }

    func input(_ index: Int) throws(ModelFormatError) -> ConstantTensor {
        guard index < inputs.count, let tensor = inputs[index] else { throw failure("input \(index) is missing") }
        return tensor
    }

    /// The value of a Constant node, from the attribute that it has.
    private func constant() throws(ModelFormatError) -> ConstantTensor {
        if case .tensor(let tensor)? = node.attributes["value"] { return tensor }
        if case .float(let value)? = node.attributes["value_float"] {
            return ConstantTensor(shape: [], floats: [value])
        }
        if case .floats(let list)? = node.attributes["value_floats"] {
            return ConstantTensor(shape: [list.count], floats: list)
        }
        if case .integer(let value)? = node.attributes["value_int"] {
            return ConstantTensor(shape: [], integers: [Int64(value)])
        }
        if case .integers(let list)? = node.attributes["value_ints"] {
            return ConstantTensor(shape: [list.count], integers: list.map(Int64.init))
        }
        throw failure("a constant without a supported value")
    }

    /// ConstantOfShape; without a value it is filled with 0 in float32.
    private func filled() throws(ModelFormatError) -> [ConstantTensor]? {
        guard let shape = try input(0).integers, shape.count <= 8, let count = Extents.count(shape),
            count <= maximumCount
        else { throw failure("an impossible shape") }
        if case .tensor(let tensor)? = node.attributes["value"] {
            guard tensor.count == 1 else { throw failure("a value of \(tensor.count) elements") }
            return [tensor.gathered(shape: shape, from: [Int](repeating: 0, count: count))]
        }
        return [ConstantTensor(shape: shape, floats: [Float](repeating: 0, count: count))]
    }

    /// Numbers from `start` on, below `limit`; of integers only. The guards keep the differences within 64 bits.
    private func range() throws(ModelFormatError) -> [ConstantTensor]? {
        guard let start = try input(0).integers?.first, let limit = try input(1).integers?.first,
            let step = try input(2).integers?.first, step != 0, abs(start) < 1 << 40, abs(limit) < 1 << 40,
            abs(step) < 1 << 40, (limit - start) / step <= maximumCount
        else { throw failure("an impossible range") }
        let list = stride(from: start, to: limit, by: step).map(Int64.init)
        return [ConstantTensor(shape: [list.count], integers: list)]
    }

    /// Element types are float32 and int64 here, whatever width the file specifies. Float16 rounds, and overflows to infinity.
    private func cast(_ tensor: ConstantTensor, to type: Int) -> ConstantTensor {
        let type = ONNXReader.ElementType(attribute: type)
        let toFloat = type?.isFloat == true
        switch tensor.elements {
        case .floats(let values) where !toFloat:
            return ConstantTensor(
                shape: tensor.shape,
                integers: values.map { value in
                    if type == .boolean { return value == 0 ? 0 : 1 }
                    if value.isNaN { return 0 }
                    // A conversion of a value outside of Int64 would end the program; 9e18 is a little less than 2^63.
                    return Int64(max(-9e18, min(9e18, value)))
                }
            )
        case .floats(let values) where type == .float16:
            return ConstantTensor(shape: tensor.shape, floats: values.map { Float(Float16($0)) })
        case .integers(let values) where toFloat:
            let floats = values.map { type == .float16 ? Float(Float16($0)) : Float($0) }
            return ConstantTensor(shape: tensor.shape, floats: floats)
        case .integers(let values) where type == .boolean:
            return ConstantTensor(shape: tensor.shape, integers: values.map { $0 == 0 ? 0 : 1 })
        default: return tensor
        }
    }

    /// Joins tensors along an axis; integers only where all parts are integers.
    private func concatenated() throws(ModelFormatError) -> [ConstantTensor]? {
        var parts: [ConstantTensor] = []
        for index in inputs.indices { parts.append(try input(index)) }
        guard let first = parts.first, let bytes = Extents.count([parts.reduce(0) { $0 + $1.count }]),
            bytes <= maximumCount
        else { return nil }
        let rank = first.shape.count
        let given = node.integer("axis", 0)
        guard given >= -rank, given < rank else { throw failure("axis \(given) of a tensor of rank \(rank)") }
        let axis = given < 0 ? given + rank : given
        var shape = first.shape
        shape[axis] = 0
        for part in parts {
            guard part.shape.count == rank,
                (0..<rank).allSatisfy({ $0 == axis || part.shape[$0] == first.shape[$0] })
            else { throw failure("parts that do not fit") }
            shape[axis] += part.shape[axis]
        }
        // Rows before the axis. Every part contributes one run of consecutive elements to each of them.
        let outer = shape.contains(0) ? 0 : first.shape[..<axis].reduce(1, *)
        func joined<Element>(_ lists: [[Element]]) -> [Element] {
            var result: [Element] = []
            for row in 0..<outer {
                for list in lists {
                    let length = list.count / max(outer, 1)
                    result += list[row * length..<(row + 1) * length]
                }
            }
            return result
        }
        let integers = parts.compactMap { part -> [Int64]? in
            if case .integers(let list) = part.elements { return list }
            return nil
        }
        if integers.count == parts.count { return [ConstantTensor(shape: shape, integers: joined(integers))] }
        return [ConstantTensor(shape: shape, floats: joined(parts.map(\.floats)))]
    }

    /// Where; the three operands are broadcast to one shape.
    private func selected() throws(ModelFormatError) -> [ConstantTensor]? {
        let (condition, yes, no) = (try input(0), try input(1), try input(2))
        guard let pair = Extents.broadcast(yes.shape, no.shape), let shape = Extents.broadcast(condition.shape, pair),
            let count = Extents.count(shape), count <= maximumCount, let flags = condition.integers
        else { throw failure("operands that do not fit") }
        let flagPlaces = places(condition, in: shape)
        let (yesPlaces, noPlaces) = (places(yes, in: shape), places(no, in: shape))
        if case .integers(let first) = yes.elements, case .integers(let second) = no.elements {
            let list = (0..<count).map { flags[flagPlaces[$0]] != 0 ? first[yesPlaces[$0]] : second[noPlaces[$0]] }
            return [ConstantTensor(shape: shape, integers: list)]
        }
        let (first, second) = (yes.floats, no.floats)
        let list = (0..<count).map { flags[flagPlaces[$0]] != 0 ? first[yesPlaces[$0]] : second[noPlaces[$0]] }
        return [ConstantTensor(shape: shape, floats: list)]
    }

    /// The index of the element of a tensor that belongs to each element of a shape to which it is broadcast.
    private func places(_ tensor: ConstantTensor, in shape: [Int]) -> [Int] {
        Extents.places(
            shape,
            strides: Extents.broadcastStrides(tensor.shape, Extents.strides(tensor.shape), to: shape)
        )
    }

    /// A function of two operands that are broadcast to one shape; nil for results that are too large for a constant.
    private func arithmetic() throws(ModelFormatError) -> [ConstantTensor]? {
        let (a, b) = (try input(0), try input(1))
        guard let shape = Extents.broadcast(a.shape, b.shape), let count = Extents.count(shape) else {
            throw failure("operands of shapes \(a.shape) and \(b.shape)")
        }
        // What is large only because an operand is repeated is not kept as a constant.
        if count > maximumCount || (count > 1 << 22 && count > max(a.count, b.count)) { return nil }
        let (left, right) = (places(a, in: shape), places(b, in: shape))
        if case .integers(let first) = a.elements, case .integers(let second) = b.elements {
            guard node.op != "Div" && node.op != "Mod" || !second.contains(0) else { throw failure("division by zero") }
            let list = (0..<count).map { integer(first[left[$0]], second[right[$0]]) }
            return [ConstantTensor(shape: shape, integers: list)]
        }
        let (first, second) = (a.floats, b.floats)
        if ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"].contains(node.op) {
            let list = (0..<count).map { index -> Int64 in
                let (x, y) = (first[left[index]], second[right[index]])
                return Int64(compare(x, y) ? 1 : 0)
            }
            return [ConstantTensor(shape: shape, integers: list)]
        }
        let list = (0..<count).map { float(first[left[$0]], second[right[$0]]) }
        return [ConstantTensor(shape: shape, floats: list)]
    }
}
