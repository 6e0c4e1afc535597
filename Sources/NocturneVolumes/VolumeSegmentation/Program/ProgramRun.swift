import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The networks of a package on one volume: the region if there is one, then the parts, whose labels are merged.
final class ProgramRun {
    private let model: SegmentationModel
    private let resources: InferenceResources
    private let input: PreparedVolume.NetworkInput
    /// The parts that have a label which was asked for.
    private let parts: [PartModel]
    /// What the parts work on: the whole volume, or the region.
    private var volume: WorkingVolume
    private var region: RegionBox?
    private var box: VoxelBox
    /// The part at work; nil during the region.
    private var part: Int?
    private var current: PartRun?
    /// Of the parts so far; empty before the first one is merged.
    private var merged = VoxelBuffer<UInt16>.empty
    /// The labels of a part whose map needs no merging.
    private var single: FrozenVoxels<UInt16>?
    private var nextRun = 0
    private var finishedSteps = 0
    /// The tiles of parts that have not begun, as predicted from the whole volume.
    private var laterSteps = 0
    private var growth = 0
    private(set) var notes: [String] = []
    /// What the program's rules have changed on its grid; nil if they are still to be applied, on the volume's own.
    private(set) var cleaning: [LabelCleaning]?
    private(set) var isFinished = false

    init(_ model: SegmentationModel, _ input: PreparedVolume.NetworkInput, resources: InferenceResources) throws {
        self.model = model
        self.input = input
        self.resources = resources
        parts = model.partsInUse(resources.options)
        volume = input.volume
        box = VoxelBox(all: input.volume.source.geometry.shape)
        if parts.count < model.parts.count {
            notes.append("\(parts.count) of \(model.parts.count) parts of the model ran, those with the labels of --labels")
        }
    }

    private var shape: VolumeShape { input.volume.source.geometry.shape }

    var stepCount: Int { isFinished ? finishedSteps : finishedSteps + (current?.stepCount ?? 0) + laterSteps }
    var stepsDone: Int { finishedSteps + (current?.stepsDone ?? 0) }

    /// Begins the first part, and continues up to the first tile.
    func begin(_ context: StageContext) throws {
        let first = model.firstPart(resources.options)
        let later = model.region == nil ? parts.dropFirst() : parts[...]
        laterSteps = try later.reduce(0) { $0 + (try $1.plannedTiles(on: input.volume.source, resources.options)) }
        part = model.region == nil ? 0 : nil
        try start(first, grids: input.first, image: input.image)
        try advance(context)
    }

    private func start(_ part: PartModel, grids: PartGrids, image: FrozenVoxels<Float>?) throws {
        current = try PartRun(
            part,
            on: volume,
            grids: grids,
            firstImage: image,
            firstRun: nextRun,
            resources: resources
        )
        nextRun += PartRun.runCount(part)
    }

    func step(_ context: StageContext) throws {
        try current?.step(context)
        try advance(context)
    }

    func checkpoint(force: Bool) throws { try current?.checkpoint(force: force) }

    /// Continues with the next part, until one needs a tile.
    private func advance(_ context: StageContext) throws {
        try current?.advance(context)
        while !isFinished, let run = current, run.isFinished {
            finishedSteps += run.stepCount
            // Nothing follows the last part but growth, which is rare; its labels need not be saved.
            if part.map({ $0 < parts.count - 1 }) ?? true { try run.checkpoint(force: true, isIntermediate: true) }
            let labels = try run.finish(context)
            current = nil
            if let part {
                try merge(labels, of: parts[part], context.scope)
                try startPart(after: part, context)
            } else {
                try startParts(in: labels, context)
            }
            try current?.advance(context)
        }
    }

    // MARK: Region

    /// Begins the parts in the box around the labels of the region's network.
    private func startParts(in labels: FrozenVoxels<UInt16>, _ context: StageContext) throws {
        guard let settings = model.settings.region else { return }
        let found = try VoxelBox.around(Set(settings.labels), of: labels, shape, scope: context.scope)
        guard let found else {
            notes.append("the region of the model was not found in this volume, so that nothing is segmented")
            isFinished = true
            laterSteps = 0
            return
        }
        try startParts(in: RegionBox(around: found, margin: settings.marginMm, in: volume.source.geometry), context)
    }

    private func startParts(in region: RegionBox, _ context: StageContext) throws {
        self.region = region
        box = region.box
        volume = try input.volume.cropped(to: box, scope: context.scope)
        laterSteps = try parts.reduce(0) { $0 + (try $1.plannedTiles(on: volume.source, resources.options)) }
        merged = .empty
        single = nil
        try startPart(after: -1, context)
    }

    /// Whether the parts have begun again in a larger box, because their labels touch the sides of this one.
    private func grows(_ context: StageContext) throws -> Bool {
        guard let region, growth < RegionBox.maximumGrowth else { return false }
        let labelled = try single.map { try VoxelBox.around(nil, of: $0, box.shape, scope: context.scope) } ?? nil
        guard let labelled, let larger = region.grown(for: labelled) else { return false }
        growth += 1
        try startParts(in: larger, context)
        return true
    }

    // MARK: Parts

    private func startPart(after index: Int, _ context: StageContext) throws {
        guard index + 1 < parts.count else {
            if merged.count > 0 {
                var taken = VoxelBuffer<UInt16>.empty
                swap(&taken, &merged)
                single = taken.frozen()
            }
            if try grows(context) { return }
            if growth > 0 { notes.append("the region was enlarged \(growth) times, until labels no longer touched it") }
            isFinished = true
            return
        }
        part = index + 1
        let next = parts[index + 1]
        laterSteps = max(0, laterSteps - (try next.plannedTiles(on: volume.source, resources.options)))
        let grids = try PartGrids(next, on: volume, scope: context.scope)
        try start(next, grids: grids, image: nil)
    }

    private func merge(_ labels: FrozenVoxels<UInt16>, of part: PartModel, _ scope: ComputeScope) throws {
        if parts.count == 1, part.keepsLabels {
            single = labels
            return
        }
        if merged.count == 0 { merged = try VoxelBuffer(count: box.shape.count) }
        try LabelMerge.add(labels, part.labels, to: &merged, box.shape, scope: scope)
    }

    /// The labels on the volume's own grid, in stored order. Call once, when all steps are done.
    func finish(_ context: StageContext) throws -> FrozenVoxels<UInt16> {
        let found: FrozenVoxels<UInt16>
        if let single {
            found = try LabelMerge.placed(single, in: box, of: shape, scope: context.scope)
        } else {
            found = try VoxelBuffer<UInt16>(count: shape.count).frozen()
        }
        single = nil
        guard let grid = input.grid else { return found }
        return try grid.stored(try cleaned(found, context.scope), scope: context.scope)
    }

    /// The labels after the program's rules, which apply on its grid.
    private func cleaned(_ labels: FrozenVoxels<UInt16>, _ scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        let rules = model.postprocessRules
        guard !rules.isEmpty else {
            cleaning = []
            return labels
        }
        var buffer = try labels.mutableCopy()
        cleaning = try LabelCleaner.apply(
            rules,
            to: &buffer,
            geometry: input.volume.source.geometry,
            within: VolumeMemory.componentBytes(shape),
            scope: scope
        )
        return buffer.frozen()
    }
}
