internal import NocturneCore

/// Binds the tensors of one run to the inputs and outputs of a network, in the network's order.
///
/// Engines pass the pointers to their kernels or libraries; this type checks, copies and names the tensors.
struct TensorBinding {
    typealias Port = (name: String, shape: [Int])
    /// The pointers are valid during the call only.
    typealias Run = (_ inputs: [UnsafePointer<Float>], _ outputs: [UnsafeMutablePointer<Float>]) throws -> Void

    /// The path, used in errors.
    let network: String
    let inputs: [Port]
    let outputs: [Port]

    var inputShapes: [String: [Int]] { Self.shapes(inputs) }
    var outputShapes: [String: [Int]] { Self.shapes(outputs) }

    /// Runs a network that has one input, and writes its first output.
    /// - Throws: ``ModelFormatError`` when the buffers do not have the sizes of the shapes; `AllocationError`.
    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        _ body: Run
    ) throws {
        guard inputs.count == 1, outputs.count >= 1 else {
            throw mismatch("it has \(inputs.count) inputs, and one was given")
        }
        try check(input.count, inputs[0], "input")
        try check(output.count, outputs[0], "output")
        guard let from = input.baseAddress, let to = output.baseAddress else { throw mismatch("an empty buffer") }
        // Outputs that were not requested need memory too; OpenVINO keeps using the last buffer it was given.
        var others: [VoxelBuffer<Float>.Box] = []
        for other in outputs.dropFirst() { others.append(try .init(count: other.shape.reduce(1, *))) }
        try withExtendedLifetime(others) { try body([from], [to] + others.map(\.pointer)) }
    }

    /// Runs a network with any number of inputs and outputs, by name.
    func run(_ tensors: [String: Tensor], _ body: Run) throws -> [String: Tensor] {
        let given = try inputs.map { try box(of: $0, among: tensors) }
        let results = try outputs.map { try VoxelBuffer<Float>.Box(count: $0.shape.reduce(1, *)) }
        return try withExtendedLifetime((given, results)) {
            try body(given.map { UnsafePointer($0.pointer) }, results.map(\.pointer))
            var found: [String: Tensor] = [:]
            for (output, box) in zip(outputs, results) {
                let values = Array(UnsafeBufferPointer(start: box.pointer, count: output.shape.reduce(1, *)))
                found[output.name] = Tensor(shape: output.shape, values: values)
            }
            return found
        }
    }

    func mismatch(_ reason: String) -> ModelFormatError { .shapeMismatch(network: network, reason: reason) }

    static func shapes(_ ports: [Port]) -> [String: [Int]] {
        Dictionary(ports.map { ($0.name, $0.shape) }, uniquingKeysWith: { first, _ in first })
    }

    private func box(of input: Port, among tensors: [String: Tensor]) throws -> VoxelBuffer<Float>.Box {
        guard let tensor = tensors[input.name] else { throw mismatch("the input '\(input.name)' was not given") }
        guard tensor.shape == input.shape else {
            throw mismatch("the input '\(input.name)' has shape \(tensor.shape) instead of \(input.shape)")
        }
        let box = try VoxelBuffer<Float>.Box(count: tensor.values.count)
        tensor.values.withUnsafeBufferPointer { values in
            guard let base = values.baseAddress else { return }
            box.pointer.update(from: base, count: values.count)
        }
        return box
    }

    private func check(_ count: Int, _ port: Port, _ role: String) throws {
        guard count == port.shape.reduce(1, *) else {
            throw mismatch("the \(role) '\(port.name)' of shape \(port.shape) was given \(count) values")
        }
    }
}
