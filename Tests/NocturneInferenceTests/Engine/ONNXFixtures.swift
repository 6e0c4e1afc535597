import Foundation
import NocturneInference
import NocturneTestSupport

/// The cases that Tools/fixtures/make_onnx_fixtures.py wrote: networks, inputs, and what ONNX Runtime made of them.
struct ONNXFixtures {
    struct Entry: Decodable {
        var name: String
        var shape: [Int]
        var offset: Int
    }

    struct Case: Decodable {
        var name: String
        var inputs: [Entry]
        var outputs: [Entry]
    }

    static let folder = Fixtures.url("ONNX")

    static let cases: [Case] = {
        guard let data = try? Data(contentsOf: folder.appending(path: "index.json")) else { return [] }
        return (try? JSONDecoder().decode([Case].self, from: data)) ?? []
    }()

    static let names = cases.map(\.name)

    private static let values: [Float] = {
        guard let data = try? Data(contentsOf: folder.appending(path: "values.bin")) else { return [] }
        return data.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map {
                Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
            }
        }
    }()

    static func named(_ name: String) throws -> Case {
        struct Missing: Error { var name: String }
        guard let found = cases.first(where: { $0.name == name }) else { throw Missing(name: name) }
        return found
    }

    static func path(_ name: String) -> String { folder.appending(path: name + ".onnx").path }

    static func tensor(_ entry: Entry) -> Tensor {
        let count = entry.shape.reduce(1, *)
        return Tensor(shape: entry.shape, values: Array(values[entry.offset..<entry.offset + count]))
    }
}

extension ONNXFixtures.Case {
    var shapes: [String: [Int]] { Dictionary(uniqueKeysWithValues: inputs.map { ($0.name, $0.shape) }) }
    var tensors: [String: Tensor] {
        Dictionary(uniqueKeysWithValues: inputs.map { ($0.name, ONNXFixtures.tensor($0)) })
    }

    func load() throws -> any LoadedNetwork {
        try BuiltinEngine.ofTests.load(onnx: ONNXFixtures.path(name), precision: .float32)
    }
}

extension BuiltinEngine {
    /// The engine of these tests: `NOCTURNE_ISA` chooses the instruction set that they run with.
    static var ofTests: BuiltinEngine { BuiltinEngine(environment: ProcessInfo.processInfo.environment) }
}
