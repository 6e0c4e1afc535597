import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

/// The expected values are those of `torch.nn.functional.interpolate` 2.15 and of ONNX Runtime 1.32, which agree.
@Suite("Resize by scales that float32 rounds")
struct ResizeTests {
    typealias B = ONNXBytes

    /// The ramp 0, 1, … of 20 positions, resized.
    private func ramp(scale: Float, mode: String, coordinates: String) throws -> [Float]? {
        let raw = [1, 1, scale].flatMap { value in
            (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> (8 * $0)) }
        }
        let data = B.model(
            nodes: [
                B.node(
                    "Resize",
                    ["x", "", "s"],
                    ["y"],
                    attributes: [
                        B.attribute("mode", string: mode), B.attribute("nearest_mode", string: "floor"),
                        B.attribute("coordinate_transformation_mode", string: coordinates),
                    ]
                )
            ],
            tensors: [B.tensor("s", dims: [3], raw: raw)],
            inputs: [B.value("x", dims: [1, 1, 20])],
            outputs: [B.value("y", dims: [1, 1, 14])]
        )
        return try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "resize.onnx")
            let session = try BuiltinEngine().load(onnx: file.path, precision: .float32)
                .makeSession(inputShapes: [:], width: 1)
            let input = Tensor(shape: [1, 1, 20], values: (0..<20).map(Float.init))
            return try session.run(["x": input], scope: .serial())["y"]?.values
        }
    }

    @Test("the nearest positions are those of float32")
    func nearest() throws {
        let wide = try ramp(scale: 0.7, mode: "nearest", coordinates: "asymmetric")
        #expect(wide == [0, 1, 2, 4, 5, 7, 8, 10, 11, 12, 14, 15, 17, 18])
        let narrow = try ramp(scale: 0.4, mode: "nearest", coordinates: "asymmetric")
        #expect(narrow == [0, 2, 5, 7, 10, 12, 15, 17])
    }

    @Test("linear interpolation has as many positions as float32 gives")
    func linear() throws {
        let found = try #require(try ramp(scale: 0.7, mode: "linear", coordinates: "half_pixel"))
        // (i + 0.5) / 0.7 - 0.5
        let expected = (0..<14).map { (Float($0) + 0.5) / 0.7 - 0.5 }
        #expect(found.count == expected.count && zip(found, expected).allSatisfy { abs($0 - $1) < 1e-5 })
    }
}
