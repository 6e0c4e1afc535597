import Foundation
import NocturneInference
import Testing

/// The bytes are those of the examples in https://protobuf.dev/programming-guides/encoding.
@Suite("Fields of Protocol Buffers")
struct WireFieldsTests {
    private func fields(_ bytes: [UInt8]) throws -> [(number: UInt64, value: WireFields.Value)] {
        var fields = WireFields(Data(bytes), path: "x")
        var found: [(number: UInt64, value: WireFields.Value)] = []
        while let field = try fields.next() { found.append(field) }
        return found
    }

    @Test("are integers, texts and numbers of 32 and 64 bits")
    func values() throws {
        let found = try fields(
            [0x08, 0x96, 0x01, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]
                + [0x1d, 0, 0, 0x80, 0x3f, 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]
                + [0x28, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]
        )
        #expect(found.map(\.number) == [1, 2, 3, 4, 5])
        guard case .varint(150) = found[0].value, case .bytes(let text) = found[1].value,
            case .fixed32(let single) = found[2].value, case .fixed64(let double) = found[3].value,
            case .varint(let negative) = found[4].value
        else {
            Issue.record("other values: \(found)")
            return
        }
        #expect(Array(text) == Array("testing".utf8))
        #expect(Float(bitPattern: single) == 1 && Double(bitPattern: double) == 1)
        #expect(Int64(bitPattern: negative) == -2)
    }

    @Test("of a list are packed or single")
    func lists() throws {
        let fields = WireFields(Data(), path: "x")
        var integers: [Int64] = []
        let packed = Data([0xff, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]).dropFirst()
        try fields.append(.bytes(packed), to: &integers)
        try fields.append(.varint(7), to: &integers)
        #expect(integers == [3, 270, 86942, 7])
        var numbers: [Float] = []
        try fields.append(.bytes(Data([0, 0, 0x80, 0x3f, 0, 0, 0, 0x40])), to: &numbers)
        try fields.append(.fixed32(Float(3).bitPattern), to: &numbers)
        #expect(numbers == [1, 2, 3])
    }

    @Test(
        "that end early, are too long or begin a group are refused",
        arguments: [
            [0x08], [0x08, 0x96], [0x12, 0x02, 0x41], [0x1d, 0, 0, 0], [0x21, 0, 0, 0, 0, 0, 0, 0], [0x0b],
            [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            [0x08] + [UInt8](repeating: 0x80, count: 10),
        ] as [[UInt8]]
    )
    func damaged(bytes: [UInt8]) {
        #expect(throws: ModelFormatError.self) { try fields(bytes) }
        var integers: [Int64] = []
        var numbers: [Double] = []
        let none = WireFields(Data(), path: "x")
        #expect(throws: ModelFormatError.self) { try none.append(.bytes(Data([0x80])), to: &integers) }
        #expect(throws: ModelFormatError.self) { try none.append(.bytes(Data([1, 2, 3])), to: &numbers) }
        #expect(throws: ModelFormatError.self) { try none.text(Data([0xff])) }
    }
}
