internal import Foundation

/// ValueInfoProto: the name and the type of an input or output of a graph.
struct ONNXValue {
    var name = ""
    /// By its number in `TensorProto.DataType`; nil for what is not a tensor.
    var elementType: Int32?
    /// Nil for an open extent.
    var shape: [Int?] = []

    /// - Parameter path: only for messages.
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` for damaged bytes.
    init(_ bytes: Data, path: String) throws(ModelFormatError) {
        var value = WireFields(bytes, path: path)
        while let field = try value.next() {
            switch field {
            case (1, .bytes(let text)): name = try value.text(text)
            case (2, .bytes(let bytes)):
                var type = WireFields(bytes, path: path)
                while let field = try type.next() {
                    if case (1, .bytes(let bytes)) = field { try readTensorType(bytes, path: path) }
                }
            default: break
            }
        }
    }

    private mutating func readTensorType(_ bytes: Data, path: String) throws(ModelFormatError) {
        var type = WireFields(bytes, path: path)
        elementType = elementType ?? 0
        while let field = try type.next() {
            switch field {
            case (1, .varint(let number)): elementType = Int32(truncatingIfNeeded: number)
            case (2, .bytes(let bytes)):
                var dimensions = WireFields(bytes, path: path)
                while let field = try dimensions.next() {
                    if case (1, .bytes(let bytes)) = field { shape.append(try Self.extent(bytes, path: path)) }
                }
            default: break
            }
        }
    }

    /// Some exporters write 0 for an extent that is open; others leave it out, or name it.
    private static func extent(_ bytes: Data, path: String) throws(ModelFormatError) -> Int? {
        var dimension = WireFields(bytes, path: path)
        var extent: Int?
        while let field = try dimension.next() {
            switch field {
            case (1, .varint(let number)): extent = number == 0 ? nil : Int(truncatingIfNeeded: number)
            case (2, .bytes): extent = nil
            default: break
            }
        }
        return extent
    }
}
