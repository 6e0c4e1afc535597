internal import Foundation
import NocturneSystem

/// Reads an ONNX file into a ``NetworkGraph``.
///
/// The numbers of fields are those of the format's own onnx.proto (https://github.com/onnx/onnx); fields that inference does not need are
/// skipped. All content is checked against the actual size of the file before it is used: a tensor is only as large as its data. Weights
/// in other files are refused with every engine: a package states no digest of them.
enum ONNXReader {
    /// The maximum dimension of a network; products of dimensions are also checked for overflow.
    static let maximumExtent = 1 << 40
    /// The maximum number of nodes; the time for planning is quadratic in it.
    private static let maximumNodeCount = 50_000
    private static let maximumInputCount = 1000

    /// Maps the file, so that only what is decoded takes memory.
    ///
    /// - Throws: ``ModelFormatError``
    static func read(_ path: String) throws(ModelFormatError) -> NetworkGraph {
        // Opening a pipe would wait for a writer.
        guard FileSystem.size(path) != nil || !FileSystem.exists(path) else {
            let isFolder = FileSystem.isFolder(path)
            throw .unreadable(path: path, reason: isFolder ? "a folder; name an ONNX file in it" : "not a regular file")
        }
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        } catch {
            throw .unreadable(path: path, reason: (error as NSError).localizedDescription)
        }
        return try read(bytes, path: path)
    }

    /// - Parameter path: only for messages.
    static func read(_ bytes: Data, path: String) throws(ModelFormatError) -> NetworkGraph {
        guard !bytes.isEmpty else { throw .malformed(path: path, reason: "the file is empty") }
        let (graph, opset) = try messages(WireFields(bytes, path: path), path: path)
        guard !graph.nodes.isEmpty || !graph.outputs.isEmpty else {
            throw .malformed(path: path, reason: "there is no graph")
        }
        guard graph.nodes.count <= maximumNodeCount, graph.outputs.count <= maximumInputCount else {
            throw .malformed(
                path: path,
                reason: "\(graph.nodes.count) nodes and \(graph.outputs.count) outputs; "
                    + "at most \(maximumNodeCount) and \(maximumInputCount) are supported"
            )
        }
        // Operator set 7 introduced broadcasting as in numpy; for older ones its attributes would be needed.
        guard (7...26).contains(opset) else {
            throw .malformed(path: path, reason: "operator set \(opset) is not one of 7 to 26")
        }
        var constants: [String: ConstantTensor] = [:]
        for bytes in graph.initializers {
            let tensor = try ONNXTensor(bytes, path: path)
            guard constants.updateValue(try tensor.constant(), forKey: tensor.name) == nil else {
                throw .malformed(path: path, reason: "two tensors are called '\(tensor.name)'")
            }
        }
        var nodes: [NetworkGraph.Node] = []
        for bytes in graph.nodes { nodes.append(try node(bytes, path: path)) }
        // Up to version 3 of the format, initial values had to be listed as inputs too.
        let inputs = try described(graph.inputs, path: path) { constants[$0] == nil }
        var outputs = try described(graph.outputs, path: path) { _ in true }
        guard !outputs.isEmpty else { throw .malformed(path: path, reason: "the graph has no output") }
        let known = Set(constants.keys).union(inputs.map(\.name))
        let sorted = try NetworkGraph.sorted(nodes, known: known, outputs: outputs.map(\.name), path: path)
        let activations = NetworkGraph.activations(in: sorted)
        for index in outputs.indices { outputs[index].activation = activations[outputs[index].name] }
        return NetworkGraph(
            path: path,
            opset: Int(opset),
            nodes: sorted,
            constants: constants,
            inputs: inputs,
            outputs: outputs
        )
    }

    // MARK: Messages

    /// The messages of a graph, not decoded.
    private struct GraphMessages {
        var nodes: [Data] = []
        var initializers: [Data] = []
        var inputs: [Data] = []
        var outputs: [Data] = []
    }

    /// ModelProto, GraphProto and OperatorSetIdProto.
    private static func messages(_ model: WireFields, path: String) throws(ModelFormatError)
        -> (graph: GraphMessages, opset: Int64)
    {
        var model = model
        var messages = GraphMessages()
        var opset: Int64?
        while let field = try model.next() {
            switch field {
            case (7, .bytes(let bytes)):
                var graph = WireFields(bytes, path: path)
                while let field = try graph.next() {
                    switch field {
                    case (1, .bytes(let bytes)): messages.nodes.append(bytes)
                    case (5, .bytes(let bytes)): messages.initializers.append(bytes)
                    case (11, .bytes(let bytes)): messages.inputs.append(bytes)
                    case (12, .bytes(let bytes)): messages.outputs.append(bytes)
                    default: break
                    }
                }
            case (8, .bytes(let bytes)):
                var set = WireFields(bytes, path: path)
                var domain = ""
                var version: Int64 = 0
                while let field = try set.next() {
                    switch field {
                    case (1, .bytes(let name)): domain = try set.text(name)
                    case (2, .varint(let number)): version = Int64(bitPattern: number)
                    default: break
                    }
                }
                if isStandard(domain) { opset = opset ?? version }
            default: break
            }
        }
        return (messages, opset ?? 0)
    }

    /// Whether operators of this domain are those of ONNX.
    private static func isStandard(_ domain: String) -> Bool { domain.isEmpty || domain == "ai.onnx" }

    // MARK: Inputs and outputs

    /// - Parameter isWanted: by name; other values are neither checked nor described.
    private static func described(
        _ messages: [Data],
        path: String,
        where isWanted: (String) -> Bool
    ) throws(ModelFormatError) -> [TensorDescription] {
        var values: [ONNXValue] = []
        for bytes in messages { values.append(try ONNXValue(bytes, path: path)) }
        values.removeAll { !isWanted($0.name) }
        guard values.count <= maximumInputCount else {
            throw .malformed(path: path, reason: "\(values.count) inputs; at most \(maximumInputCount) are supported")
        }
        var descriptions: [TensorDescription] = []
        for value in values {
            guard let type = value.elementType else {
                throw .malformed(path: path, reason: "'\(value.name)' is not a tensor")
            }
            guard type == ElementType.float32.rawValue else {
                throw .malformed(
                    path: path,
                    reason: "'\(value.name)' has element type \(type); only float32 is supported"
                )
            }
            if let extent = value.shape.compactMap(\.self).first(where: { $0 < 0 || $0 >= maximumExtent }) {
                throw .malformed(path: path, reason: "'\(value.name)' has a dimension of \(extent)")
            }
            guard !descriptions.contains(where: { $0.name == value.name }), value.shape.count <= 8 else {
                throw .malformed(path: path, reason: "'\(value.name)' is described twice or has more than 8 dimensions")
            }
            descriptions.append(TensorDescription(name: value.name, shape: value.shape))
        }
        return descriptions
    }

    // MARK: Nodes

    /// NodeProto.
    private static func node(_ bytes: Data, path: String) throws(ModelFormatError) -> NetworkGraph.Node {
        var node = WireFields(bytes, path: path)
        var (name, op, domain) = ("", "", "")
        var (inputs, outputs) = ([String](), [String]())
        var attributes: [String: NetworkGraph.Attribute] = [:]
        while let field = try node.next() {
            switch field {
            case (1, .bytes(let text)): inputs.append(try node.text(text))
            case (2, .bytes(let text)): outputs.append(try node.text(text))
            case (3, .bytes(let text)): name = try node.text(text)
            case (4, .bytes(let text)): op = try node.text(text)
            case (5, .bytes(let bytes)):
                let (key, value) = try attribute(bytes, path: path)
                attributes[key] = value
            case (7, .bytes(let text)): domain = try node.text(text)
            default: break
            }
        }
        return NetworkGraph.Node(
            name: name,
            op: isStandard(domain) ? op : "\(domain).\(op)",
            inputs: inputs,
            outputs: outputs,
            attributes: attributes
        )
    }

    /// AttributeProto. Its types: 1 float, 2 int, 3 string, 4 tensor, 6 floats, 7 ints.
    private static func attribute(_ bytes: Data, path: String) throws(ModelFormatError)
        -> (name: String, value: NetworkGraph.Attribute)
    {
        var fields = WireFields(bytes, path: path)
        var name = ""
        var type: Int64 = 0
        var (float, integer, text, tensor) = (Float(0), 0, Data(), Data())
        var (floats, integers) = ([Float](), [Int64]())
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let text)): name = try fields.text(text)
            case (2, .fixed32(let bits)): float = Float(bitPattern: bits)
            case (3, .varint(let number)): integer = Int(truncatingIfNeeded: number)
            case (4, .bytes(let bytes)): text = bytes
            case (5, .bytes(let bytes)): tensor = bytes
            case (7, let value): try fields.append(value, to: &floats)
            case (8, let value): try fields.append(value, to: &integers)
            case (20, .varint(let number)): type = Int64(bitPattern: number)
            default: break
            }
        }
        // The field of the type was added in a later version of the format.
        if type == 0 {
            type = !integers.isEmpty ? 7 : !floats.isEmpty ? 6 : !text.isEmpty ? 3 : float != 0 ? 1 : 2
        }
        switch type {
        case 1: return (name, .float(float))
        case 2: return (name, .integer(integer))
        case 3: return (name, .string(String(decoding: text, as: UTF8.self)))
        case 4: return (name, .tensor(try ONNXTensor(tensor, path: path).constant()))
        case 6: return (name, .floats(floats))
        case 7: return (name, .integers(integers.map(Int.init)))
        default: return (name, .other)
        }
    }
}
