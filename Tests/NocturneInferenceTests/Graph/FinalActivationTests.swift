import Foundation
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("Activations at the end of networks")
struct FinalActivationTests {
    typealias B = ONNXBytes

    /// The activations of a network whose operators follow each other; the values between them are its outputs, from the last one.
    private func activations(_ operators: [String]) throws -> [FinalActivation?] {
        let names = ["x"] + operators.indices.map { "y\($0)" }
        let data = B.model(
            nodes: operators.enumerated().map { B.node($1, [names[$0]], [names[$0 + 1]]) },
            inputs: [B.value("x", dims: [1, 2, 8, 8])],
            outputs: names.dropFirst().reversed().map { B.value($0, dims: [1, 2, 8, 8]) }
        )
        return try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "network.onnx")
            return try BuiltinEngine().load(onnx: file.path, precision: .float32).outputs.map(\.activation)
        }
    }

    @Test("Softmax and Sigmoid are found, also before casts, bounds and changes of shape")
    func found() throws {
        #expect(try activations(["Relu", "Softmax"]) == [.softmax, nil])
        #expect(try activations(["Sigmoid"]) == [.sigmoid])
        #expect(try activations(["Softmax", "Cast", "Identity", "Reshape"])[0] == .softmax)
        #expect(try activations(["Softmax", "Clip"])[0] == .softmax)
        #expect(try activations(["Sigmoid", "Squeeze", "Unsqueeze", "Transpose"])[0] == .sigmoid)
    }

    @Test("What changes the values after them is not looked through")
    func changed() throws {
        #expect(try activations(["Softmax", "Relu"]) == [nil, .softmax])
        #expect(try activations(["Sigmoid", "Identity", "Neg", "Identity"]).prefix(2) == [nil, nil])
        #expect(try activations(["Relu", "Identity"]) == [nil, nil])
    }
}
