import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneSystem

/// The networks of one cascade level.
final class LevelModel: Sendable {
    let settings: CascadeLevel
    /// Of all folds, whose logits are averaged.
    let networks: [any LoadedNetwork]
    /// Outputs of each network for every voxel.
    let classes: Int
    /// In voxels along the networks' axes.
    let patch: GridZYX
    /// `[1, channels, z, y, x]`; without z for networks of planes.
    let inputShape: [Int]

    init(
        package: ModelPackage,
        settings: CascadeLevel,
        engine: any InferenceEngine,
        precision: InferencePrecision
    ) throws {
        func modelError(_ detail: String) -> UnusablePackageError {
            UnusablePackageError(package: package.id, detail: detail)
        }
        self.settings = settings
        patch = GridZYX(settings.patchSize[0], settings.patchSize[1], settings.patchSize[2])
        networks = try settings.networks.map { try engine.load(onnx: package.path(of: $0), precision: precision) }
        inputShape = [1, settings.inputChannels] + (settings.isPlanar ? [] : [patch.z]) + [patch.y, patch.x]
        var classes = 0
        for (network, file) in zip(networks, settings.networks) {
            guard network.inputs.count == 1 else {
                throw modelError("\(file) has \(network.inputs.count) inputs, not one, the image")
            }
            let output = try network.outputShape(inputShape: inputShape)
            guard output.count == inputShape.count, Array(output[2...]) == Array(inputShape[2...]) else {
                throw modelError("\(file) returns \(output) for an input of \(inputShape); expected the same extents")
            }
            guard classes == 0 || classes == output[1] else {
                throw modelError("\(file) returns \(output[1]) classes, another network \(classes)")
            }
            classes = output[1]
        }
        self.classes = classes
    }

    /// One without mirroring, else one for each combination of mirrored axes.
    func passes(_ options: SegmentationOptions) -> MirrorPasses {
        MirrorPasses(axes: options.tiles.disablesMirroring ? [] : settings.mirroringAxes)
    }

    /// As a share of the patch: that of the options, else that of the package.
    func tileStep(_ options: SegmentationOptions) -> Double { options.tiles.step?.share ?? settings.tileStep }

    /// Number of sums that tiles are blended into: one, or one per network with nnU-Net's rounding.
    func accumulatorCount(_ options: SegmentationOptions) -> Int {
        options.tiles.usesReferenceRounding ? networks.count : 1
    }

    /// What the level takes while networks run.
    func memory(threads: Int, options: SegmentationOptions) throws -> LevelMemory {
        let own = try networks.map { try $0.workspaceBytes(inputShape: inputShape, width: threads) }
        let isShared = networks.allSatisfy(\.sharesMemory)
        let averages = averages(options)
        let packed = networks.reduce(0) { $0 + $1.packedBytes }
        let weights = networks.reduce(0) { $0 + $1.weightBytes } - packed
        return LevelMemory(
            kept: weights + ConstantTile.floats(self) * accumulatorCount(options) * 4
                + (isShared ? 0 : own.reduce(0, +)),
            weights: weights,
            packed: PackedMemory(
                all: packed,
                together: packed,
                limit: networks.map(\.packedLimit).min() ?? .max
            ),
            workspace: isShared ? own.max() ?? 0 : 0,
            buffers: SessionSet.floats(self, averages: averages) * 4
                + (averages ? PassAgreement.bytes(patch) : 0) + ImportanceMap.predictedBytes(patch: patch)
        )
    }

    /// See `Recipe.threadsOfProcess(cores:)`.
    func threadsOfProcess(cores: Int) throws -> Int {
        try networks.compactMap { try $0.threadScaling(inputShape: inputShape)?.threadsOfProcess(cores: cores) }.min()
            ?? cores
    }

    /// Runs one tile of zeros through all networks: the time that a tile with all its passes takes here and now.
    func secondsPerTile(
        _ sessions: LevelSessions,
        _ options: SegmentationOptions,
        scope: ComputeScope
    ) throws -> Double {
        sessions.free(except: [self])
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

/// What a level takes while networks run, in bytes.
package struct LevelMemory {
    /// All the time: weights as they were read, where they are kept, known logits, and the workspaces of an engine that manages its own
    /// memory.
    package var kept: Int
    /// The part of it that stays until the process ends: weights as they were read, where they are kept.
    package var weights: Int
    /// Weights that are packed for the kernels.
    package var packed: PackedMemory
    /// The largest workspace of a session, in the memory that all levels share.
    package var workspace: Int
    /// While its tiles are run: patch-sized buffers and the weights of tiles.
    package var buffers: Int

    /// The sum of all.
    package var total: Int { kept + packed.bytes + workspace + buffers }
}

/// Weights that are packed for the kernels, in bytes: all of them where they fit, else those of networks that run together.
package struct PackedMemory {
    /// Of all networks.
    var all: Int
    /// Of the networks that run together, where that is the most.
    var together: Int
    /// What networks keep that are not in use.
    var limit: Int

    /// What is kept at most.
    package var bytes: Int { min(all, max(together, limit)) }
}

extension PackedMemory {
    /// Of several that share the limit.
    init(_ parts: [PackedMemory], together: Int) {
        let limit = parts.map(\.limit).min() ?? .max
        self.init(all: parts.reduce(0) { $0 + $1.all }, together: together, limit: limit)
    }
}

/// The sessions of the levels in use, created on first use and reused across items. The inference stage owns them: no two
/// run at the same time, so that all of them share one memory for activations.
package final class LevelSessions {
    private let memory = SessionMemory()
    private var sets: [ObjectIdentifier: SessionSet] = [:]
    /// Of all levels that have been in use.
    private var constants: [ObjectIdentifier: [ConstantTile]] = [:]
    private var instructionSet: String?

    /// Empty: a session is made when its network first runs.
    package init() {}

    /// Frees the buffers of levels other than these, whose tiles come next. What is known of constant tiles is kept.
    func free(except levels: [LevelModel]) {
        let kept = Set(levels.map { ObjectIdentifier($0) })
        sets = sets.filter { kept.contains($0.key) }
    }

    /// Forgets what networks have computed that now run on something else: a device that failed.
    func use(_ instructionSet: String) {
        if let earlier = self.instructionSet, earlier != instructionSet { (sets, constants) = ([:], [:]) }
        self.instructionSet = instructionSet
    }

    func set(of level: LevelModel, width: Int, options: SegmentationOptions) throws -> SessionSet {
        let id = ObjectIdentifier(level)
        if let made = sets[id] { return made }
        let known = constants[id] ?? level.networks.map { _ in ConstantTile() }
        constants[id] = known
        let set = try SessionSet(
            model: level,
            width: width,
            averages: level.averages(options),
            precision: options.tiles.usesReferenceRounding ? .half : .single,
            memory: memory,
            constants: known
        )
        sets[id] = set
        return set
    }
}

/// Sessions and patch-sized buffers of one level.
final class SessionSet {
    /// One for each network.
    let sessions: [NetworkSession]
    /// The weights of a tile's voxels.
    let map: ImportanceMap
    /// `[channel][z][y][x]` of a tile.
    var input: VoxelBuffer<Float>
    /// Empty unless several passes are averaged.
    var flipped: VoxelBuffer<Float>
    /// Of one pass, `[class][z][y][x]`; empty unless several passes are averaged.
    var logits: VoxelBuffer<Float>
    /// The mean over passes and networks, `[class][z][y][x]`.
    var sum: VoxelBuffer<Float>
    /// Whose logits ``sum`` holds: the accumulator that they were made for, and the value of each channel of the tile; nil for
    /// a tile with several values in a channel.
    var content: (accumulator: Int, values: [Float])?
    /// The results for the last tile whose channels were constant: one, or one per network with nnU-Net's rounding.
    let constants: [ConstantTile]
    /// The same on a device; nil where there is none.
    private var device: DeviceSet?

    /// - Parameter constants: one per network.
    init(
        model: LevelModel,
        width: Int,
        averages: Bool,
        precision: ImportanceMap.Precision,
        memory: SessionMemory,
        constants: [ConstantTile]
    ) throws {
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
        self.constants = constants
    }

    /// The sessions on a device; nil where tiles stay in the processor's memory.
    /// - Throws: errors of the networks.
    func onDevice(_ model: LevelModel, width: Int) throws -> DeviceSet? {
        let found = try device ?? DeviceSet(model, map: map, width: width, averages: flipped.count > 0)
        device = found
        return found
    }

    /// Frees the sessions on a device, where the sums of a volume have no place.
    func leaveDevice() { device = nil }

    /// The floats of all four buffers.
    static func floats(_ model: LevelModel, averages: Bool) -> Int {
        model.patch.count * (model.settings.inputChannels + model.classes) * (averages ? 2 : 1)
    }
}
