import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("The registry of engines")
struct EngineRegistryTests {
    /// The line that adds an engine.
    static let engines = InferenceEngines(InferenceEngines.all.kinds + [NegatingEngine.kind])

    @Test("Names, titles and choices come from the table alone")
    func names() {
        let names = InferenceEngines.all.names
        #expect(names.first == "auto" && names.contains("builtin") && Set(names).count == names.count)
        #expect(EngineChoice.allCases.map(\.rawValue) == names)
        #expect(EngineChoice(rawValue: "negating") == nil)
        #expect(Self.engines.names.last == "negating")
        #expect(Self.engines.kinds.allSatisfy { !$0.title.isEmpty })
    }

    @Test("An engine that was added is selected by its name and runs networks")
    func added() throws {
        let path = ONNXFixtures.path("relu")
        func run(_ name: String) throws -> Tensor {
            let engine = try Self.engines.engine(named: name, for: [path], environment: [:])
            #expect(engine.name == name)
            let network = try engine.load(onnx: path, precision: .float32)
            let input = try #require(network.inputs.first)
            let shape = input.shape.map { $0 ?? 2 }
            let values = (0..<shape.reduce(1, *)).map { Float($0 % 7) - 3 }
            let session = try network.makeSession(inputShape: shape, width: 1)
            let found = try session.run([input.name: Tensor(shape: shape, values: values)], scope: .serial())
            return try #require(found[network.outputs[0].name])
        }
        let (plain, negated) = (try run("builtin"), try run("negating"))
        #expect(plain.values.contains { $0 > 0 })
        #expect(negated.values == plain.values.map { -$0 } && negated.shape == plain.shape)
    }

    @Test("auto asks in the order of the table, and says of each engine why it is not the one")
    func order() throws {
        let path = ONNXFixtures.path("relu")
        let first = InferenceEngines([NegatingEngine.kind, BuiltinEngine.kind])
        #expect(try first.engine(named: "auto", for: [path], environment: [:]).name == "negating")
        #expect(try first.engine(named: "auto", for: [path], precision: .bfloat16, environment: [:]).name == "builtin")
        let alone = InferenceEngines([NegatingEngine.kind])
        let error = #expect(throws: EngineChoiceError.self) {
            try alone.engine(named: "auto", for: [path], precision: .bfloat16, environment: [:])
        }
        #expect(error?.description == "the negating engine does not offer bfloat16 on this processor")
        #expect(throws: EngineChoiceError.unknownName("cuda", known: ["auto", "negating"])) {
            try alone.engine(named: "cuda", for: [path], environment: [:])
        }
    }
}
