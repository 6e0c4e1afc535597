import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// The networks of one cascade level.
final class LevelModel: Sendable {
    let settings: CascadeLevel
    let networks: [any LoadedNetwork]
    let classes: Int
    let patch: GridZYX

    init(
        package: ModelPackage,
        settings: CascadeLevel,
        engine: any InferenceEngine,
        precision: InferencePrecision
    ) throws {
        func modelError(_ detail: String) -> SegmentationModelError {
            SegmentationModelError(package: package.id, detail: detail)
        }
        self.settings = settings
        patch = GridZYX(settings.patchSize[0], settings.patchSize[1], settings.patchSize[2])
        networks = try settings.networks.map { try engine.load(onnx: package.path(of: $0), precision: precision) }
        let shape = LevelModel.inputShape(settings, patch)
        var classes = 0
        for (network, file) in zip(networks, settings.networks) {
            let output = try network.outputShape(inputShape: shape)
            guard output.count == shape.count, Array(output[2...]) == Array(shape[2...]) else {
                throw modelError("\(file) returns \(output) for an input of \(shape); expected the same extents")
            }
            guard classes == 0 || classes == output[1] else {
                throw modelError("\(file) returns \(output[1]) classes, another network \(classes)")
            }
            classes = output[1]
        }
        self.classes = classes
    }

    var inputShape: [Int] { LevelModel.inputShape(settings, patch) }

    private static func inputShape(_ settings: CascadeLevel, _ patch: GridZYX) -> [Int] {
        [1, settings.inputChannels] + (settings.isPlanar ? [] : [patch.z]) + [patch.y, patch.x]
    }

    func passes(_ options: SegmentationOptions) -> MirrorPasses {
        MirrorPasses(axes: options.disablesMirroring ? [] : settings.mirroringAxes)
    }

    func tileStep(_ options: SegmentationOptions) -> Double { options.tileStep ?? settings.tileStep }

    /// Number of sums that tiles are blended into: one, or one per network with nnU-Net's rounding.
    func accumulatorCount(_ options: SegmentationOptions) -> Int {
        options.usesReferenceRounding ? networks.count : 1
    }

    func residentBytes(threads: Int, options: SegmentationOptions) throws -> Int {
        let weights = networks.reduce(0) { $0 + $1.weightBytes }
        let own = try networks.map { try $0.workspaceBytes(inputShape: inputShape, width: threads) }
        let shared = networks.allSatisfy(\.sharesMemory)
        let sessions = shared ? own.max() ?? 0 : own.reduce(0, +)
        let constants = ConstantTile.floats(self) * accumulatorCount(options)
        let buffers =
            (SessionSet.floats(self, averages: averages(options)) + constants) * 4
            + (averages(options) ? PassAgreement.bytes(patch) : 0)
        return weights + sessions + buffers + ImportanceMap.predictedBytes(patch: patch)
    }

    /// Runs one tile of zeros through all networks: the time that a tile with all its passes takes here and now.
    func secondsPerTile(
        _ sessions: LevelSessions,
        _ options: SegmentationOptions,
        scope: ComputeScope
    ) throws -> Double {
        let set = try sessions.set(of: self, width: scope.width, options: options)
        let start = scope.time.monotonic
        for session in set.sessions {
            try set.input.withUnsafeBufferPointer { input in
                try set.sum.withUnsafeMutableBufferPointer { sum in
                    try session.run(input: input, output: sum, scope: scope)
                }
            }
        }
        return (scope.time.monotonic - start).inSeconds * Double(passes(options).count)
    }

    /// Whether several passes are averaged.
    func averages(_ options: SegmentationOptions) -> Bool {
        passes(options).count > 1 || (networks.count > 1 && accumulatorCount(options) == 1)
    }
}

/// The sessions of all levels in use, created on first use and reused across items. The inference stage owns them.
final class LevelSessions {
    private var sets: [ObjectIdentifier: SessionSet] = [:]

    func set(of level: LevelModel, width: Int, options: SegmentationOptions) throws -> SessionSet {
        if let made = sets[ObjectIdentifier(level)] { return made }
        let set = try SessionSet(
            model: level,
            width: width,
            averages: level.averages(options),
            precision: options.usesReferenceRounding ? .half : .single
        )
        sets[ObjectIdentifier(level)] = set
        return set
    }
}

/// Sessions and patch-sized buffers of one level.
final class SessionSet {
    let sessions: [any NetworkSession]
    let map: ImportanceMap
    var input: VoxelBuffer<Float>
    /// Empty unless several passes are averaged.
    var flipped: VoxelBuffer<Float>
    var logits: VoxelBuffer<Float>
    var sum: VoxelBuffer<Float>
    /// Whose logits ``sum`` holds: the accumulator that they were made for, and the value of each channel of the tile; nil for
    /// a tile with several values in a channel.
    var content: (accumulator: Int, values: [Float])?
    /// The results for the last tile whose channels were constant: one, or one per network with nnU-Net's rounding.
    let constants: [ConstantTile]

    init(model: LevelModel, width: Int, averages: Bool, precision: ImportanceMap.Precision) throws {
        let memory = SessionMemory()
        sessions = try model.networks.map {
            try $0.makeSession(inputShape: model.inputShape, width: width, memory: memory)
        }
        map = try ImportanceMap(patch: model.patch, profile: model.settings.tiling.weights, precision: precision)
        let voxels = model.patch.count
        let channels = model.settings.inputChannels
        input = try VoxelBuffer(count: voxels * channels)
        flipped = try VoxelBuffer(count: averages ? voxels * channels : 0)
        logits = try VoxelBuffer(count: averages ? voxels * model.classes : 0)
        sum = try VoxelBuffer(count: voxels * model.classes)
        constants = model.networks.map { _ in ConstantTile() }
    }

    static func floats(_ model: LevelModel, averages: Bool) -> Int {
        model.patch.count * (model.settings.inputChannels + model.classes) * (averages ? 2 : 1)
    }
}
