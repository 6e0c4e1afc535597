internal import COpenVINO
internal import NocturneConcurrency
internal import Synchronization

/// A network of OpenVINO. It is read again for every shape, because setting a shape cannot be undone.
final class OpenVINONetwork: LoadedNetwork {
    private static let rememberedPlans = 3

    private struct Key: Hashable {
        var shapes: [String: [Int]]
        var width: Int
    }

    let inputs: [TensorDescription]
    let outputs: [TensorDescription]
    /// The file's size. Memory that OpenVINO allocates for the weights is part of a session's bytes.
    let weightBytes: Int
    let instructionSet: String
    let path: String
    let library: OpenVINOLibrary
    private let precision: InferencePrecision
    /// Oldest first.
    private let plans = Mutex<[(key: Key, plan: OpenVINOPlan)]>([])

    init(_ library: OpenVINOLibrary, path: String, precision: InferencePrecision, fileBytes: Int) throws {
        self.library = library
        self.path = path
        self.precision = precision
        weightBytes = fileBytes
        instructionSet = OpenVINOEngine.instructionSet(library, precision)
        let graph = try Self.graph(path)
        let model = try OpenVINOModel(library, path: path)
        inputs = Self.named(try model.inputs(), as: graph?.inputs)
        outputs = Self.named(try model.outputs(), as: graph?.outputs)
        guard !outputs.isEmpty else { throw ModelFormatError.malformed(path: path, reason: "the graph has no output") }
    }

    /// The graph as read by Nocturne's own reader, which refuses damaged files before OpenVINO reads them; nil when
    /// weights are stored in other files, which only OpenVINO supports.
    private static func graph(_ path: String) throws -> NetworkGraph? {
        do {
            let graph = try ONNXReader.read(path)
            let wrong = OpenVINODifferences.forms(in: graph)
            guard wrong.isEmpty else { throw OpenVINOError.differs(network: path, forms: wrong) }
            return graph
        } catch ModelFormatError.externalData {
            return nil
        }
    }

    /// A value that passes through nodes without effect has several names, of which OpenVINO reports any one; the order
    /// of inputs and outputs is that of the file.
    private static func named(_ found: [TensorDescription], as known: [TensorDescription]?) -> [TensorDescription] {
        guard let known, known.count == found.count else { return found }
        return zip(found, known).map { TensorDescription(name: $1.name, shape: $0.shape) }
    }

    /// OpenVINO does not report it, so it is measured: the growth of the process's writable private memory, whether
    /// accessed or not, during reading and compiling, plus one eighth, plus the memory for inputs and outputs. The
    /// estimate is rather too high than too low: the first use in a process includes 60 to 130 MB of OpenVINO's own,
    /// and allocations by other threads at the same time are included too (only memory freed in the meantime reduces
    /// it). The width determines the threads' scratch memory.
    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputShapes, width: width).bytes
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        let shapes = try boundInputs(inputShapes)
        if let known = plans.withLock({ $0.first { $0.key.shapes == TensorBinding.shapes(shapes) } }) {
            return TensorBinding.shapes(known.plan.outputs)
        }
        return TensorBinding.shapes(
            try OpenVINOModel(library, path: path).reshape(shapes, outputs: outputs.map(\.name))
        )
    }

    var sharesMemory: Bool { false }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession {
        try OpenVINOSession(network: self, plan: try plan(inputShapes, width: width))
    }

    func dropPlans() { plans.withLock { $0.removeAll() } }

    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``, ``OpenVINOError/failed(network:step:message:)``
    func plan(_ given: [String: [Int]], width: Int) throws -> OpenVINOPlan {
        let shapes = try boundInputs(given)
        let key = Key(shapes: TensorBinding.shapes(shapes), width: max(width, 1))
        // Computed under the lock, so that two callers do not compile the same network.
        return try plans.withLock { plans in
            if let known = plans.first(where: { $0.key == key }) { return known.plan }
            // Removed first, so that the memory can be reused.
            if plans.count >= Self.rememberedPlans { plans.removeFirst() }
            let plan = try OpenVINOPlan(
                library,
                path: path,
                inputs: shapes,
                outputs: outputs.map(\.name),
                precision: precision,
                width: key.width
            )
            plans.append((key, plan))
            return plan
        }
    }

    /// All inputs with their shapes, in the file's order.
    private func boundInputs(_ given: [String: [Int]]) throws(ModelFormatError) -> [(name: String, shape: [Int])] {
        for name in given.keys.sorted() where !inputs.contains(where: { $0.name == name }) {
            throw .shapeMismatch(network: path, reason: "there is no input '\(name)'")
        }
        var shapes: [(name: String, shape: [Int])] = []
        for input in inputs {
            // An open first axis is the batch.
            let shape = given[input.name] ?? input.shape.enumerated().map { $1 ?? ($0 == 0 ? 1 : 0) }
            let fits =
                input.shape.isEmpty
                || (input.shape.count == shape.count && zip(input.shape, shape).allSatisfy { $0 == nil || $0 == $1 })
            let count = shape.reduce((partialValue: 1, overflow: false)) { product, extent in
                let next = product.partialValue.multipliedReportingOverflow(by: extent)
                return (next.partialValue, product.overflow || next.overflow)
            }
            guard fits, shape.count <= Int(COVINO_MAX_RANK), shape.allSatisfy({ $0 > 0 }), !count.overflow,
                count.partialValue <= GraphBinder.maximumCount
            else {
                let expected = input.shape.map { $0.map(String.init) ?? "?" }.joined(separator: "×")
                let found = shape.map(String.init).joined(separator: "×")
                throw .shapeMismatch(
                    network: path,
                    reason: given[input.name] == nil
                        ? "the input '\(input.name)' is \(expected), and no shape was given"
                        : "the input '\(input.name)' is \(expected), not \(found)"
                )
            }
            shapes.append((input.name, shape))
        }
        return shapes
    }
}

/// A network compiled for shapes and a number of threads. Requests of the same plan run one after the other.
final class OpenVINOPlan: @unchecked Sendable {
    // Unchecked: OpenVINO's compiled networks may be used from any thread.
    let inputs: [(name: String, shape: [Int])]
    let outputs: [(name: String, shape: [Int])]
    let width: Int
    /// See ``OpenVINONetwork/workspaceBytes(inputShapes:width:)``.
    let bytes: Int
    private let library: OpenVINOLibrary
    private let compiled: UnsafeMutableRawPointer

    init(
        _ library: OpenVINOLibrary,
        path: String,
        inputs: [(name: String, shape: [Int])],
        outputs names: [String],
        precision: InferencePrecision,
        width: Int
    ) throws {
        let made = try OpenVINOLibrary.compiling.withLock { _ in
            let before = covino_private_bytes()
            let model = try OpenVINOModel(library, path: path)
            let outputs = try model.reshape(inputs, outputs: names)
            let compiled = try model.compiled(precision: precision, width: width)
            return (compiled: compiled, outputs: outputs, growth: max(covino_private_bytes() - before, 0))
        }
        let elements = (inputs + made.outputs).reduce(0) { $0 + $1.shape.reduce(1, *) }
        self.library = library
        self.inputs = inputs
        self.width = width
        compiled = made.compiled
        outputs = made.outputs
        // A request's own inputs and outputs are added; the extra eighth covers heap memory that already existed and is
        // reused.
        bytes = made.growth + made.growth / 8 + elements * MemoryLayout<Float>.stride
    }

    deinit { covino_free_compiled(library.table, compiled) }

    /// - Throws: ``OpenVINOError/failed(network:step:message:)``
    func makeRequest(path: String) throws(OpenVINOError) -> UnsafeMutableRawPointer {
        var request: UnsafeMutableRawPointer?
        let status = covino_request(library.table, compiled, &request)
        guard status == 0, let request else {
            throw .failed(network: path, step: "create a request", message: library.message(status))
        }
        return request
    }
}
