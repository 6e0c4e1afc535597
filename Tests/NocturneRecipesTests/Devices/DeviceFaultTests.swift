import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization
import Testing

@Suite("A device that fails")
struct DeviceFaultTests {
    private static let shape = VolumeShape(x: 40, y: 40, z: 40)

    private func bench() throws -> BatchBench {
        let bench = try BatchBench()
        for (name, edge) in [("one", 8), ("two", 12), ("three", 20)] {
            try bench.addBox("\(name).nii.gz", shape: Self.shape, edge: edge)
        }
        return bench
    }

    private func result(_ item: String, _ bench: BatchBench) throws -> JSONValue {
        let bytes = try FileSystem.read(bench.output.item(item) + "/result.json")
        return try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    }

    @Test(
        "in the middle of an item gives the labels of the processor, with a note that says so",
        arguments: [FaultyEngine.Fault.lost, .outOfMemory, .wrong, .notANumber],
        [false, true]
    )
    func items(fault: FaultyEngine.Fault, keepsTiles: Bool) async throws {
        let options = SegmentationOptions.labelsOnly
        let expected = try bench()
        try await expected.run(options)
        for from in [1, 8, 34] {
            let found = try bench()
            let engine = FaultyEngine(fault, from: from, keepsTiles: keepsTiles)
            let outcome = try await found.run(options, engine: engine)
            #expect(outcome.counts.completed == 3)
            var substitutes = 0
            for item in ["one", "two", "three"] {
                #expect(try found.labels(item) == expected.labels(item))
                let result = try result(item, found)
                var notes: [String] = []
                if case .array(let values) = result["notes"] { notes = values.compactMap(\.text) }
                if result["engine"]?["name"]?.text == "builtin" {
                    substitutes += 1
                    #expect(notes.contains { $0.contains("cuda:0 (stand-in) failed") })
                    #expect(result["engine"]?["instructionSet"]?.text != "stand-in")
                } else {
                    #expect(result["engine"]?["name"]?.text == "onnxruntime" && notes.isEmpty)
                    #expect(result["engine"]?["instructionSet"]?.text == "stand-in")
                }
            }
            #expect((substitutes > 0) == (engine.state.fault != nil))
            #expect((engine.residents.value > 0) == (keepsTiles && (from > 1 || fault != .outOfMemory)))
        }
    }

    @Test(
        "that computed other values for items that are done: they are made again on the processor, whenever that is found",
        arguments: [false, true]
    )
    func doubted(keepsTiles: Bool) async throws {
        let options = SegmentationOptions.labelsOnly
        let expected = try bench()
        try await expected.run(options)
        let good = FaultyEngine(.none, from: 1, keepsTiles: keepsTiles)
        try await bench().run(options, engine: good)
        let total = good.runs.value
        #expect(total > 12)
        // The first check passes; the next one comes in the last item, long after the first one is in place.
        let found = try bench()
        let engine = FaultyEngine(.negated, from: total / 6, interval: total - 1, keepsTiles: keepsTiles)
        let completed = Mutex<[String]>([])
        let outcome = try await found.run(options, engine: engine) { event, _ in
            if event.event == .itemCompleted, let item = event.item { completed.withLock { $0.append(item) } }
        }
        #expect(outcome.counts.completed == 3 && outcome.counts.failed == 0)
        #expect(engine.state.fault?.contains("differs") == true)
        // Two are made again; the last one is repeated before it completes.
        #expect(completed.withLock { $0 }.count == 5)
        for item in ["one", "two", "three"] {
            #expect(try found.labels(item) == expected.labels(item))
            #expect(try result(item, found)["engine"]?["name"]?.text == "builtin")
        }
    }

    @Test("is not doubted for what a good check came after")
    func proved() async throws {
        let options = SegmentationOptions.labelsOnly
        let good = FaultyEngine(.none, from: 1)
        try await bench().run(options, engine: good)
        let total = good.runs.value
        let found = try bench()
        // Every run is checked, and the last one is wrong.
        let engine = FaultyEngine(.negated, from: total, interval: 1)
        let completed = Counter()
        let outcome = try await found.run(options, engine: engine) { event, _ in
            if event.event == .itemCompleted { _ = completed.next() }
        }
        #expect(outcome.counts.completed == 3 && completed.value == 3 && engine.state.fault != nil)
    }

    @Test("that computes other values is found within the interval of checks", arguments: [1, 7, 50])
    func recheck(interval: Int) throws {
        let path = Fixtures.url("Models/threshold/network.onnx").path
        for from in [1, 2, 10, 60] {
            let engine = FaultyEngine(.wrong, from: from, interval: interval)
            let network = try engine.load(onnx: path, precision: .float32)
            let input = try #require(network.inputs.first)
            let shape = input.shape.map { $0 ?? 16 }
            let session = try network.makeSession(inputShape: shape, width: 1)
            let values = (0..<shape.reduce(1, *)).map { Float($0 % 11) - 5 }
            let tensor = Tensor(shape: shape, values: values)
            var runs = 0
            let fault = #expect(throws: DeviceFault.self) {
                while runs < 1000 {
                    runs += 1
                    _ = try session.run([input.name: tensor], scope: .serial())
                }
            }
            #expect(runs < from + interval && fault?.reason.contains("differs") == true)
            // The processor takes the device's place.
            let builtin = try BuiltinEngine().load(onnx: path, precision: .float32)
            let expected = try builtin.makeSession(inputShape: shape, width: 1)
                .run([input.name: tensor], scope: .serial())
            #expect(try session.run([input.name: tensor], scope: .serial()) == expected)
            #expect(network.instructionSet == builtin.instructionSet && network.substitute?.engine == "builtin")
        }
    }

    @Test("is not proved by a patch of one value, nor stopped by wrong input of a caller")
    func proof() throws {
        let path = Fixtures.url("Models/threshold/network.onnx").path
        let engine = FaultyEngine(.wrong, from: 1, interval: 0)
        let network = try engine.load(onnx: path, precision: .float32)
        let input = try #require(network.inputs.first)
        let shape = input.shape.map { $0 ?? 16 }
        let session = try network.makeSession(inputShape: shape, width: 1)
        func run(_ value: (Int) -> Float) throws {
            let tensor = Tensor(shape: shape, values: (0..<shape.reduce(1, *)).map(value))
            _ = try session.run([input.name: tensor], scope: .serial())
        }
        try run { _ in 3 }
        #expect(throws: ModelFormatError.self) { try session.run([:], scope: .serial()) }
        #expect(engine.state.fault == nil)
        #expect(throws: DeviceFault.self) { try run { Float($0 % 5) } }
    }
}
