import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("The weights of a network as they were read")
struct WeightsAsReadTests {
    typealias B = ONNXBytes

    /// A convolution of 4 to 4 channels.
    private func network(_ folder: TemporaryFolder, opsAfter: [[UInt8]] = []) throws -> String {
        var random = SplitMix64(seed: 4)
        let raw = random.floats(4 * 4 * 27).withUnsafeBytes(Array.init)
        let pads = B.attribute("pads", ints: [1, 1, 1, 1, 1, 1])
        let data = B.model(
            nodes: [B.node("Conv", ["x", "w"], ["y"], attributes: [pads])] + opsAfter,
            tensors: [B.tensor("w", dims: [4, 4, 3, 3, 3], type: 1, raw: raw)],
            inputs: [B.value("x", dims: [1, 4, 5, 6, 7])],
            outputs: [B.value("y", dims: [1, 4, 5, 6, 7])]
        )
        return try folder.write([UInt8](data), to: "network.onnx").path
    }

    @Test("are freed once they are packed, and read again for the next plan; a file that has changed is refused")
    func freed() throws {
        var random = SplitMix64(seed: 5)
        let input = Tensor(shape: [1, 4, 5, 6, 7], values: random.floats(4 * 5 * 6 * 7))
        try TemporaryFolder.with { folder in
            let network = try BuiltinEngine().load(onnx: try network(folder), precision: .float32)
            func run() throws -> Tensor? {
                try network.makeSession(inputShapes: [:], width: 1).run(["x": input], scope: .serial())["y"]
            }
            let first = try #require(try run())
            #expect(network.weightBytes == network.packedBytes)
            network.dropPlans()
            #expect(try run() == first)
            // The plan is in memory, whatever happens to the file.
            _ = try self.network(folder, opsAfter: [B.node("Relu", ["y"], ["z"])])
            #expect(try run() == first)
            network.dropPlans()
            #expect(throws: ModelFormatError.self) { try run() }
        }
    }

    @Test("are kept where the packed weights of several networks exceed their limit")
    func kept() throws {
        try TemporaryFolder.with { folder in
            let path = try network(folder)
            let engine = BuiltinEngine().sharing(PackedWeights(limit: 1))
            let networks = try (0..<2).map { _ in try engine.load(onnx: path, precision: .float32) }
            for network in networks { _ = try network.workspaceBytes(inputShapes: [:], width: 1) }
            #expect(networks.allSatisfy { $0.weightBytes == $0.packedBytes + 4 * 4 * 27 * 4 })
        }
    }
}
