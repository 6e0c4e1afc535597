/// A graph as stored in the file, checked and in an order in which it can be executed.
struct NetworkGraph: Sendable {
    /// An application of an operator.
    struct Node: Sendable {
        let name: String
        let op: String
        /// Names; empty where an optional input is omitted.
        let inputs: [String]
        let outputs: [String]
        let attributes: [String: Attribute]
    }

    /// The value of an attribute of a node.
    enum Attribute: Sendable {
        case float(Float)
        case integer(Int)
        case string(String)
        case floats([Float])
        case integers([Int])
        case tensor(ConstantTensor)
        /// Subgraphs, strings and other types that no supported operator uses.
        case other
    }

    /// The file, for messages.
    let path: String
    /// Version of the default operator set.
    let opset: Int
    let nodes: [Node]
    let constants: [String: ConstantTensor]
    let inputs: [TensorDescription]
    let outputs: [TensorDescription]

    /// The memory of all constants.
    var constantBytes: Int { constants.values.reduce(0) { $0 + $1.byteCount } }
}

extension NetworkGraph.Node {
    /// The name of the node in messages.
    var title: String { name.isEmpty ? op : "\(op) '\(name)'" }

    func integer(_ key: String, _ fallback: Int) -> Int {
        if case .integer(let value)? = attributes[key] { return value }
        return fallback
    }

    func float(_ key: String, _ fallback: Float) -> Float {
        if case .float(let value)? = attributes[key] { return value }
        return fallback
    }

    func string(_ key: String, _ fallback: String) -> String {
        if case .string(let value)? = attributes[key] { return value }
        return fallback
    }

    func integers(_ key: String) -> [Int]? {
        if case .integers(let value)? = attributes[key] { return value }
        return nil
    }

    func hasInput(_ index: Int) -> Bool { index < inputs.count && !inputs[index].isEmpty }
}

extension NetworkGraph {
    /// Sorts nodes so that each follows the nodes it depends on; a valid order is kept, because exporters' orders free
    /// memory early. The time grows with the nodes and the values that they read (Kahn's algorithm).
    ///
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` for cycles, names read but never defined, names defined
    ///   twice.
    static func sorted(
        _ nodes: [Node],
        known: Set<String>,
        outputs: [String],
        path: String
    ) throws(ModelFormatError) -> [Node] {
        var producers: [String: Int] = [:]
        for (index, node) in nodes.enumerated() {
            for output in node.outputs where !output.isEmpty {
                if producers.updateValue(index, forKey: output) != nil || known.contains(output) {
                    throw .malformed(path: path, reason: "the value '\(output)' is produced twice")
                }
            }
        }
        // The inputs of each node that no earlier node has computed yet, and who reads its outputs.
        var waiting = [Int](repeating: 0, count: nodes.count)
        var readers = [[Int]](repeating: [], count: nodes.count)
        var isSorted = true
        for (index, node) in nodes.enumerated() {
            for input in node.inputs where !input.isEmpty && !known.contains(input) {
                guard let producer = producers[input] else {
                    throw .malformed(path: path, reason: "\(node.title) reads '\(input)', which no node produces")
                }
                waiting[index] += 1
                isSorted = isSorted && producer < index
                readers[producer].append(index)
            }
        }
        for output in outputs where producers[output] == nil && !known.contains(output) {
            throw .malformed(path: path, reason: "no node produces the output '\(output)'")
        }
        if isSorted { return nodes }
        var order: [Int] = []
        // Nodes all of whose inputs are known, in the order of the file.
        var ready = waiting.indices.filter { waiting[$0] == 0 }
        var next = 0
        while next < ready.count {
            let index = ready[next]
            next += 1
            order.append(index)
            for reader in readers[index] {
                waiting[reader] -= 1
                if waiting[reader] == 0 { ready.append(reader) }
            }
        }
        guard order.count == nodes.count else {
            throw .malformed(path: path, reason: "the graph has a cycle")
        }
        return order.map { nodes[$0] }
    }
}
