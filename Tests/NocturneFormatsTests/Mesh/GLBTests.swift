import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// The structure of binary glTF, by a parser of chunks and JSON that knows nothing of the writer.
@Suite("Binary glTF")
struct GLBTests {
    /// The two chunks of a file.
    struct Chunks {
        let document: JSONValue
        let binary: [UInt8]

        init(_ bytes: [UInt8]) throws {
            func word(_ offset: Int) -> Int {
                (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
            }
            try #require(bytes.count >= 28 && bytes.count % 4 == 0)
            #expect(Array(bytes[0..<4]) == Array("glTF".utf8) && word(4) == 2 && word(8) == bytes.count)
            let length = word(12)
            #expect(length % 4 == 0 && Array(bytes[16..<20]) == Array("JSON".utf8))
            let text = Array(bytes[20..<20 + length])
            document = try JSONValue(parsing: text)
            let head = 20 + length
            #expect(word(head) % 4 == 0 && Array(bytes[head + 4..<head + 8]) == Array("BIN\0".utf8))
            binary = Array(bytes[(head + 8)...])
            #expect(word(head) == binary.count)
        }

        func float(_ offset: Int) -> Float {
            Float(bitPattern: (0..<4).reduce(UInt32(0)) { $0 | UInt32(binary[offset + $1]) << (8 * UInt32($1)) })
        }
    }

    private struct Missing: Error {}

    private static func list(_ value: JSONValue?) throws -> [JSONValue] {
        guard case .array(let elements)? = value else { throw Missing() }
        return elements
    }

    private static func number(_ value: JSONValue?) throws -> Double {
        guard case .number(let number)? = value else { throw Missing() }
        return number
    }

    private static func chunks(_ frame: PatientFrame = .lps) throws -> Chunks {
        try TemporaryFolder.with { folder in
            let files = try MeshFormatTests.write(GLBFormat(), frame: frame, into: folder)
            #expect(files == ["labels.glb", "labels.glb"])
            return try Chunks([UInt8](try Data(contentsOf: folder("labels.glb"))))
        }
    }

    @Test("has one scene with a node, a mesh and a material for each label, named after it")
    func scene() throws {
        let document = try Self.chunks().document
        let names = MeshFormatTests.surfaces.map(\.name)
        #expect(document["asset"]?["version"]?.text == "2.0")
        #expect(document["asset"]?["extras"]?["SPACE"]?.text == "LPS")
        #expect(document["asset"]?["extras"]?["UNIT"]?.text == "mm")
        let nodes = try Self.list(document["nodes"])
        #expect(nodes.compactMap { $0["name"]?.text } == ["patient"] + names)
        #expect(try Self.list(nodes[0]["children"]) == [.number(1), .number(2)])
        #expect(try Self.list(document["scenes"]).map { $0["nodes"] } == [.array([.number(0)])])
        #expect(try Self.list(document["meshes"]).compactMap { $0["name"]?.text } == names)
        let materials = try Self.list(document["materials"])
        #expect(materials.compactMap { $0["name"]?.text } == names)
        // 128 of 255 in sRGB is 0.215861 linear.
        let factor = try Self.list(materials[1]["pbrMetallicRoughness"]?["baseColorFactor"])
        #expect(factor == [.number(0), .number(1), .number(0.215861), .number(1)])
    }

    @Test("has accessors inside the data, with the bounds of the positions")
    func accessors() throws {
        let chunks = try Self.chunks()
        let document = chunks.document
        let views = try Self.list(document["bufferViews"])
        let buffers = try Self.list(document["buffers"])
        #expect(try buffers.map { try Self.number($0["byteLength"]) } == [Double(chunks.binary.count)])
        var end = 0
        for (index, accessor) in try Self.list(document["accessors"]).enumerated() {
            let view = views[Int(try Self.number(accessor["bufferView"]))]
            let offset = Int(try Self.number(view["byteOffset"]))
            let length = Int(try Self.number(view["byteLength"]))
            let count = Int(try Self.number(accessor["count"]))
            #expect(offset == end && offset % 4 == 0)
            end = offset + length
            if index % 2 == 1 {
                #expect(accessor["componentType"] == .number(5125) && length == 4 * count && count == 36)
                #expect(accessor["type"]?.text == "SCALAR" && view["target"] == .number(34963))
                continue
            }
            #expect(accessor["componentType"] == .number(5126) && length == 12 * count && count == 8)
            #expect(accessor["type"]?.text == "VEC3" && view["target"] == .number(34962))
            for axis in 0..<3 {
                let values = (0..<count).map { chunks.float(offset + 12 * $0 + 4 * axis) }
                let lower = try Self.number(try Self.list(accessor["min"])[axis])
                let upper = try Self.number(try Self.list(accessor["max"])[axis])
                #expect(Float(lower) == values.min() && Float(upper) == values.max())
            }
        }
        #expect(end == chunks.binary.count)
    }

    @Test("turns the patient to metres with the head up and the front forward", arguments: PatientFrame.allCases)
    func orientation(frame: PatientFrame) throws {
        let nodes = try Self.list(try Self.chunks(frame).document["nodes"])
        let matrix = try Self.list(nodes[0]["matrix"]).map { try Self.number($0) }
        #expect(matrix.count == 16)
        func place(_ ras: SIMD3<Double>) -> [Double] {
            let stored = frame == .ras ? ras : SIMD3(-ras.x, -ras.y, ras.z)
            return (0..<3).map { (row: Int) -> Double in
                let products: [Double] = (0..<3).map { matrix[4 * $0 + row] * stored[$0] }
                return matrix[12 + row] + products[0] + products[1] + products[2]
            }
        }
        #expect(place(SIMD3(1000, 0, 0)) == [-1, 0, 0], "to the patient's right")
        #expect(place(SIMD3(0, 1000, 0)) == [0, 0, 1], "to the front")
        #expect(place(SIMD3(0, 0, 1000)) == [0, 1, 0], "to the head")
    }

    @Test("refuses a name twice and a surface that is not there")
    func names() throws {
        try TemporaryFolder.with { folder in
            let twice = [MeshFormatTests.surfaces[0], MeshFormatTests.surfaces[0]]
            let error = #expect(throws: MeshFileError.self) {
                try MeshFormatTests.write(GLBFormat(), into: folder, twice)
            }
            #expect(error?.code == .invalidMesh)
        }
        try TemporaryFolder.with { folder in
            try MeshFormatTests.write(GLBFormat(), into: folder)
            for name in ["spleen", "patient", ""] {
                let error = #expect(throws: MeshFileError.self) {
                    try GLBFormat().read(name, at: folder("labels.glb").path, flag: CancellationFlag())
                }
                #expect(error?.detail == "has no surface \(name)")
            }
        }
    }
}
