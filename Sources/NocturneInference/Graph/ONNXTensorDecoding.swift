internal import Foundation

extension ONNXReader {
    /// A tensor of the file. The product of its dimensions must equal the number of stored elements.
    static func decode(_ tensor: ONNXTensor, path: String) throws(ModelFormatError) -> ConstantTensor {
        guard tensor.dataLocation == 0, tensor.externalData.isEmpty else {
            throw .externalData(path: path, tensor: tensor.name)
        }
        let elements = try Elements(tensor, path: path)
        guard let type = ElementType(rawValue: tensor.dataType) else {
            throw .malformed(path: path, reason: "'\(tensor.name)' has the unknown element type \(tensor.dataType)")
        }
        let shape = elements.shape
        // Every kind of floating-point number becomes float32, every integer and boolean int64.
        switch type {
        case .float32: return ConstantTensor(shape: shape, floats: try elements.values(or: tensor.floatData))
        case .float64:
            return ConstantTensor(shape: shape, floats: try elements.values(or: tensor.doubleData).map { Float($0) })
        case .float16:
            return ConstantTensor(shape: shape, floats: try elements.halves().map { Float(Float16(bitPattern: $0)) })
        case .bfloat16:
            return ConstantTensor(
                shape: shape,
                // bfloat16 is the upper half of a float32.
                floats: try elements.halves().map { Float(bitPattern: UInt32($0) << 16) }
            )
        case .uint8, .boolean: return ConstantTensor(shape: shape, integers: try elements.integers(UInt8.self))
        case .int8: return ConstantTensor(shape: shape, integers: try elements.integers(Int8.self))
        case .uint16: return ConstantTensor(shape: shape, integers: try elements.integers(UInt16.self))
        case .int16: return ConstantTensor(shape: shape, integers: try elements.integers(Int16.self))
        case .int32: return ConstantTensor(shape: shape, integers: try elements.integers(Int32.self))
        case .int64: return ConstantTensor(shape: shape, integers: try elements.values(or: tensor.int64Data))
        }
    }

    /// The elements of a tensor, as raw bytes or in the list for their type; exactly as many as its shape requires.
    private struct Elements {
        let shape: [Int]
        private let count: Int
        private let tensor: ONNXTensor
        private let path: String

        init(_ tensor: ONNXTensor, path: String) throws(ModelFormatError) {
            var shape: [Int] = []
            for dimension in tensor.dims {
                guard dimension >= 0, dimension < ONNXReader.maximumExtent, shape.count < 8 else {
                    throw .malformed(path: path, reason: "'\(tensor.name)' has impossible dimensions")
                }
                shape.append(Int(dimension))
            }
            guard let count = Extents.count(shape) else {
                throw .malformed(path: path, reason: "'\(tensor.name)' has impossible dimensions")
            }
            self.shape = shape
            self.count = count
            self.tensor = tensor
            self.path = path
        }

        /// The raw bytes as these elements, or the list where there are no raw bytes.
        func values<Element: BitwiseCopyable>(or list: [Element]) throws(ModelFormatError) -> [Element] {
            tensor.rawData.isEmpty ? try checked(list) : try words(Element.self)
        }

        /// 16-bit patterns, which the list stores as int32.
        func halves() throws(ModelFormatError) -> [UInt16] {
            tensor.rawData.isEmpty
                ? try checked(tensor.int32Data).map { UInt16(truncatingIfNeeded: $0) } : try words(UInt16.self)
        }

        /// Integers of up to 32 bits, which the list stores as int32.
        func integers<Word: FixedWidthInteger & BitwiseCopyable>(_ type: Word.Type) throws(ModelFormatError) -> [Int64]
        {
            tensor.rawData.isEmpty ? try checked(tensor.int32Data).map(Int64.init) : try words(type).map { Int64($0) }
        }

        private func words<Word: BitwiseCopyable>(_ type: Word.Type) throws(ModelFormatError) -> [Word] {
            let width = MemoryLayout<Word>.size
            let raw = tensor.rawData
            guard raw.count % width == 0 else {
                throw .malformed(path: path, reason: "'\(tensor.name)' ends within an element")
            }
            try check(raw.count / width)
            return raw.withUnsafeBytes { bytes in
                (0..<count).map { bytes.loadUnaligned(fromByteOffset: $0 * width, as: Word.self) }
            }
        }

        private func checked<Element>(_ list: [Element]) throws(ModelFormatError) -> [Element] {
            try check(list.count)
            return list
        }

        private func check(_ found: Int) throws(ModelFormatError) {
            guard found == count else {
                throw .malformed(
                    path: path,
                    reason: "'\(tensor.name)' of shape \(shape) has \(found) elements instead of \(count)"
                )
            }
        }
    }
}
