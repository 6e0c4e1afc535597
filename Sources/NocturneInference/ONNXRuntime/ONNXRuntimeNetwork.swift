internal import CPosix
internal import Foundation
import NocturneConcurrency
import NocturneSystem
internal import Synchronization

/// A network as the library of an engine has it.
protocol LibraryModel: Sendable {
    /// In the file's order. A shape of no extents is that of a scalar, or unknown.
    var inputs: [TensorDescription] { get }
    var outputs: [TensorDescription] { get }
    /// Whether plans are made for a number of threads.
    var usesThreads: Bool { get }

    /// Binds the network to shapes.
    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``; ``EngineError``.
    func plan(_ inputs: [TensorPort], width: Int) throws -> LibraryPlan
}

/// A network that a library bound to shapes and a number of threads.
struct LibraryPlan: Sendable {
    /// In the order of the model's outputs; the names are the library's.
    let outputs: [TensorPort]
    /// What a session needs beyond the growth of memory while the plan was made.
    var bytes = 0
    /// Makes what a session of `bytes` bytes runs.
    let makeRunner: @Sendable (_ bytes: Int) throws -> any NetworkRunner
}

/// A network of an engine whose library is found when the program runs.
final class LibraryNetwork: LoadedNetwork {
    let inputs: [TensorDescription]
    let outputs: [TensorDescription]
    /// The file's size. Memory that the library allocates for the weights is part of a session's bytes.
    let weightBytes: Int
    let instructionSet: String
    private let path: String
    private let model: any LibraryModel
    private let plans = PlanCache<LibraryPlan>()

    /// Held while a network is bound, so that the growth of memory is caused by that network only.
    private static let measuring = Mutex<Void>(())

    /// - Parameter load: given the graph as read by Nocturne's own reader, which refuses damaged files before the library reads
    ///   them; nil when weights are stored in other files, which only the libraries support.
    /// - Throws: ``ModelFormatError`` with Nocturne's or the library's reason.
    init(path: String, instructionSet: String, load: (NetworkGraph?) throws -> any LibraryModel) throws {
        self.path = path
        self.instructionSet = instructionSet
        weightBytes = try Self.size(path)
        let graph = try Self.graph(path)
        model = try load(graph)
        inputs = Self.named(model.inputs, as: graph?.inputs)
        outputs = Self.named(model.outputs, as: graph?.outputs)
        guard !outputs.isEmpty else { throw ModelFormatError.malformed(path: path, reason: "the graph has no output") }
    }

    private static func graph(_ path: String) throws -> NetworkGraph? {
        do {
            return try ONNXReader.read(path)
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

    /// Libraries do not report it, so it is measured: the growth of the process's writable private memory, whether
    /// accessed or not, while the network is bound, plus one eighth for heap memory that already existed and is reused. The
    /// estimate is rather too high than too low: the first use in a process includes 60 to 130 MB of the library's own,
    /// and allocations by other threads at the same time are included too (only memory freed in the meantime reduces
    /// it). The width determines the threads' scratch memory.
    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputs.bound(to: inputShapes, network: path), width: width).bytes
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        let ports = try inputs.bound(to: inputShapes, network: path)
        if let known = plans.known(NetworkSession.shapes(ports)) { return NetworkSession.shapes(named(known)) }
        let fixed = outputs.map { (name: $0.name, shape: $0.shape.compactMap { $0 }) }
        // Scalars of an unknown rank look like those of rank 0.
        if zip(fixed, outputs).allSatisfy({ !$0.shape.isEmpty && $0.shape.count == $1.shape.count }) {
            return NetworkSession.shapes(fixed)
        }
        return NetworkSession.shapes(named(try plan(ports, width: CoreAllowance.count())))
    }

    var sharesMemory: Bool { false }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> NetworkSession {
        let ports = try inputs.bound(to: inputShapes, network: path)
        let outputs = named(try plan(ports, width: width))
        return try NetworkSession(network: path, inputs: ports, outputs: outputs, width: width) {
            let plan = try self.plan(ports, width: $0)
            return try plan.makeRunner(plan.bytes)
        }
    }

    func dropPlans() { plans.removeAll() }

    private func named(_ plan: LibraryPlan) -> [TensorPort] {
        zip(outputs, plan.outputs).map { (name: $0.name, shape: $1.shape) }
    }

    private func plan(_ ports: [TensorPort], width: Int) throws -> LibraryPlan {
        let width = model.usesThreads ? max(width, 1) : 1
        return try plans.plan(NetworkSession.shapes(ports), width: width) {
            try Self.measuring.withLock { _ in
                let before = Self.writableBytes()
                var plan = try model.plan(ports, width: width)
                if let empty = plan.outputs.first(where: { $0.shape.contains { $0 <= 0 } }) {
                    throw ModelFormatError.shapeMismatch(network: path, reason: "the output '\(empty.name)' is empty")
                }
                let growth = max(Self.writableBytes() - before, 0)
                plan.bytes += growth + growth / 8
                return plan
            }
        }.plan
    }

    /// Of this process, private, touched or not; 0 if unknown.
    private static func writableBytes() -> Int {
        // Free heap memory is not a part of it.
        cposix_trim_heap()
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 5 ? (Int(fields[5]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }

    /// The size in bytes of a readable file that is not empty.
    private static func size(_ path: String) throws(ModelFormatError) -> Int {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
            throw .unreadable(path: path, reason: isFolder.boolValue ? "a folder" : "no such file")
        }
        let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
        guard let size, FileManager.default.isReadableFile(atPath: path) else {
            throw .unreadable(path: path, reason: "no permission")
        }
        guard size > 0 else { throw .malformed(path: path, reason: "the file is empty") }
        return size
    }
}

extension [TensorDescription] {
    /// All inputs with their shapes, in the file's order.
    /// - Parameters:
    ///   - given: extents by name; an input that is not listed takes those of the file, with the batch extent 1 where that is
    ///     open.
    ///   - network: the path, for errors.
    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``
    func bound(to given: [String: [Int]], network: String) throws(ModelFormatError) -> [TensorPort] {
        for name in given.keys.sorted() where !contains(where: { $0.name == name }) {
            throw .shapeMismatch(network: network, reason: "there is no input '\(name)'")
        }
        var ports: [TensorPort] = []
        for input in self {
            // An open first axis is the batch.
            let shape = given[input.name] ?? input.shape.enumerated().map { $1 ?? ($0 == 0 ? 1 : 0) }
            guard input.fits(shape) else {
                let expected = input.shape.map { $0.map(String.init) ?? "?" }.joined(separator: "×")
                let found = shape.map(String.init).joined(separator: "×")
                let end = given[input.name] == nil ? ", and no shape was given" : ", not \(found)"
                throw .shapeMismatch(network: network, reason: "the input '\(input.name)' is \(expected)\(end)")
            }
            ports.append((input.name, shape))
        }
        return ports
    }
}

extension TensorDescription {
    /// The largest number of axes that the libraries' interfaces take.
    private static let maximumRank = 16

    /// Whether a tensor has this shape.
    fileprivate func fits(_ extents: [Int]) -> Bool {
        guard extents.count <= Self.maximumRank, extents.allSatisfy({ $0 > 0 }) else { return false }
        guard let count = Extents.count(extents), count <= GraphBinder.maximumCount else { return false }
        return shape.isEmpty
            || (shape.count == extents.count && zip(shape, extents).allSatisfy { $0 == nil || $0 == $1 })
    }

    /// The extents of a port of a library's C interface, -1 for an open one. An unknown number of axes and zero axes are both
    /// reported as [].
    static func shape(_ extents: UnsafeRawBufferPointer, rank: Int32) -> [Int?] {
        extents.bindMemory(to: Int64.self).prefix(Int(max(rank, 0))).map { $0 < 0 ? nil : Int($0) }
    }
}

extension ModelFormatError {
    static func notFloat32(_ name: String, _ path: String) -> ModelFormatError {
        .malformed(path: path, reason: "'\(name)' is not float32; other types are not supported")
    }
}
