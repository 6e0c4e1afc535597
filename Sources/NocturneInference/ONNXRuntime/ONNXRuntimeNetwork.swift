internal import CPosix
internal import Foundation
import NocturneSystem
internal import Synchronization

/// A network on a device, or on the processor, for which it is loaded again for every number of threads.
final class ONNXRuntimeNetwork: DeviceNetwork {
    let inputs: [TensorDescription]
    let outputs: [TensorDescription]
    /// The file's size. Memory that the library allocates for the weights is part of a session's bytes.
    let weightBytes: Int
    let instructionSet: String
    private let library: ONNXRuntimeLibrary
    private let path: String
    /// Nil for the processor.
    private let device: Handle?
    /// Where tensors can be kept; nil for none.
    private let tiles: TileDevice?
    private let plans = PlanCache<Plan>()

    /// The network bound to shapes and a number of threads.
    private struct Plan: Sendable {
        let outputs: [TensorPort]
        /// What a session needs: the growth of memory while the plan was made.
        let bytes: Int
        /// The run that was made for the plan, which the first session takes.
        let spare: Spare
        let makeRun: @Sendable () throws(EngineError) -> Run
    }

    private final class Spare: Sendable {
        private let run: Mutex<Run?>

        init(_ run: Run) { self.run = Mutex(run) }

        func take() -> Run? {
            run.withLock { run in
                defer { run = nil }
                return run
            }
        }

        func drop() { _ = take() }
    }

    /// Held while a network is bound, so that the growth of memory is caused by that network only.
    private static let measuring = Mutex<Void>(())

    /// The file is first read by Nocturne's own reader, which refuses damaged files and weights in other files before the library
    /// reads them, and which finds a final activation.
    /// - Parameters:
    ///   - cuda: the number of the device; nil for the processor.
    ///   - tiles: the same device, where its tensors can be kept.
    /// - Throws: ``ModelFormatError`` with Nocturne's or the library's reason.
    init(
        _ library: ONNXRuntimeLibrary,
        path: String,
        cuda: Int?,
        instructionSet: String,
        tiles: TileDevice? = nil
    ) throws {
        self.library = library
        self.tiles = tiles
        self.path = path
        self.instructionSet = instructionSet
        let known = try ONNXReader.read(path).outputs
        weightBytes = FileSystem.size(path) ?? 0
        let handle = try Handle(library, path: path, cuda: cuda, threads: 1)
        device = cuda == nil ? nil : handle
        inputs = try handle.ports(ofOutputs: 0)
        outputs = try handle.ports(ofOutputs: 1).map { port in
            var port = port
            port.activation = known.first { $0.name == port.name }?.activation
            return port
        }
        guard !outputs.isEmpty else { throw ModelFormatError.malformed(path: path, reason: "the graph has no output") }
    }

    /// The library does not report it, so it is measured: the growth of the process's writable private memory, whether
    /// accessed or not, while the network is bound, plus one eighth for heap memory that already existed and is reused. The
    /// estimate is rather too high than too low: the first use in a process includes 60 to 130 MB of the library's own,
    /// and allocations by other threads at the same time are included too (only memory freed in the meantime reduces
    /// it, at most to the size of inputs and outputs). The width determines the threads' scratch memory.
    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputs.bound(to: inputShapes, network: path), width: width).bytes
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        let ports = try inputs.bound(to: inputShapes, network: path)
        if let known = plans.known(NetworkSession.shapes(ports)) { return NetworkSession.shapes(known.outputs) }
        let fixed = outputs.map { (name: $0.name, shape: $0.shape.compactMap { $0 }) }
        // Scalars of an unknown rank look like those of rank 0.
        if zip(fixed, outputs).allSatisfy({ !$0.shape.isEmpty && $0.shape.count == $1.shape.count }) {
            return NetworkSession.shapes(fixed)
        }
        return NetworkSession.shapes(try plan(ports, width: CoreAllowance.count()).outputs)
    }

    var sharesMemory: Bool { false }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> NetworkSession {
        let ports = try inputs.bound(to: inputShapes, network: path)
        let outputs = try plan(ports, width: width).outputs
        return try NetworkSession(network: path, inputs: ports, outputs: outputs, width: width) {
            let plan = try self.plan(ports, width: $0)
            let run = try plan.makeRun()
            run.workspaceBytes = plan.bytes
            return run
        }
    }

    func makeDeviceSession(inputShape: [Int], width: Int) throws -> (any DeviceSession)? {
        guard let tiles, inputs.count == 1 else { return nil }
        let ports = try inputs.bound(to: [inputs[0].name: inputShape], network: path)
        let handle = try device ?? Handle(library, path: path, cuda: nil, threads: max(width, 1))
        // The run that was made for the plan has its own buffers.
        plans.known(NetworkSession.shapes(ports))?.spare.drop()
        let threads = device == nil ? max(width, 1) : nil
        let run = try Run(handle, inputs: ports, width: threads, tiles: tiles, isResident: true)
        return try Resident(run, input: ports[0].shape, on: tiles)
    }

    func dropPlans() { plans.removeAll() }

    private func plan(_ ports: [TensorPort], width: Int) throws -> Plan {
        try plans.plan(NetworkSession.shapes(ports), width: device == nil ? max(width, 1) : 1) {
            try Self.measuring.withLock { _ in
                try makePlan(ports, width: device == nil ? max(width, 1) : nil)
            }
        }.plan
    }

    /// Runs the network once with zeros: nothing else gives its memory, and the shapes of outputs with open extents.
    /// - Parameter width: nil on a device.
    private func makePlan(_ inputs: [TensorPort], width: Int?) throws -> Plan {
        let before = Self.writableBytes()
        let handle = try device ?? Handle(library, path: path, cuda: nil, threads: width ?? 1)
        let run = try Run(handle, inputs: inputs, width: width, tiles: tiles)
        let ports = outputs.indices.map { (name: outputs[$0].name, shape: run.outputShape($0)) }
        if let empty = ports.first(where: { $0.shape.contains { $0 <= 0 } }) {
            throw ModelFormatError.shapeMismatch(network: path, reason: "the output '\(empty.name)' is empty")
        }
        let growth = max(Self.writableBytes() - before, 0)
        // The buffers of the run are its own, whatever other threads free meanwhile.
        let buffers = 4 * (inputs + ports).reduce(0) { $0 + $1.shape.reduce(1, *) }
        let spare = Spare(run)
        let bytes = max(growth + growth / 8, buffers)
        return Plan(outputs: ports, bytes: bytes, spare: spare) { [tiles] () throws(EngineError) in
            if let found = spare.take() { return found }
            return try Run(handle, inputs: inputs, width: width, tiles: tiles)
        }
    }

    /// Of this process, private, touched or not; 0 if unknown.
    private static func writableBytes() -> Int {
        // Free heap memory is not a part of it.
        cposix_trim_heap()
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 5 ? (Int(fields[5]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}
