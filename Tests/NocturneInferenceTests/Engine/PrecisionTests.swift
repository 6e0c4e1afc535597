import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

/// Whole networks beside the same in float64, from Tools/fixtures/make_float64_fixtures.py.
@Suite("The engine's precisions")
struct PrecisionTests {
    struct Entry: Decodable, Sendable, CustomTestStringConvertible {
        var name: String
        var shape: [Int]
        var offset: Int

        var testDescription: String { name }
    }

    static let entries: [Entry] = {
        guard let data = try? Data(contentsOf: ONNXFixtures.folder.appending(path: "float64.json")) else { return [] }
        return (try? JSONDecoder().decode([Entry].self, from: data)) ?? []
    }()

    private static func expected(_ entry: Entry) throws -> [Double] {
        let data = try Data(contentsOf: ONNXFixtures.folder.appending(path: "float64.bin"))
        return try data.withUnsafeBytes { bytes in
            try (0..<entry.shape.reduce(1, *)).map {
                let place = (entry.offset + $0) * 8
                try #require(place + 8 <= bytes.count)
                return Double(
                    bitPattern: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                )
            }
        }
    }

    private static func rootMeanSquare(_ values: [Double]) -> Double {
        (values.reduce(0) { $0 + $1 * $1 } / Double(values.count)).squareRoot()
    }

    /// Logits of the fixture's network.
    private static func run(_ name: String, _ precision: InferencePrecision) throws -> Tensor {
        let fixture = try ONNXFixtures.named(name)
        let network = try BuiltinEngine.ofTests.load(onnx: ONNXFixtures.path(name), precision: precision)
        let session = try network.makeSession(inputShapes: fixture.shapes, width: 1)
        return try #require(try session.run(fixture.tensors, scope: .serial())["y"])
    }

    @Test("have networks to be measured with")
    func fixtures() { #expect(Self.entries.count == 6) }

    @Test(
        "stay within their bounds on whole networks",
        arguments: entries,
        [(InferencePrecision.exact, 5e-6), (.float32, 5e-6), (.bfloat16, 2e-2)]
    )
    func bounds(_ entry: Entry, _ bound: (precision: InferencePrecision, error: Double)) throws {
        let expected = try Self.expected(entry)
        let found = try Self.run(entry.name, bound.precision)
        #expect(found.shape == entry.shape)
        let error = difference(found.values, expected).rootMeanSquare / Self.rootMeanSquare(expected)
        #expect(error <= bound.error)
        // Rounding to eight bits shows; without it, this would measure float32.
        if bound.precision == .bfloat16 { #expect(error > 1e-4) }
    }

    @Test("of bfloat16 are the same to the bit for any number of threads", arguments: entries)
    func determinism(_ entry: Entry) async throws {
        let fixture = try ONNXFixtures.named(entry.name)
        let network = try BuiltinEngine.ofTests.load(onnx: ONNXFixtures.path(entry.name), precision: .bfloat16)
        let (tensors, shapes) = (fixture.tensors, fixture.shapes)
        let results = try await resultsForWidths { scope in
            try network.makeSession(inputShapes: shapes, width: scope.width).run(tensors, scope: scope)
        }
        #expect(results.allSatisfy { $0 == results[0] })
    }

    @Test("are all taken, and say what computes them", arguments: InferencePrecision.allCases)
    func names(_ precision: InferencePrecision) throws {
        #expect(BuiltinEngine.precisions.contains(precision))
        let network = try BuiltinEngine.ofTests.load(onnx: ONNXFixtures.path("relu"), precision: precision)
        let plain = ["baseline", "avx2", "avx512"]
        let bfloat16 = plain.map { $0 + ", operands rounded" } + ["avx512-bf16", "amx", "amx-model"]
        let split = ["amx, split in three", "amx-model, split in three"]
        let names = precision == .bfloat16 ? bfloat16 : precision == .float32 ? plain + split : plain
        #expect(names.contains(network.instructionSet))
    }

    @Test("use no higher instruction set than the environment names", arguments: InferencePrecision.allCases)
    func limits(_ precision: InferencePrecision) throws {
        func name(_ limit: String) throws -> String {
            try BuiltinEngine(environment: ["NOCTURNE_ISA": limit]).load(
                onnx: ONNXFixtures.path("relu"),
                precision: precision
            ).instructionSet
        }
        let suffix = precision == .bfloat16 ? ", operands rounded" : ""
        #expect(try name("baseline") == "baseline" + suffix)
        #expect(["baseline", "avx2"].map { $0 + suffix }.contains(try name("avx2")))
        #expect(["baseline", "avx2", "avx512"].map { $0 + suffix }.contains(try name("avx512")))
        let unlimited = try BuiltinEngine().load(onnx: ONNXFixtures.path("relu"), precision: precision).instructionSet
        #expect(try name("no such instruction set") == unlimited)
        #expect(try name("") == unlimited)
    }
}
