internal import Foundation

/// TensorProto: elements as raw bytes or in the list for their type.
struct ONNXTensor {
    private(set) var name = ""
    private var dimensions: [Int64] = []
    private var type: Int32 = 0
    private var raw = Data()
    private var floats: [Float] = []
    private var doubles: [Double] = []
    /// Of up to 32 bits; also 16-bit patterns of floating-point numbers.
    private var words: [Int32] = []
    private var integers: [Int64] = []
    private var isElsewhere = false
    private let path: String

    /// - Parameter path: only for messages.
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` for damaged bytes.
    init(_ bytes: Data, path: String) throws(ModelFormatError) {
        self.path = path
        var tensor = WireFields(bytes, path: path)
        while let field = try tensor.next() {
            switch field {
            case (1, let value): try tensor.append(value, to: &dimensions)
            case (2, .varint(let number)): type = Int32(truncatingIfNeeded: number)
            case (4, let value): try tensor.append(value, to: &floats)
            case (5, let value): try tensor.append(value, to: &words)
            case (7, let value): try tensor.append(value, to: &integers)
            case (8, .bytes(let text)): name = try tensor.text(text)
            case (9, .bytes(let bytes)): raw = bytes
            case (10, let value): try tensor.append(value, to: &doubles)
            case (13, .bytes): isElsewhere = true
            case (14, .varint(let location)): isElsewhere = isElsewhere || location != 0
            default: break
            }
        }
    }

    /// The tensor with its elements. The product of its dimensions must equal their number.
    /// - Throws: ``ModelFormatError``
    func constant() throws(ModelFormatError) -> ConstantTensor {
        guard !isElsewhere else { throw .externalData(path: path, tensor: name) }
        let shape = try checkedShape()
        guard let type = ONNXReader.ElementType(rawValue: type) else {
            throw .malformed(path: path, reason: "'\(name)' has the unknown element type \(type)")
        }
        // Every kind of floating-point number becomes float32, every integer and boolean int64.
        switch type {
        case .float32: return ConstantTensor(shape: shape, floats: try values(or: floats, shape))
        case .float64:
            return ConstantTensor(shape: shape, floats: try values(or: doubles, shape).map { Float($0) })
        case .float16:
            let patterns = try narrow(UInt16.self, shape)
            return ConstantTensor(shape: shape, floats: patterns.map { Float(Float16(bitPattern: $0)) })
        case .bfloat16:
            // bfloat16 is the upper half of a float32.
            let patterns = try narrow(UInt16.self, shape)
            return ConstantTensor(shape: shape, floats: patterns.map { Float(bitPattern: UInt32($0) << 16) })
        case .uint8, .boolean: return try whole(UInt8.self, shape)
        case .int8: return try whole(Int8.self, shape)
        case .uint16: return try whole(UInt16.self, shape)
        case .int16: return try whole(Int16.self, shape)
        case .int32: return try whole(Int32.self, shape)
        case .int64: return ConstantTensor(shape: shape, integers: try values(or: integers, shape))
        }
    }

    private func checkedShape() throws(ModelFormatError) -> [Int] {
        let shape = dimensions.map { Int($0) }
        guard shape.count <= 8, shape.allSatisfy({ $0 >= 0 && $0 < ONNXReader.maximumExtent }),
            Extents.count(shape) != nil
        else { throw .malformed(path: path, reason: "'\(name)' has impossible dimensions") }
        return shape
    }

    /// The raw bytes as these elements, or the list where there are no raw bytes.
    private func values<Element: BitwiseCopyable>(or list: @autoclosure () -> [Element], _ shape: [Int])
        throws(ModelFormatError) -> [Element]
    {
        let found: [Element]
        if raw.isEmpty {
            found = list()
        } else if let elements = WireFields.elements(of: raw, Element.self) {
            found = elements
        } else {
            throw .malformed(path: path, reason: "'\(name)' ends within an element")
        }
        let count = shape.reduce(1, *)
        guard found.count == count else {
            throw .malformed(
                path: path,
                reason: "'\(name)' of shape \(shape) has \(found.count) elements instead of \(count)"
            )
        }
        return found
    }

    /// Words of up to 32 bits, for which one list serves.
    private func narrow<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type, _ shape: [Int])
        throws(ModelFormatError) -> [Word]
    {
        try values(or: words.map { Word(truncatingIfNeeded: $0) }, shape)
    }

    private func whole<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type, _ shape: [Int])
        throws(ModelFormatError) -> ConstantTensor
    {
        ConstantTensor(shape: shape, integers: try narrow(type, shape).map { Int64($0) })
    }
}
