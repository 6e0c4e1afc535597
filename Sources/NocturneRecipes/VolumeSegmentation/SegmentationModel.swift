import NocturneCore
public import NocturneInference
import NocturneNumerics
import Synchronization

/// Why a package cannot be used for volumes.
public struct SegmentationModelError: Error, Sendable, CustomStringConvertible {
    public let package: String
    public let detail: String
    public var description: String { "model \(package): \(detail)" }
}

/// A model package with its networks in memory, and the one session that inference uses.
public final class SegmentationModel: Sendable {
    public let package: ModelPackage
    public let settings: VolumeSegmentationSettings
    public let engineName: String
    public let precision: InferencePrecision
    public let instructionSet: String
    let networks: [any LoadedNetwork]
    let classes: Int
    let patch: GridZYX
    private let workspace = Mutex<SessionSet?>(nil)

    /// Loads the networks and checks that they take and give what the package says.
    /// - Throws: ``SegmentationModelError``, `ModelFormatError`.
    public init(package: ModelPackage, engine: any InferenceEngine, precision: InferencePrecision) throws {
        func unfit(_ detail: String) -> SegmentationModelError {
            SegmentationModelError(package: package.id, detail: detail)
        }
        guard package.task == .volumeSegmentation, let settings = package.volumeSegmentation else {
            throw unfit("is for \(package.task.rawValue), not for volumes")
        }
        guard package.channels.count == 1 else {
            throw unfit("takes \(package.channels.count) channels; volumes of one channel are what can be read")
        }
        self.package = package
        self.settings = settings
        self.precision = precision
        engineName = engine.name
        patch = GridZYX(settings.patchSize[0], settings.patchSize[1], settings.patchSize[2])
        networks = try settings.networks.map { try engine.load(onnx: package.path(of: $0), precision: precision) }
        instructionSet = networks.first?.instructionSet ?? ""
        let shape = [1, package.channels.count, patch.z, patch.y, patch.x]
        var classes = 0
        for (network, file) in zip(networks, settings.networks) {
            let output = try network.outputShape(inputShape: shape)
            guard output.count == 5, Array(output[2...]) == Array(shape[2...]) else {
                throw unfit("\(file) gives \(output) for an input of \(shape); expected the same extents")
            }
            guard classes == 0 || classes == output[1] else {
                throw unfit("\(file) gives \(output[1]) classes, another network \(classes)")
            }
            classes = output[1]
        }
        self.classes = classes
        if let label = package.labels.first(where: { Int($0.value) >= classes }) {
            throw unfit("label \(label.name) is class \(label.value), the network gives classes 0 to \(classes - 1)")
        }
    }

    var inputShape: [Int] { [1, package.channels.count, patch.z, patch.y, patch.x] }

    /// Bytes that stay while the model is in use: weights, workspace, patch buffers, importance map.
    func residentBytes(threads: Int) throws -> Int {
        let weights = networks.reduce(0) { $0 + $1.weightBytes }
        let sessions = try networks.map { try $0.workspaceBytes(inputShape: inputShape, width: threads) }.reduce(0, +)
        let buffers = patch.count * 4 * (package.channels.count * 2 + classes * 2)
        return weights + sessions + buffers + ImportanceMap.predictedBytes(patch: patch)
    }

    /// Runs `body` with the sessions, which are made at the first use.
    func withSessions<R>(width: Int, _ body: (SessionSet) throws -> R) throws -> R {
        let set = try workspace.withLock { held throws -> SessionSet in
            if let held { return held }
            let made = try SessionSet(model: self, width: width)
            held = made
            return made
        }
        return try body(set)
    }

    var map: ImportanceMap {
        get throws { try withSessions(width: 1) { $0.map } }
    }
}

/// Sessions and patch-sized buffers. Only the inference stage uses them, one item at a time.
final class SessionSet: @unchecked Sendable {
    // Unchecked: one stage with one worker is the only user.
    let sessions: [any NetworkSession]
    let map: ImportanceMap
    var input: VoxelBuffer<Float>
    var flipped: VoxelBuffer<Float>
    var logits: VoxelBuffer<Float>
    var sum: VoxelBuffer<Float>

    init(model: SegmentationModel, width: Int) throws {
        sessions = try model.networks.map { try $0.makeSession(inputShape: model.inputShape, width: width) }
        map = try ImportanceMap(patch: model.patch)
        let voxels = model.patch.count
        input = try VoxelBuffer(count: voxels * model.package.channels.count)
        flipped = try VoxelBuffer(count: voxels * model.package.channels.count)
        logits = try VoxelBuffer(count: voxels * model.classes)
        sum = try VoxelBuffer(count: voxels * model.classes)
    }
}
