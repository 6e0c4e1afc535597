internal import Foundation
import NocturneSystem
internal import SwiftProtobuf

/// Reads an ONNX file into a ``NetworkGraph``.
///
/// All content is checked against the actual size of the file before it is used: a tensor is only as large as its data.
/// Weights in other files are refused.
enum ONNXReader {
    /// The maximum dimension of a network; products of dimensions are also checked for overflow.
    static let maximumExtent = 1 << 40
    /// The maximum number of nodes; the time for planning is quadratic in it.
    private static let maximumNodeCount = 50_000
    private static let maximumInputCount = 1000

    /// Maps the file, so that only the decoded message takes memory.
    ///
    /// - Throws: ``ModelFormatError``
    static func read(_ path: String) throws(ModelFormatError) -> NetworkGraph {
        // Opening a pipe would wait for a writer.
        guard FileSystem.isFolder(path) || FileSystem.size(path) != nil || !FileSystem.exists(path) else {
            throw .unreadable(path: path, reason: "not a regular file")
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
        var model: ONNXModel
        do {
            model = try ONNXModel(serializedBytes: bytes)
        } catch {
            throw .malformed(path: path, reason: "the protocol buffer is damaged or truncated")
        }
        guard model.hasGraph, !model.graph.node.isEmpty || !model.graph.output.isEmpty else {
            throw .malformed(path: path, reason: "there is no graph")
        }
        guard model.graph.node.count <= maximumNodeCount, model.graph.output.count <= maximumInputCount else {
            throw .malformed(
                path: path,
                reason: "\(model.graph.node.count) nodes and \(model.graph.output.count) outputs; "
                    + "at most \(maximumNodeCount) and \(maximumInputCount) are supported"
            )
        }
        let opset = model.opsetImport.first { $0.domain.isEmpty || $0.domain == "ai.onnx" }?.version ?? 0
        // Operator set 7 introduced broadcasting as in numpy; for older ones its attributes would be needed.
        guard (7...26).contains(opset) else {
            throw .malformed(path: path, reason: "operator set \(opset) is not one of 7 to 26")
        }
        var graph = model.graph
        // Removed from the message one by one, so that weights are in memory twice only briefly.
        model = ONNXModel()
        var constants: [String: ConstantTensor] = [:]
        for index in graph.initializer.indices {
            let tensor = graph.initializer[index]
            graph.initializer[index] = ONNXTensor()
            guard constants.updateValue(try decode(tensor, path: path), forKey: tensor.name) == nil else {
                throw .malformed(path: path, reason: "two tensors are called '\(tensor.name)'")
            }
        }
        // Up to version 3 of the format, initial values had to be listed as inputs too.
        var nodes: [NetworkGraph.Node] = []
        for node in graph.node { nodes.append(try decode(node, path: path)) }
        let inputs = try describe(graph.input.filter { constants[$0.name] == nil }, path: path)
        var outputs = try describe(graph.output, path: path)
        guard !outputs.isEmpty else { throw .malformed(path: path, reason: "the graph has no output") }
        let known = Set(constants.keys).union(inputs.map(\.name))
        let sorted = try NetworkGraph.sorted(nodes, known: known, outputs: outputs.map(\.name), path: path)
        for index in outputs.indices {
            outputs[index].activation = NetworkGraph.activation(of: outputs[index].name, in: sorted)
        }
        return NetworkGraph(
            path: path,
            opset: Int(opset),
            nodes: sorted,
            constants: constants,
            inputs: inputs,
            outputs: outputs
        )
    }

    private static func describe(_ values: [ONNXValueInfo], path: String) throws(ModelFormatError)
        -> [TensorDescription]
    {
        guard values.count <= maximumInputCount else {
            throw .malformed(path: path, reason: "\(values.count) inputs; at most \(maximumInputCount) are supported")
        }
        var descriptions: [TensorDescription] = []
        for value in values {
            guard value.hasType, value.type.hasTensorType else {
                throw .malformed(path: path, reason: "'\(value.name)' is not a tensor")
            }
            guard value.type.tensorType.elemType == ElementType.float32.rawValue else {
                throw .malformed(
                    path: path,
                    reason: "'\(value.name)' has element type \(value.type.tensorType.elemType); "
                        + "only float32 is supported"
                )
            }
            var shape: [Int?] = []
            for dimension in value.type.tensorType.shape.dim {
                // Some exporters write 0 for an extent that is open; others leave it out, or name it.
                if case .dimValue(let extent)? = dimension.value, extent != 0 {
                    guard extent > 0, extent < maximumExtent else {
                        throw .malformed(path: path, reason: "'\(value.name)' has a dimension of \(extent)")
                    }
                    shape.append(Int(extent))
                } else {
                    shape.append(nil)
                }
            }
            guard !descriptions.contains(where: { $0.name == value.name }), shape.count <= 8 else {
                throw .malformed(path: path, reason: "'\(value.name)' is described twice or has more than 8 dimensions")
            }
            descriptions.append(TensorDescription(name: value.name, shape: shape))
        }
        return descriptions
    }

    /// The numbers are those of AttributeProto.AttributeType: 1 float, 2 int, 3 string, 4 tensor, 6 floats, 7 ints.
    private static func decode(_ node: ONNXNode, path: String) throws(ModelFormatError) -> NetworkGraph.Node {
        var attributes: [String: NetworkGraph.Attribute] = [:]
        for attribute in node.attribute {
            // The type field was added in a later version of the format; 0 means that the type must be inferred.
            switch attribute.type {
            case 1: attributes[attribute.name] = .float(attribute.f)
            case 2: attributes[attribute.name] = .integer(Int(attribute.i))
            case 3: attributes[attribute.name] = .string(String(decoding: attribute.s, as: UTF8.self))
            case 4: attributes[attribute.name] = .tensor(try decode(attribute.t, path: path))
            case 6: attributes[attribute.name] = .floats(attribute.floats)
            case 7: attributes[attribute.name] = .integers(attribute.ints.map(Int.init))
            case 0 where !attribute.ints.isEmpty: attributes[attribute.name] = .integers(attribute.ints.map(Int.init))
            case 0 where !attribute.floats.isEmpty: attributes[attribute.name] = .floats(attribute.floats)
            case 0 where !attribute.s.isEmpty:
                attributes[attribute.name] = .string(String(decoding: attribute.s, as: UTF8.self))
            case 0 where attribute.f != 0: attributes[attribute.name] = .float(attribute.f)
            case 0: attributes[attribute.name] = .integer(Int(attribute.i))
            default: attributes[attribute.name] = .other
            }
        }
        let foreign = !(node.domain.isEmpty || node.domain == "ai.onnx")
        return NetworkGraph.Node(
            name: node.name,
            op: foreign ? "\(node.domain).\(node.opType)" : node.opType,
            inputs: node.input,
            outputs: node.output,
            attributes: attributes
        )
    }
}
