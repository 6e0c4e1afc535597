import NocturneInference
import NocturneSystem
import Testing

@Suite("Devices")
struct InferenceDeviceTests {
    @Test("are named by a word, and a number for a GPU")
    func names() {
        for text in ["auto", "cpu", "cuda:0", "cuda:7"] {
            #expect(InferenceDevice(rawValue: text)?.rawValue == text)
        }
        #expect(InferenceDevice(rawValue: "cuda") == .cuda(0))
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:01", "cuda:x", "cpu:0", "cuda:0:1", "cuda:1024"] {
            #expect(InferenceDevice(rawValue: text) == nil)
        }
    }

    @Test("a device that is demanded is had, or the reason is given", arguments: ["builtin", "auto", "onnxruntime"])
    func demanded(engine name: String) throws {
        let environment = ["NOCTURNE_DEVICE": "cuda:900", "NOCTURNE_ONNXRUNTIME": "/nowhere"]
        let error = #expect(throws: (any Error).self) {
            try InferenceEngines.all.engine(
                named: name,
                for: [ONNXFixtures.path("relu")],
                environment: environment
            )
        }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains(name == "builtin" ? "cuda:900" : "/nowhere"))
    }

    @Test("a library without a usable GPU names what is missing")
    func absence() throws {
        guard let engine = InstalledEngine.named("onnxruntime")?.engine else { return }
        let environment = InstalledEngine.environment.merging(["NOCTURNE_DEVICE": "cuda:900"]) { $1 }
        let error = #expect(throws: EngineError.self) { try ONNXRuntimeEngine(environment: environment) }
        #expect(error?.description.hasPrefix("cuda:900 cannot be used: ") == true)
        #expect(engine.device == "cpu" && engine.identity == "onnxruntime")
        #expect(engine.facts.contains("networks run on cpu") && engine.facts.contains("CPU"))
    }
}
