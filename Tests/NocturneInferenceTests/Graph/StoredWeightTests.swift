import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("Weights with 16 bits")
struct StoredWeightTests {
    typealias B = ONNXBytes

    /// Two numbers, the largest one of float16 and its smallest, which has no leading bit; the element types are those of ONNX.
    private static let forms: [(type: Int64, words: [UInt16], values: [Float])] = [
        (10, [0x3C00, 0xC000, 0x7BFF, 0x0001], [1, -2, 65504, 0x1p-24]),
        (16, [0x3F80, 0xC000, 0x4049, 0x0080], [1, -2, 3.140625, 0x1p-126]),
    ]

    @Test("are the same numbers in float32, as float16 and as bfloat16", arguments: forms)
    func values(_ form: (type: Int64, words: [UInt16], values: [Float])) throws {
        let raw = form.words.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        let data = B.model(
            nodes: [B.node("Add", ["x", "w"], ["y"])],
            tensors: [B.tensor("w", dims: [1, 1, 2, 2], type: form.type, raw: raw)],
            inputs: [B.value("x", dims: [1, 1, 2, 2])],
            outputs: [B.value("y", dims: [1, 1, 2, 2])]
        )
        let found = try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "weights.onnx")
            let session = try BuiltinEngine().load(onnx: file.path, precision: .float32)
                .makeSession(inputShapes: [:], width: 1)
            let zeros = Tensor(shape: [1, 1, 2, 2], values: [0, 0, 0, 0])
            return try session.run(["x": zeros], scope: .serial())["y"]?.values
        }
        #expect(found == form.values)
    }

    @Test("are rounded by a Cast to float16, and those above its largest number are infinite")
    func rounded() throws {
        // Neighbours in float16 are 1024 + 210 and 1024 + 211.
        let raw = [Float(1234.567), 1e6].flatMap { value in
            (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) }
        }
        let data = B.model(
            nodes: [
                B.node("Cast", ["w"], ["h"], attributes: [B.attribute("to", int: 10)]),
                B.node("Cast", ["h"], ["f"], attributes: [B.attribute("to", int: 1)]),
                B.node("Add", ["x", "f"], ["y"]),
            ],
            tensors: [B.tensor("w", dims: [1, 1, 1, 2], raw: raw)],
            inputs: [B.value("x", dims: [1, 1, 1, 2])],
            outputs: [B.value("y", dims: [1, 1, 1, 2])]
        )
        let found = try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "weights.onnx")
            let session = try BuiltinEngine().load(onnx: file.path, precision: .float32)
                .makeSession(inputShapes: [:], width: 1)
            return try session.run(["x": Tensor(shape: [1, 1, 1, 2], values: [0, 0])], scope: .serial())["y"]?.values
        }
        #expect(found == [1235, .infinity])
    }

    /// How a list stores -2 and 3: the element type, the field of the list, the elements, and their bytes.
    private static let lists: [(type: Int64, field: Int, elements: [UInt64], width: Int?)] = [
        (1, 4, [0xC000_0000, 0x4040_0000], 4),
        (11, 10, [Double(-2).bitPattern, Double(3).bitPattern], 8),
        (10, 5, [0xC000, 0x4200], nil),
        (16, 5, [0xC000, 0x4040], nil),
        (6, 5, [UInt64(bitPattern: -2), 3], nil),
        (3, 5, [UInt64(bitPattern: -2), 3], nil),
        (7, 7, [UInt64(bitPattern: -2), 3], nil),
    ]

    @Test("in lists are the same numbers, packed or not", arguments: lists, [false, true])
    func listed(_ form: (type: Int64, field: Int, elements: [UInt64], width: Int?), isPacked: Bool) throws {
        let tensor = B.tensor(
            "w",
            dims: [1, 1, 1, 2],
            type: form.type,
            field: form.field,
            form.elements,
            width: form.width,
            isPacked: isPacked
        )
        let data = B.model(
            nodes: [
                B.node("Cast", ["w"], ["f"], attributes: [B.attribute("to", int: 1)]),
                B.node("Add", ["x", "f"], ["y"]),
            ],
            tensors: [tensor],
            inputs: [B.value("x", dims: [1, 1, 1, 2])],
            outputs: [B.value("y", dims: [1, 1, 1, 2])]
        )
        let found = try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "weights.onnx")
            let session = try BuiltinEngine().load(onnx: file.path, precision: .float32)
                .makeSession(inputShapes: [:], width: 1)
            return try session.run(["x": Tensor(shape: [1, 1, 1, 2], values: [0, 0])], scope: .serial())["y"]?.values
        }
        #expect(found == [-2, 3])
    }
}

@Suite("Whole numbers of a graph")
struct WholeNumberTests {
    typealias B = ONNXBytes

    @Test("are raised to any power: large ones wrap around, and of negative ones the fraction is cut off")
    func powers() throws {
        let (bases, powers): ([Int64], [Int64]) = ([2, -1, -1, 3, 3, 1, 2, 0], [10, 65, -3, 41, 0, -7, -1, 5])
        func raw(_ values: [Int64]) -> [UInt8] {
            values.flatMap { value in withUnsafeBytes(of: value.littleEndian, Array.init) }
        }
        let shape: [Int64] = [1, 1, 1, 8]
        let data = B.model(
            nodes: [
                B.node("Pow", ["a", "b"], ["p"]), B.node("Cast", ["p"], ["f"]), B.node("Add", ["x", "f"], ["y"]),
            ],
            tensors: [
                B.tensor("a", dims: shape, type: 7, raw: raw(bases)),
                B.tensor("b", dims: shape, type: 7, raw: raw(powers)),
            ],
            inputs: [B.value("x", dims: shape)],
            outputs: [B.value("y", dims: shape)]
        )
        let found = try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "powers.onnx")
            let session = try BuiltinEngine().load(onnx: file.path, precision: .float32)
                .makeSession(inputShapes: [:], width: 1)
            let zeros = Tensor(shape: shape.map(Int.init), values: [Float](repeating: 0, count: 8))
            return try session.run(["x": zeros], scope: .serial())["y"]?.values
        }
        // 3 to the power of 41 modulo two to the power of 64.
        var wrapped: Int64 = 1
        for _ in 0..<41 { wrapped &*= 3 }
        #expect(found == [1024, -1, -1, Float(wrapped), 1, 1, 0, 0])
    }
}
