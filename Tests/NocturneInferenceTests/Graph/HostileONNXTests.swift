import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

/// Files that are damaged or written to do harm must end in a ``ModelFormatError``, never in a crash or in memory taken
/// on a field's word.
@Suite("Hostile ONNX files")
struct HostileONNXTests {
    typealias B = ONNXBytes

    /// Loads a file and plans it, as a run would.
    private func use(_ data: Data) throws {
        try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "hostile.onnx")
            let network = try BuiltinEngine().load(onnx: file.path, precision: .float32)
            _ = try network.workspaceBytes(inputShapes: [:], width: 1)
        }
    }

    private func refusal(_ data: Data) -> ModelFormatError? {
        #expect(throws: ModelFormatError.self) { try use(data) }
    }

    private static let x = B.value("x", dims: [1, 2, 8, 8])
    private static let y = B.value("y", dims: [1, 2, 8, 8])

    private func oneNode(
        _ op: String,
        _ more: [String] = [],
        tensors: [[UInt8]] = [],
        attributes: [[UInt8]] = []
    ) -> Data {
        B.model(
            nodes: [B.node(op, ["x"] + more, ["y"], attributes: attributes)],
            tensors: tensors,
            inputs: [Self.x],
            outputs: [Self.y]
        )
    }

    @Test("a well-formed file of the same writer is taken")
    func control() throws { try use(oneNode("Relu")) }

    @Test("a missing file is named")
    func missing() {
        let error = #expect(throws: ModelFormatError.self) {
            try BuiltinEngine().load(onnx: "/nowhere/model.onnx", precision: .float32)
        }
        #expect(error?.description.contains("/nowhere/model.onnx") == true)
    }

    @Test("every truncated file fails cleanly", arguments: ["unet3d-open-shape", "shape-arithmetic", "conv2d"])
    func truncated(name: String) throws {
        let data = try Data(contentsOf: ONNXFixtures.folder.appending(path: name + ".onnx"))
        for length in stride(from: 0, to: data.count, by: max(1, data.count / 150)) {
            do { try use(data.prefix(length)) } catch is ModelFormatError {}
        }
        #expect(refusal(Data()) != nil)
        #expect(refusal(data.prefix(data.count / 2)) != nil)
    }

    @Test(
        "files with changed bytes fail cleanly or load",
        arguments: [
            "shape-arithmetic", "conv2d-stride", "pooled-slice-pad", "resize2d-linear-scales", "gather-matrix", "split",
        ]
    )
    func flipped(name: String) throws {
        let data = try Data(contentsOf: ONNXFixtures.folder.appending(path: name + ".onnx"))
        var generator = SplitMix64(seed: 7)
        for _ in 0..<150 {
            var changed = data
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<changed.count, using: &generator)
                changed[changed.startIndex + place] = UInt8.random(in: 0...255, using: &generator)
            }
            do { try use(changed) } catch is ModelFormatError {}
        }
    }

    @Test("unsupported operators are all named at once")
    func unsupported() {
        let data = B.model(
            nodes: [
                B.node("NonMaxSuppression", ["x"], ["a"]), B.node("Relu", ["a"], ["b"]), B.node("LSTM", ["b"], ["c"]),
                B.node("Gelu", ["c"], ["y"], domain: "com.microsoft"),
            ],
            inputs: [Self.x],
            outputs: [Self.y]
        )
        #expect(refusal(data) == .unsupportedOperators(["LSTM", "NonMaxSuppression", "com.microsoft.Gelu"]))
        let training = B.attribute("training_mode", int: 1)
        #expect(
            refusal(oneNode("BatchNormalization", ["x", "x", "x", "x"], attributes: [training]))
                == .unsupportedOperators(["BatchNormalization (training)"])
        )
    }

    @Test("cycles, values read but never made and values made twice are refused")
    func wiring() {
        let cycle = B.model(
            nodes: [B.node("Add", ["x", "b"], ["a"]), B.node("Relu", ["a"], ["b"]), B.node("Relu", ["b"], ["y"])],
            inputs: [Self.x],
            outputs: [Self.y]
        )
        #expect(refusal(cycle)?.description.contains("cycle") == true)
        #expect(refusal(oneNode("Conv", ["w"]))?.description.contains("'w'") == true)
        let twice = B.model(
            nodes: [B.node("Relu", ["x"], ["y"]), B.node("Relu", ["x"], ["y"])],
            inputs: [Self.x],
            outputs: [Self.y]
        )
        #expect(refusal(twice)?.description.contains("twice") == true)
        let lost = B.model(nodes: [B.node("Relu", ["x"], ["z"])], inputs: [Self.x], outputs: [Self.y])
        #expect(refusal(lost)?.description.contains("'y'") == true)
        #expect(refusal(B.model(nodes: [], inputs: [Self.x], outputs: [])) != nil)
    }

    @Test("nodes out of order are put in order")
    func disorder() throws {
        try use(
            B.model(
                nodes: [B.node("Relu", ["a"], ["y"]), B.node("Sigmoid", ["x"], ["a"])],
                inputs: [Self.x],
                outputs: [Self.y]
            )
        )
    }

    @Test("weights in other files are refused, with the tensor's name and how to save a single file")
    func external() {
        let weights = B.tensor("w", dims: [2, 2, 1, 1], raw: [], external: true)
        let error = refusal(oneNode("Conv", ["w"], tensors: [weights]))
        guard case .externalData(_, "w") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.description.contains("external_data=False") == true)
    }

    @Test(
        "dimensions that the data does not fill are refused before memory is taken",
        arguments: [
            [1 << 39, 1 << 39, 1, 1], [2, 2, 1, 2], [-1, 2, 1, 1], [Int64.max, 2, 1, 1], [1 << 35, 1, 1, 1],
            [0, 2, 1, 1],
            [1, 1, 1, 1, 1, 1, 1, 1, 4],
        ] as [[Int64]]
    )
    func dimensions(dims: [Int64]) {
        let weights = B.tensor("w", dims: dims, raw: B.floats(4))
        #expect(refusal(oneNode("Conv", ["w"], tensors: [weights])) != nil)
    }

    @Test("unknown element types are refused", arguments: [0, 8, 14, 17, 99, -1] as [Int64])
    func types(type: Int64) {
        let weights = B.tensor("w", dims: [2, 2, 1, 1], type: type, raw: B.floats(4))
        #expect(refusal(oneNode("Conv", ["w"], tensors: [weights])) != nil)
        let input = B.model(
            nodes: [B.node("Relu", ["x"], ["y"])],
            inputs: [B.value("x", dims: [1], type: type)],
            outputs: [Self.y]
        )
        #expect(refusal(input) != nil)
    }

    @Test(
        "absurd attributes of windows are refused",
        arguments: [
            ("strides", [0, 0]), ("strides", [-1, 1]), ("strides", [Int64.max, 1]), ("pads", [Int64.max, 0, 0, 0]),
            ("pads", [Int64.min, 0, 0, 0]), ("pads", [1, 1]), ("dilations", [Int64.max, Int64.max]),
            ("dilations", [0, 1]),
            ("kernel_shape", [5, 5]), ("pads", [-9, 0, 0, 0]),
        ] as [(String, [Int64])]
    )
    func windows(attribute: (String, [Int64])) {
        let weights = B.tensor("w", dims: [2, 2, 3, 3], raw: B.floats(36))
        let changed = B.attribute(attribute.0, ints: attribute.1)
        #expect(refusal(oneNode("Conv", ["w"], tensors: [weights], attributes: [changed])) != nil)
        let transposed = oneNode("ConvTranspose", ["w"], tensors: [weights], attributes: [changed])
        // A large crop or spread can be right for a transposed convolution; it must only not crash.
        do { try use(transposed) } catch is ModelFormatError {} catch { Issue.record("\(error)") }
        guard attribute.0 != "kernel_shape" else { return }
        let pool = oneNode("MaxPool", attributes: [B.attribute("kernel_shape", ints: [3, 3]), changed])
        #expect(refusal(pool) != nil)
    }

    @Test("groups that do not divide the channels are refused", arguments: [0, -1, 3, Int64.max, Int64.min] as [Int64])
    func groups(groups: Int64) {
        let weights = B.tensor("w", dims: [2, 2, 1, 1], raw: B.floats(4))
        let attribute = B.attribute("group", int: groups)
        #expect(refusal(oneNode("Conv", ["w"], tensors: [weights], attributes: [attribute])) != nil)
    }

    @Test(
        "absurd shapes and indices are refused",
        arguments: [
            ("Reshape", [Int64.max, 2]), ("Reshape", [-2, -64]), ("Reshape", [-1, -1]), ("Reshape", [0, 0, 0, 0, 0]),
            ("Expand", [Int64.max, 2, 8, 8]), ("Expand", [1 << 30, 2, 8, 8]), ("Gather", [2]), ("Gather", [Int64.min]),
            ("Pad", [Int64.max, 0, 0, 0, 0, 0, 0, 0]), ("Pad", [0, 0]), ("Pad", [0, 0, -8, 0, 0, 0, 0, 0]),
            ("Squeeze", [1]), ("Squeeze", [Int64.min]), ("Unsqueeze", [9]), ("Unsqueeze", [0, 0]),
            ("Unsqueeze", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), ("ReduceSum", [Int64.max]), ("Split", [Int64.max]),
        ] as [(String, [Int64])]
    )
    func indices(use: (String, [Int64])) {
        #expect(refusal(oneNode(use.0, ["k"], tensors: [B.tensor("k", integers: use.1)])) != nil)
    }

    @Test(
        "slices of any numbers are clamped or refused",
        arguments: [Int64.min, -1, 0, 3, Int64.max],
        [Int64.min, -1, 0, 3, Int64.max]
    )
    func slices(start: Int64, step: Int64) throws {
        let tensors = [
            B.tensor("s", integers: [start]), B.tensor("e", integers: [Int64.min / 2]), B.tensor("a", integers: [3]),
            B.tensor("t", integers: [step]),
        ]
        do { try use(oneNode("Slice", ["s", "e", "a", "t"], tensors: tensors)) } catch is ModelFormatError {}
    }

    @Test("a constant of absurd shape is refused")
    func constants() {
        let data = B.model(
            nodes: [B.node("ConstantOfShape", ["k"], ["c"]), B.node("Add", ["x", "c"], ["y"])],
            tensors: [B.tensor("k", integers: [1 << 20, 1 << 20, 1 << 20])],
            inputs: [Self.x],
            outputs: [Self.y]
        )
        #expect(refusal(data) != nil)
        let huge = B.model(
            nodes: [B.node("Relu", ["x"], ["y"])],
            inputs: [B.value("x", dims: [1 << 29, 1 << 29])],
            outputs: [Self.y]
        )
        #expect(refusal(huge)?.description.contains("too large") == true)
        let wrong = B.model(nodes: [B.node("Relu", ["x"], ["y"])], inputs: [Self.x], outputs: [Self.y], opset: 99)
        #expect(refusal(wrong)?.description.contains("operator set 99") == true)
    }

    @Test("extents beside a zero that no stride could hold are refused, and ones that fit do not hang")
    func zeroExtents() {
        for dims: [Int64] in [[0, 1 << 39, 1 << 39], [1 << 39, 0]] {
            let data = B.model(
                nodes: [B.node("Add", ["k", "k"], ["c"]), B.node("Add", ["x", "c"], ["y"])],
                tensors: [B.tensor("k", dims: dims, raw: [])],
                inputs: [Self.x],
                outputs: [Self.y]
            )
            #expect(refusal(data) != nil)
        }
    }

    @Test("constants and tables that a few bytes each ask for stay below a sum")
    func floods() {
        let makers = (0..<20).map { B.node("ConstantOfShape", ["k"], ["c\($0)"]) }
        let constants = B.model(
            nodes: makers + [B.node("Relu", ["x"], ["y"])],
            tensors: [B.tensor("k", integers: [1 << 10, 1 << 10])],
            inputs: [Self.x],
            outputs: [Self.y]
        )
        #expect(refusal(constants) != nil)
    }

    @Test("more nodes, inputs or outputs than any network has are refused")
    func counts() {
        let names = (0..<1001).map { "y\($0)" }
        let outputs = B.model(
            nodes: names.map { B.node("Relu", ["x"], [$0]) },
            inputs: [Self.x],
            outputs: names.map { B.value($0, dims: [1, 2, 8, 8]) }
        )
        #expect(refusal(outputs)?.description.contains("1001 outputs") == true)
        let inputs = B.model(
            nodes: [B.node("Relu", ["y0"], ["y"])],
            inputs: names.map { B.value($0, dims: [1, 2, 8, 8]) },
            outputs: [Self.y]
        )
        #expect(refusal(inputs)?.description.contains("1001 inputs") == true)
        let nodes = B.model(
            nodes: [B.node("Relu", ["x"], ["y"])] + (0..<50_000).map { B.node("Relu", ["x"], ["n\($0)"]) },
            inputs: [Self.x],
            outputs: [Self.y]
        )
        #expect(refusal(nodes)?.description.contains("50001 nodes") == true)
    }
}
