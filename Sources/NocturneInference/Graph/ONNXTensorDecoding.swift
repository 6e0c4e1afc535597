internal import Foundation

extension ONNXReader {
    /// A tensor of the file. Its dimensions must multiply to exactly the elements that are there.
    static func decode(_ tensor: ONNXTensor, path: String) throws(ModelFormatError) -> ConstantTensor {
        guard tensor.dataLocation == 0, tensor.externalData.isEmpty else {
            throw .externalData(path: path, tensor: tensor.name)
        }
        var shape: [Int] = []
        for dimension in tensor.dims {
            guard dimension >= 0, dimension < largestExtent, shape.count < 8 else {
                throw .malformed(path: path, reason: "'\(tensor.name)' has impossible dimensions")
            }
            shape.append(Int(dimension))
        }
        guard let count = Extents.count(shape) else {
            throw .malformed(path: path, reason: "'\(tensor.name)' has impossible dimensions")
        }
        func mustHold(_ found: Int) throws(ModelFormatError) {
            guard found == count else {
                throw .malformed(
                    path: path,
                    reason: "'\(tensor.name)' of shape \(shape) has \(found) elements instead of \(count)"
                )
            }
        }
        let raw = tensor.rawData
        func words<Word: BitwiseCopyable>(_ type: Word.Type) throws(ModelFormatError) -> [Word] {
            let width = MemoryLayout<Word>.size
            guard raw.count % width == 0 else {
                throw .malformed(path: path, reason: "'\(tensor.name)' ends within an element")
            }
            try mustHold(raw.count / width)
            return raw.withUnsafeBytes { bytes in
                (0..<count).map { bytes.loadUnaligned(fromByteOffset: $0 * width, as: Word.self) }
            }
        }
        let floats: [Float]
        var integers: [Int64]?
        switch tensor.dataType {
        case 1:
            if raw.isEmpty {
                try mustHold(tensor.floatData.count)
                floats = tensor.floatData
            } else {
                floats = try words(Float.self)
            }
        case 11:
            if raw.isEmpty {
                try mustHold(tensor.doubleData.count)
                floats = tensor.doubleData.map { Float($0) }
            } else {
                floats = try words(Double.self).map { Float($0) }
            }
        case 10, 16:
            let halves: [UInt16]
            if raw.isEmpty {
                try mustHold(tensor.int32Data.count)
                halves = tensor.int32Data.map { UInt16(truncatingIfNeeded: $0) }
            } else {
                halves = try words(UInt16.self)
            }
            let isBrain = tensor.dataType == 16
            floats = halves.map { isBrain ? Float(bitPattern: UInt32($0) << 16) : float(half: $0) }
        case 2, 3, 4, 5, 6, 9:
            floats = []
            if raw.isEmpty {
                try mustHold(tensor.int32Data.count)
                integers = tensor.int32Data.map(Int64.init)
            } else {
                switch tensor.dataType {
                case 2, 9: integers = try words(UInt8.self).map(Int64.init)
                case 3: integers = try words(Int8.self).map(Int64.init)
                case 4: integers = try words(UInt16.self).map(Int64.init)
                case 5: integers = try words(Int16.self).map(Int64.init)
                default: integers = try words(Int32.self).map(Int64.init)
                }
            }
        case 7:
            floats = []
            if raw.isEmpty {
                try mustHold(tensor.int64Data.count)
                integers = tensor.int64Data
            } else {
                integers = try words(Int64.self)
            }
        default:
            throw .malformed(path: path, reason: "'\(tensor.name)' has the unknown element type \(tensor.dataType)")
        }
        if let integers { return ConstantTensor(shape: shape, integers: integers) }
        return ConstantTensor(shape: shape, floats: floats)
    }

    /// IEEE half precision, without the `Float16` type, which not every processor's tool chain has.
    private static func float(half: UInt16) -> Float {
        let sign = UInt32(half & 0x8000) << 16
        let exponent = UInt32(half >> 10) & 31
        let fraction = UInt32(half & 1023)
        switch exponent {
        case 0:
            let magnitude = Float(fraction) / 16_777_216
            return sign == 0 ? magnitude : -magnitude
        case 31: return Float(bitPattern: sign | 0x7F80_0000 | fraction << 13)
        default: return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
        }
    }
}
