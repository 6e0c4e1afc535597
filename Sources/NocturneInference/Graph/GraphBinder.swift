internal import CNocturneKernels

/// Converts a graph to a ``BoundGraph``: processes each node once, computes what depends only on constants (shapes,
/// indices, folded weights), and translates the rest.
struct GraphBinder {
    enum Value {
        case constant(ConstantTensor)
        case runtime(Int)
    }

    typealias Handler = @Sendable (inout GraphBinder, NetworkGraph.Node) throws(ModelFormatError) -> Void

    /// All supported operators, by ONNX name.
    static let handlers: [String: Handler] = {
        var all: [String: Handler] = [:]
        for group in [
            windowHandlers, elementwiseHandlers, normalisationHandlers, shapeHandlers, movementHandlers,
            productHandlers, comparisonHandlers, selectionHandlers, layerHandlers, einsumHandlers,
        ] {
            all.merge(group) { first, _ in first }
        }
        return all
    }()

    /// The maximum extent of an axis, so that 32 bits can hold every index.
    static let maximumExtent = 1 << 30

    let graph: NetworkGraph
    var bound = BoundGraph()
    var values: [String: Value] = [:]
    /// Values computed at run time that are whole numbers because their type is an integer.
    var integerValues: Set<Int> = []
    /// The remaining number of elements for constants and tables: a few bytes of a file can request any number.
    private(set) var remainingElements: Int

    init(_ graph: NetworkGraph) {
        self.graph = graph
        // Weights are converted, sliced and transposed, each at most a few times; shapes and indices are small.
        remainingElements = (1 << 24) + 4 * graph.constants.values.reduce(0) { $0 + $1.count }
    }

    /// Unsupported operators, and unsupported forms of operators as far as attributes show it; sorted.
    static func unsupportedOperators(_ graph: NetworkGraph) -> [String] {
        var found: Set<String> = []
        // What is computed from constants while the network is bound may have other forms.
        var known = Set(graph.constants.keys).union([""])
        for node in graph.nodes {
            let isKnown = node.inputs.allSatisfy(known.contains)
            if isKnown || node.op == "Shape" || node.op == "Size" { known.formUnion(node.outputs) }
            if handlers[node.op] == nil {
                found.insert(node.op)
            } else if !isKnown, let form = unsupportedForm(node) {
                found.insert("\(node.op) (\(form))")
            }
        }
        return found.sorted()
    }

    private static func unsupportedForm(_ node: NetworkGraph.Node) -> String? {
        let mode = node.string("mode", "")
        switch node.op {
        case "Resize", "Upsample":
            if mode != "", mode != "nearest", mode != "linear" { return "mode \(mode)" }
            if node.string("coordinate_transformation_mode", "") == "tf_crop_and_resize" { return "tf_crop_and_resize" }
            if node.integer("antialias", 0) != 0 { return "antialias" }
        case "Pad" where !["", "constant", "reflect", "edge", "wrap"].contains(mode): return "mode \(mode)"
        case "MaxPool" where node.outputs.count > 1 && !node.outputs[1].isEmpty: return "indices"
        case "BatchNormalization" where node.integer("training_mode", 0) != 0: return "training"
        case "LayerNormalization" where node.outputs.dropFirst().contains { !$0.isEmpty }:
            return "outputs of statistics"
        default: break
        }
        return nil
    }

    static func bind(_ graph: NetworkGraph, inputShapes: [String: [Int]]) throws(ModelFormatError) -> BoundGraph {
        var binder = GraphBinder(graph)
        for input in try graph.inputs.bound(to: inputShapes, network: graph.path) {
            let value = try binder.newValue(input.shape, title: "input '\(input.name)'")
            binder.bound.inputs.append((input.name, value))
            binder.values[input.name] = .runtime(value)
        }
        for (name, tensor) in graph.constants { binder.values[name] = .constant(tensor) }
        for node in graph.nodes { try binder.bind(node) }
        for output in graph.outputs {
            guard let value = binder.values[output.name] else {
                throw .malformed(path: graph.path, reason: "no node produces the output '\(output.name)'")
            }
            binder.bound.outputs.append((output.name, try binder.materialised(value, title: "output '\(output.name)'")))
        }
        return binder.bound
    }

    private mutating func bind(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        guard let handler = Self.handlers[node.op] else { throw .unsupportedOperators([node.op]) }
        var constants: [ConstantTensor?] = []
        for name in node.inputs {
            if case .constant(let tensor)? = values[name] { constants.append(tensor) } else { constants.append(nil) }
        }
        let known = zip(node.inputs, constants).allSatisfy { name, tensor in name.isEmpty || tensor != nil }
        let evaluator = ConstantEvaluator(graph: graph, node: node, inputs: constants, maximumCount: remainingElements)
        if known, let results = try evaluator.evaluate() {
            if !Self.sharing.contains(node.op) {
                try reserveElements(results.reduce(0) { $0 + $1.count }, title: node.title)
            }
            for (name, tensor) in zip(node.outputs, results) where !name.isEmpty { values[name] = .constant(tensor) }
            return
        }
        try handler(&self, node)
    }

    /// Operators whose results are the elements of an input.
    private static let sharing: Set<String> = ["Constant", "Identity", "Dropout"]

    // MARK: Helpers for handlers

    /// Counts elements of constants and tables that are about to be created.
    mutating func reserveElements(_ count: Int, title: String) throws(ModelFormatError) {
        guard count <= remainingElements else {
            throw .shapeMismatch(
                network: graph.path,
                reason: "\(title): constants and tables would have more elements than any network needs"
            )
        }
        remainingElements -= count
    }

    func failure(_ node: NetworkGraph.Node, _ reason: String) -> ModelFormatError {
        .shapeMismatch(network: graph.path, reason: "\(node.title): \(reason)")
    }

    /// The error for an unsupported form of an operator.
    func unsupported(_ node: NetworkGraph.Node, _ form: String) -> ModelFormatError {
        .unsupportedOperators(["\(node.op) (\(form))"])
    }

    func value(_ node: NetworkGraph.Node, _ index: Int) throws(ModelFormatError) -> Value {
        guard node.hasInput(index), let value = values[node.inputs[index]] else {
            throw failure(node, "input \(index) is missing")
        }
        return value
    }

    func shape(_ value: Value) -> [Int] {
        switch value {
        case .constant(let tensor): tensor.shape
        case .runtime(let index): bound.shapes[index]
        }
    }

    /// An input that must be known when the network is bound; nil when it is omitted.
    func constant(_ node: NetworkGraph.Node, _ index: Int) throws(ModelFormatError) -> ConstantTensor? {
        guard node.hasInput(index) else { return nil }
        guard case .constant(let tensor) = try value(node, index) else {
            throw unsupported(node, "input \(index) calculated at run time")
        }
        return tensor
    }

    /// A constant list of integers; nil when it is omitted.
    func integers(_ node: NetworkGraph.Node, _ index: Int) throws(ModelFormatError) -> [Int]? {
        guard let tensor = try constant(node, index) else { return nil }
        guard let integers = tensor.integers else { throw failure(node, "input \(index) is not of integers") }
        return integers
    }

    /// The value's number; for a constant a number is created.
    mutating func materialised(_ value: Value, title: String) throws(ModelFormatError) -> Int {
        switch value {
        case .runtime(let index): return index
        case .constant(let tensor):
            let index = try newValue(tensor.shape, title: title)
            try reserveElements(tensor.count, title: title)
            bound.constants[index] = ConstantTensor(shape: tensor.shape, floats: tensor.floats)
            if tensor.integers != nil { integerValues.insert(index) }
            return index
        }
    }

    mutating func operand(_ node: NetworkGraph.Node, _ index: Int) throws(ModelFormatError) -> Int {
        try materialised(try value(node, index), title: node.title)
    }

    /// The first operands of a node.
    mutating func operands(_ node: NetworkGraph.Node, _ count: Int) throws(ModelFormatError) -> [Int] {
        var operands: [Int] = []
        for index in 0..<count { operands.append(try operand(node, index)) }
        return operands
    }

    mutating func newValue(_ shape: [Int], title: String) throws(ModelFormatError) -> Int {
        guard shape.count <= NK_MAX_RANK, let count = Extents.count(shape), count <= Extents.maximumCount,
            shape.allSatisfy({ $0 <= Self.maximumExtent })
        else {
            throw .shapeMismatch(network: graph.path, reason: "\(title): a tensor of shape \(shape) is too large")
        }
        guard count > 0 else {
            throw .shapeMismatch(network: graph.path, reason: "\(title): a tensor of shape \(shape) is empty")
        }
        bound.shapes.append(shape)
        return bound.shapes.count - 1
    }

    /// Gives a value the name of an output of the node.
    mutating func setOutput(_ output: Int = 0, of node: NetworkGraph.Node, to value: Value) throws(ModelFormatError) {
        guard output < node.outputs.count else { throw failure(node, "it has no output") }
        values[node.outputs[output]] = value
    }

    /// Adds an operation and names its result.
    @discardableResult
    mutating func emit(
        _ kind: Operation.Kind,
        _ inputs: [Int],
        shape: [Int],
        node: NetworkGraph.Node,
        output: Int = 0
    ) throws(ModelFormatError) -> Int {
        let value = try append(kind, inputs, shape: shape, node: node)
        try setOutput(output, of: node, to: .runtime(value))
        return value
    }

    /// Adds an operation within a node's translation.
    mutating func append(
        _ kind: Operation.Kind,
        _ inputs: [Int],
        shape: [Int],
        node: NetworkGraph.Node
    ) throws(ModelFormatError) -> Int {
        let value = try newValue(shape, title: node.title)
        bound.operations.append(Operation(kind: kind, inputs: inputs, output: value, title: node.title))
        if kind.keepsIntegers, inputs.allSatisfy(integerValues.contains) { integerValues.insert(value) }
        return value
    }

    /// Resolves an axis number that may count from the end.
    func axis(_ axis: Int, rank: Int, _ node: NetworkGraph.Node) throws(ModelFormatError) -> Int {
        guard axis >= -rank, axis < rank else { throw failure(node, "axis \(axis) of a tensor of rank \(rank)") }
        return axis < 0 ? axis + rank : axis
    }

    func axes(_ list: [Int], rank: Int, _ node: NetworkGraph.Node) throws(ModelFormatError) -> [Int] {
        var result: [Int] = []
        for item in list {
            let found = try axis(item, rank: rank, node)
            guard !result.contains(found) else { throw failure(node, "an axis is named twice") }
            result.append(found)
        }
        return result
    }
}
