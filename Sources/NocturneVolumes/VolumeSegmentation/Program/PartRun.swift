import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport

/// What the runs of the parts of a program share: options, networks, and where labels are saved.
struct InferenceResources {
    let options: SegmentationOptions
    let sessions: LevelSessions
    let item: RecipeItem
    /// What runs the networks.
    let used: EngineInUse
    /// Labels whose probabilities are wanted, by their values in the result.
    let mappedLabels: Set<UInt16>
}

extension PartModel {
    /// The grids of the levels for one volume, by member and level.
    /// - Throws: `CancelledError`; errors for grids that are too large.
    func grids(on volume: WorkingVolume, scope: ComputeScope) throws -> [[ModelGrid]] {
        try members.map { member in
            try member.levels.map { level in
                try LevelPreparation(level: level.settings, source: volume.source, channels: volume.channels)
                    .grid(scope: scope)
            }
        }
    }

    /// The number of tiles on a volume, from its header: without cropping, the largest number.
    func plannedTiles(on source: VolumeSource, _ options: SegmentationOptions) throws -> Int {
        try members.flatMap(\.levels).reduce(0) { sum, level in
            let grid = try ModelGrid(source: source, level: level.settings, foreground: { _ in nil })
            return sum + (try grid.tiles(level, options).tileCount)
        }
    }
}

/// One part of a program on one volume: the earlier levels of its members one after the other, then the last levels of all
/// of them together.
final class PartRun {
    private let part: PartModel
    private let volume: WorkingVolume
    /// By member and level.
    private let grids: [[ModelGrid]]
    private let resources: InferenceResources
    /// Of the first level, if it has been prepared already.
    private var firstImage: FrozenVoxels<Float>?
    /// The number of the next run's checkpoint.
    private var nextRun: Int
    /// What is to be done before the last levels: member and level.
    private var earlier: [(member: Int, level: Int)]
    /// The labels of the previous level of each member.
    private var previous: [FrozenVoxels<UInt16>?]
    private var member = 0
    private var current: PartInference?
    private var isLast = false
    private var finishedSteps = 0
    let stepCount: Int
    /// By label of the members, once the labels were taken.
    private(set) var confidence: [UInt16: LabelConfidence] = [:]
    /// By label of the result, once the labels were taken.
    private(set) var probabilities: [UInt16: [LabelProbabilities]] = [:]
    private var mapped: [(index: Int, label: UInt16)] { part.mappedClasses(resources.mappedLabels) }

    /// - Parameters:
    ///   - firstImage: the input of the first level, if it has been prepared already.
    ///   - firstRun: the number of the first run among all runs on the item, each of which saves its own labels.
    init(
        _ part: PartModel,
        on volume: WorkingVolume,
        grids: [[ModelGrid]],
        firstImage: FrozenVoxels<Float>?,
        firstRun: Int,
        resources: InferenceResources
    ) throws {
        self.part = part
        self.volume = volume
        self.grids = grids
        self.resources = resources
        self.firstImage = firstImage
        nextRun = firstRun
        resources.sessions.use(resources.used.engine.instructionSet)
        earlier = part.members.enumerated().flatMap { index, member in
            (0..<member.levels.count - 1).map { (index, $0) }
        }
        previous = part.members.map { _ in nil }
        stepCount = try zip(part.members, grids).reduce(0) { sum, member in
            try zip(member.0.levels, member.1).reduce(sum) { $0 + (try $1.1.tiles($1.0, resources.options).tileCount) }
        }
    }

    /// The number of runs that save labels.
    static func runCount(_ part: PartModel) -> Int { part.members.reduce(1) { $0 + $1.levels.count - 1 } }

    var stepsDone: Int { finishedSteps + (current?.stepsDone ?? 0) }
    var isFinished: Bool { isLast && current?.isFinished == true }

    func step(_ context: StageContext) throws {
        try current?.step(context)
        try advance(context)
    }

    /// Begins the next level when one is finished, unless it was the last. Levels whose labels were saved need no step.
    func advance(_ context: StageContext) throws {
        while !isLast, current?.isFinished ?? true {
            if let current {
                // The labels of a complete level are worth a file: a resumed run starts from them.
                try current.checkpoint(force: true, isIntermediate: true)
                finishedSteps += current.stepCount
                previous[member] = try current.finish(stored: volume.source.geometry.shape, context)
            }
            current = nil
            current = try next(context)
        }
    }

    private func next(_ context: StageContext) throws -> PartInference {
        let scope = context.scope
        guard earlier.isEmpty else {
            let (index, level) = earlier.removeFirst()
            member = index
            return try inference([try prepare(index, level, scope)], part.members[index].decision, context)
        }
        isLast = true
        let last = try part.members.indices.map { try prepare($0, part.members[$0].levels.count - 1, scope) }
        return try inference(last, part.members[0].decision, context)
    }

    private func inference(
        _ levels: [PreparedLevel],
        _ decision: LabelDecision,
        _ context: StageContext
    ) throws -> PartInference {
        let checkpoint = LabelCheckpoint(
            folder: context.staging,
            level: nextRun,
            fingerprint: resources.item.fingerprint,
            instructionSet: resources.used.engine.instructionSet,
            shape: levels[0].grid.native,
            time: context.scope.time
        )
        let probabilities = try isLast ? staged(levels[0], decision, context) : nil
        nextRun += 1
        resources.sessions.free(except: levels.map(\.model))
        return try PartInference(
            levels,
            decision: decision,
            checkpoint: checkpoint,
            probabilities: probabilities,
            resources: resources,
            context: context
        )
    }

    /// Where the last levels write their probabilities.
    private func staged(
        _ level: PreparedLevel,
        _ decision: LabelDecision,
        _ context: StageContext
    ) throws -> StagedProbabilities? {
        let classes = mapped.map(\.index)
        guard !classes.isEmpty else { return nil }
        let form = level.resamplesProbabilities ? ClassProbabilities.Form.probabilities : .logits
        return try StagedProbabilities(
            ClassProbabilities(decision, of: classes, form: form),
            box: level.grid.box,
            run: nextRun,
            in: context.staging
        )
    }

    private func prepare(_ index: Int, _ level: Int, _ scope: ComputeScope) throws -> PreparedLevel {
        let model = part.members[index].levels[level]
        let grid = grids[index][level]
        let image: FrozenVoxels<Float>
        if let first = firstImage, index == 0, level == 0 {
            image = first
            firstImage = nil
        } else {
            image = try LevelPreparation(level: model.settings, source: volume.source, channels: volume.channels)
                .image(grid, previous: level == 0 ? nil : previous[index], scope: scope)
        }
        previous[index] = nil
        return PreparedLevel(model: model, grid: grid, image: image)
    }

    func checkpoint(force: Bool, isIntermediate: Bool = false) throws {
        try current?.checkpoint(force: force, isIntermediate: isIntermediate)
    }

    /// The labels on the volume's grid, in stored order. Call once, when the run is finished.
    func finish(_ context: StageContext) throws -> FrozenVoxels<UInt16> {
        guard let run = current else { preconditionFailure("the labels of a part can be taken once") }
        current = nil
        confidence = run.confidence
        if let staged = run.probabilities {
            let grid = grids[0][part.members[0].levels.count - 1]
            for (place, one) in mapped.enumerated() {
                probabilities[one.label, default: []].append(LabelProbabilities(staged, place: place, grid))
            }
        }
        return try run.finish(stored: volume.source.geometry.shape, context)
    }
}
