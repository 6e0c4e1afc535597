import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

/// Impossible forms of the operators of transformers end in a ``ModelFormatError`` that names the node.
@Suite("Hostile layers and indices")
struct HostileLayersTests {
    typealias B = ONNXBytes

    private static let shape: [Int64] = [1, 2, 8, 8]

    private func model(
        _ op: String,
        _ more: [String] = [],
        tensors: [[UInt8]] = [],
        attributes: [[UInt8]] = [],
        before: [[UInt8]] = []
    ) -> Data {
        B.model(
            nodes: before + [B.node(op, ["x"] + more, ["y"], attributes: attributes)],
            tensors: tensors,
            inputs: [B.value("x", dims: Self.shape)],
            outputs: [B.value("y", dims: Self.shape)],
            opset: 20
        )
    }

    private func use(_ data: Data, run values: [Float]? = nil) throws {
        try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "hostile.onnx")
            let network = try BuiltinEngine().load(onnx: file.path, precision: .float32)
            let session = try network.makeSession(inputShapes: [:], width: 1)
            guard let values else { return }
            _ = try session.run(["x": Tensor(shape: Self.shape.map(Int.init), values: values)], scope: .serial())
        }
    }

    /// The error names the operator and the node.
    private func expectRefusal(_ op: String, _ data: Data, sourceLocation: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: ModelFormatError.self, sourceLocation: sourceLocation) { try use(data) }
        #expect(error?.description.contains(op) == true, sourceLocation: sourceLocation)
    }

    @Test("axes that the tensor has not", arguments: [4, -5, Int64.max, Int64.min] as [Int64])
    func axes(axis: Int64) {
        let attribute = B.attribute("axis", int: axis)
        let ones = B.tensor("w", dims: [8], raw: B.floats(8))
        let index = B.tensor("k", integers: [0])
        expectRefusal(
            "'the LayerNormalization'",
            model("LayerNormalization", ["w"], tensors: [ones], attributes: [attribute])
        )
        for op in ["ArgMax", "ArgMin"] { expectRefusal("'the \(op)'", model(op, attributes: [attribute])) }
        let one = B.tensor("k", integers: [1])
        expectRefusal("'the TopK'", model("TopK", ["k"], tensors: [one], attributes: [attribute]))
        expectRefusal("'the CumSum'", model("CumSum", ["k"], tensors: [B.tensor("k", integers: [axis])]))
        expectRefusal("'the GatherElements'", model("GatherElements", ["k"], tensors: [index], attributes: [attribute]))
        let softmax = model("Softmax", attributes: [attribute])
        expectRefusal("'the Softmax'", softmax)
    }

    @Test("constant indices that are out of range", arguments: [8, -9, Int64.max, Int64.min] as [Int64])
    func constantIndices(index: Int64) {
        let elements = B.tensor("k", dims: [1, 1, 1, 1], integers: [index])
        let updates = B.tensor("u", dims: [1, 1, 1, 1], raw: B.floats(1))
        let last = B.attribute("axis", int: 3)
        expectRefusal("'the GatherElements'", model("GatherElements", ["k"], tensors: [elements], attributes: [last]))
        let scattered = model("ScatterElements", ["k", "u"], tensors: [elements, updates], attributes: [last])
        expectRefusal("'the ScatterElements'", scattered)
        let place = B.tensor("k", dims: [1, 4], integers: [0, 0, 0, index])
        expectRefusal("'the GatherND'", model("GatherND", ["k"], tensors: [place]))
        let update = B.tensor("u", dims: [1], raw: B.floats(1))
        expectRefusal("'the ScatterND'", model("ScatterND", ["k", "u"], tensors: [place, update]))
    }

    @Test("indices found at run time that are out of range fail the run", arguments: [8, -9, 1e30, .nan] as [Float])
    func foundIndices(index: Float) throws {
        let cast = B.node("Cast", ["x"], ["i"], attributes: [B.attribute("to", int: 7)])
        let data = model("GatherElements", ["i"], attributes: [B.attribute("axis", int: 3)], before: [cast])
        var values = [Float](repeating: 7, count: 128)
        try use(data, run: values)
        values[100] = index
        let error = #expect(throws: ModelFormatError.self) { try use(data, run: values) }
        #expect(error?.description.contains("'the GatherElements': index") == true)
    }

    @Test("numbers of elements and repeats", arguments: [0, -1, 9, Int64.max, Int64.min] as [Int64])
    func counts(count: Int64) {
        expectRefusal("'the TopK'", model("TopK", ["k"], tensors: [B.tensor("k", integers: [count])]))
        guard count != 9 else { return }
        expectRefusal("'the Tile'", model("Tile", ["k"], tensors: [B.tensor("k", integers: [1, 1, 1, count])]))
        let blocks = [B.attribute("blocksize", int: count)]
        expectRefusal("'the DepthToSpace'", model("DepthToSpace", attributes: blocks))
        expectRefusal("'the SpaceToDepth'", model("SpaceToDepth", attributes: blocks))
    }

    @Test("a diagonal of any number is taken or refused", arguments: [Int64.min, -1, 0, 9, Int64.max] as [Int64])
    func diagonals(diagonal: Int64) throws {
        do {
            try use(model("Trilu", ["k"], tensors: [B.tensor("k", integers: [diagonal])]))
        } catch is ModelFormatError {}
    }

    @Test("shapes of scales and indices that do not fit")
    func shapes() {
        let three = B.tensor("w", dims: [3], raw: B.floats(3))
        expectRefusal("'the LayerNormalization'", model("LayerNormalization", ["w"], tensors: [three]))
        expectRefusal("'the LayerNormalization'", model("LayerNormalization"))
        let deep = B.tensor("k", dims: [1, 5], integers: [0, 0, 0, 0, 0])
        expectRefusal("'the GatherND'", model("GatherND", ["k"], tensors: [deep]))
        expectRefusal("'the ScatterND'", model("ScatterND", ["k", "x"], tensors: [deep]))
        let batch = [B.attribute("batch_dims", int: -1)]
        expectRefusal("'the GatherND'", model("GatherND", ["k"], tensors: [deep], attributes: batch))
        expectRefusal("'the GatherElements'", model("GatherElements", ["k"], tensors: [deep]))
        expectRefusal("'the Tile'", model("Tile", ["k"], tensors: [B.tensor("k", integers: [2])]))
    }

    @Test(
        "equations that are malformed or of other forms are refused by name",
        arguments: [
            "", "->", "abcd->abcde", "aacd->ac", "...cd->cd", "abcd,efgh", "abc->a", "abcd->aa", "a,b->ab",
            "ab\u{301}cd->a",
        ]
    )
    func equations(equation: String) {
        expectRefusal("Einsum", model("Einsum", attributes: [B.attribute("equation", string: equation)]))
    }

    @Test("unknown forms are refused by name")
    func forms() {
        expectRefusal("Gelu", model("Gelu", attributes: [B.attribute("approximate", string: "best")]))
        let index = B.tensor("k", dims: [1, 1], integers: [0])
        let odd = [B.attribute("reduction", string: "median")]
        let update = B.tensor("u", dims: [1, 2, 8, 8], raw: B.floats(128))
        expectRefusal("ScatterND", model("ScatterND", ["k", "u"], tensors: [index, update], attributes: odd))
    }

    @Test(
        "files with changed bytes fail cleanly or load",
        arguments: [
            "attention-windows", "linear-residual", "topk", "scatterelements-add", "einsum-tokens", "folded-indices",
            "layernorm-axes", "gathernd-batch", "tile", "trilu", "depthtospace", "integer-division",
        ]
    )
    func flipped(name: String) throws {
        let data = try Data(contentsOf: ONNXFixtures.folder.appending(path: name + ".onnx"))
        var generator = SplitMix64(seed: 11)
        for _ in 0..<100 {
            var changed = data
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<changed.count, using: &generator)
                changed[changed.startIndex + place] = UInt8.random(in: 0...255, using: &generator)
            }
            do { try use(changed) } catch is ModelFormatError {}
        }
    }
}
