import Foundation
import NocturneSystem

/// Just enough of the protocol-buffer format to write ONNX files that no exporter would.
struct ProtobufWriter {
    var bytes: [UInt8] = []

    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func integer(_ field: Int, _ value: Int64) {
        varint(UInt64(field << 3))
        varint(UInt64(bitPattern: value))
    }

    mutating func data(_ field: Int, _ value: [UInt8]) {
        varint(UInt64(field << 3 | 2))
        varint(UInt64(value.count))
        bytes += value
    }

    mutating func text(_ field: Int, _ value: String) { data(field, Array(value.utf8)) }
}

/// Messages of an ONNX file.
enum ONNXBytes {
    static func message(_ body: (inout ProtobufWriter) -> Void) -> [UInt8] {
        var writer = ProtobufWriter()
        body(&writer)
        return writer.bytes
    }

    static func attribute(_ name: String, ints: [Int64]) -> [UInt8] {
        message {
            $0.text(1, name)
            for value in ints { $0.integer(8, value) }
            $0.integer(20, 7)
        }
    }

    static func attribute(_ name: String, int: Int64) -> [UInt8] {
        message {
            $0.text(1, name)
            $0.integer(3, int)
            $0.integer(20, 2)
        }
    }

    static func attribute(_ name: String, string: String) -> [UInt8] {
        message {
            $0.text(1, name)
            $0.text(4, string)
            $0.integer(20, 3)
        }
    }

    static func node(
        _ op: String,
        _ inputs: [String],
        _ outputs: [String],
        attributes: [[UInt8]] = [],
        domain: String = ""
    ) -> [UInt8] {
        message {
            for input in inputs { $0.text(1, input) }
            for output in outputs { $0.text(2, output) }
            $0.text(3, "the \(op)")
            $0.text(4, op)
            for attribute in attributes { $0.data(5, attribute) }
            if !domain.isEmpty { $0.text(7, domain) }
        }
    }

    static func tensor(_ name: String, dims: [Int64], type: Int64 = 1, raw: [UInt8], external: Bool = false) -> [UInt8]
    {
        message {
            for dim in dims { $0.integer(1, dim) }
            $0.integer(2, type)
            $0.text(8, name)
            $0.data(9, raw)
            if external {
                $0.data(
                    13,
                    message {
                        $0.text(1, "location")
                        $0.text(2, "../../etc/passwd")
                    }
                )
                $0.integer(14, 1)
            }
        }
    }

    /// A tensor with its elements in a list, as some exporters write it: packed, or each a field.
    /// - Parameters:
    ///   - field: of the list: 4 float_data, 5 int32_data, 7 int64_data, 10 double_data.
    ///   - width: of an element in bytes; nil for integers of variable length.
    static func tensor(
        _ name: String,
        dims: [Int64],
        type: Int64,
        field: Int,
        _ elements: [UInt64],
        width: Int?,
        isPacked: Bool
    ) -> [UInt8] {
        func put(_ element: UInt64, into writer: inout ProtobufWriter) {
            guard let width else { return writer.varint(element) }
            writer.bytes += (0..<width).map { UInt8(truncatingIfNeeded: element >> (8 * $0)) }
        }
        return message { tensor in
            if isPacked {
                tensor.data(1, message { for dim in dims { $0.varint(UInt64(dim)) } })
                tensor.data(field, message { list in for element in elements { put(element, into: &list) } })
            } else {
                for dim in dims { tensor.integer(1, dim) }
                for element in elements {
                    tensor.varint(UInt64(field << 3 | (width == nil ? 0 : width == 4 ? 5 : 1)))
                    put(element, into: &tensor)
                }
            }
            tensor.integer(2, type)
            tensor.text(8, name)
        }
    }

    static func tensor(_ name: String, integers: [Int64]) -> [UInt8] {
        tensor(name, dims: [Int64(integers.count)], integers: integers)
    }

    static func tensor(_ name: String, dims: [Int64], integers: [Int64]) -> [UInt8] {
        tensor(
            name,
            dims: dims,
            type: 7,
            raw: integers.flatMap { value in (0..<8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        )
    }

    static func floats(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: 4 * count) }

    static func value(_ name: String, dims: [Int64], type: Int64 = 1) -> [UInt8] {
        let shape = message { shape in for dim in dims { shape.data(1, message { $0.integer(1, dim) }) } }
        let tensorType = message {
            $0.integer(1, type)
            $0.data(2, shape)
        }
        return message {
            $0.text(1, name)
            $0.data(2, message { $0.data(1, tensorType) })
        }
    }

    static func model(
        nodes: [[UInt8]],
        tensors: [[UInt8]] = [],
        inputs: [[UInt8]],
        outputs: [[UInt8]],
        opset: Int64 = 17
    ) -> Data {
        let graph = message {
            for node in nodes { $0.data(1, node) }
            $0.text(2, "graph")
            for tensor in tensors { $0.data(5, tensor) }
            for input in inputs { $0.data(11, input) }
            for output in outputs { $0.data(12, output) }
        }
        return Data(
            message {
                $0.integer(1, 8)
                $0.data(7, graph)
                $0.data(8, message { $0.integer(2, opset) })
            }
        )
    }
}
