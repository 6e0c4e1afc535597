package import NocturneBatch
import NocturneConcurrency
package import NocturneCore
package import NocturneNumerics
import NocturnePostprocess
package import NocturneRecipeSupport
import NocturneSystem

/// The networks of a package on one volume: the region if there is one, then the parts, whose labels are merged.
package final class ProgramRun {
    private let model: SegmentationModel
    private let resources: InferenceResources
    private let input: PreparedVolume.NetworkInput
    /// The parts that have a label which was asked for.
    private let parts: [PartModel]
    /// What the region's network works on, then the parts.
    private var place: WorkingPlace
    /// Nil before the region is found, and for a package without one.
    private var region: RegionBox?
    /// For each channel, how intensities in the region are clamped; nil for not at all.
    private var clips: [PointwiseMap]?
    /// The part at work; nil during the region.
    private var part: Int?
    private var current: PartRun?
    /// Of the parts so far; empty before the first one is merged.
    private var merged = VoxelBuffer<UInt16>.empty
    /// The labels of all parts in stored order, in the box of ``place``.
    private var found: FrozenVoxels<UInt16>?
    /// The number of the next run among all runs on the item; those after the region has grown have other numbers.
    private var nextRun = 0
    private var finishedSteps = 0
    /// The tiles of parts that have not begun, as predicted from the whole volume.
    private var laterSteps = 0
    /// How often the region was enlarged.
    private var growth = 0
    private(set) var notes: [Note] = []
    /// What the program's rules have changed on its grid; nil if they are still to be applied, on the volume's own.
    private(set) var cleaning: [LabelCleaning]?
    /// Of the networks in the labels of the program, before any cleaning.
    package private(set) var confidence: [UInt16: LabelConfidence] = [:]
    /// Of the parts so far, on the grid of ``place``.
    private var probabilities: [UInt16: [LabelProbabilities]] = [:]
    private(set) var isFinished = false

    /// Begins the first part, and continues up to the first tile.
    init(
        _ model: SegmentationModel,
        _ input: PreparedVolume.NetworkInput,
        resources: InferenceResources,
        context: StageContext
    ) throws {
        self.model = model
        self.input = input
        self.resources = resources
        parts = model.partsInUse(resources.options)
        place = input.place
        if parts.count < model.parts.count {
            notes.append(
                Note(
                    "model.partsRun",
                    "\(parts.count) of \(model.parts.count) parts of the model ran, those with the labels of --labels"
                )
            )
        }
        try model.reporting { try begin(context) }
    }

    /// Tiles of all parts.
    package var stepCount: Int { isFinished ? finishedSteps : finishedSteps + (current?.stepCount ?? 0) + laterSteps }
    /// Also those that a checkpoint of an interrupted run had.
    package var stepsDone: Int { finishedSteps + (current?.stepsDone ?? 0) }

    /// What runs the networks.
    package var used: EngineInUse { resources.used }

    private func begin(_ context: StageContext) throws {
        let first = model.firstPart(resources.options)
        let later = model.region == nil ? parts.dropFirst() : parts[...]
        laterSteps = try later.reduce(0) { $0 + (try $1.plannedTiles(on: place.volume.source, resources.options)) }
        part = model.region == nil ? 0 : nil
        try start(first, grids: input.first, image: input.image)
        try advance(context)
    }

    private func start(_ part: PartModel, grids: [[ModelGrid]], image: FrozenVoxels<Float>?) throws {
        current = try PartRun(
            part,
            on: place.volume,
            grids: grids,
            firstImage: image,
            firstRun: nextRun,
            resources: resources
        )
        nextRun += PartRun.runCount(part)
    }

    /// Runs one tile. Where it was the last of a part, the next part is prepared, too.
    /// - Throws: `NetworkOutputError` for outputs that are not finite, `CancelledError`.
    package func step(_ context: StageContext) throws {
        try model.reporting {
            try current?.step(context)
            try advance(context)
        }
    }

    /// Saves finished slices, of which a plane has none before its last tile.
    package func checkpoint(force: Bool) throws { try current?.checkpoint(force: force) }

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
                for (value, found) in run.confidence {
                    if let label = parts[part].labels[value] { confidence[label] = found }
                }
                probabilities.merge(run.probabilities) { $0 + $1 }
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
        let rules = settings.member.settings.postprocessing
        guard let box = try regionBox(settings, cleaned(labels, rules, context.scope).labels, context.scope) else {
            notes.append(
                Note(
                    "model.regionNotFound",
                    "the region of the model was not found in this volume, so nothing is segmented"
                )
            )
            isFinished = true
            laterSteps = 0
            return
        }
        clips = try settings.clip.map { clip in
            try place.volume.channels.map { channel in
                try PointwiseMap(clamping: channel, place.shape, to: clip, scope: context.scope)
            }
        }
        try startParts(in: box, context)
    }

    /// The box around the labels of the region's network; nil if there are none.
    private func regionBox(
        _ settings: ProgramRegionSettings,
        _ labels: FrozenVoxels<UInt16>,
        _ scope: ComputeScope
    ) throws -> RegionBox? {
        if let share = settings.planeShare, let grid = place.grid {
            return RegionBox(planesAbove: share, of: settings.labels, labels, on: grid, margin: settings.margin.share)
        }
        let geometry = input.stored.source.geometry
        let stored = try place.grid?.stored(labels, scope: scope) ?? labels
        return try VoxelBox.around(Set(settings.labels), of: stored, geometry.shape, scope: scope)
            .map { RegionBox(around: $0, margin: settings.margin, in: geometry) }
    }

    private func startParts(in region: RegionBox, _ context: StageContext) throws {
        self.region = region
        place = try WorkingPlace(
            in: input.stored,
            box: region.box,
            clips: clips,
            truncates: model.settings.region?.truncates ?? false,
            grid: model.settings.grid,
            scope: context.scope
        )
        laterSteps = try parts.reduce(0) { $0 + (try $1.plannedTiles(on: place.volume.source, resources.options)) }
        merged = .empty
        found = nil
        confidence = [:]
        for file in Set(probabilities.values.joined().map(\.path)) { FileSystem.remove(file) }
        probabilities = [:]
        try startPart(after: -1, context)
    }

    /// The larger region, if labels touch the sides of this one.
    private func largerRegion(_ labels: FrozenVoxels<UInt16>, _ scope: ComputeScope) throws -> RegionBox? {
        guard let region, model.settings.region?.grows == true, growth < RegionBox.maximumGrowth,
            let labelled = try VoxelBox.around(nil, of: labels, region.box.shape, scope: scope)
        else { return nil }
        return region.grown(for: labelled)
    }

    // MARK: Parts

    private func startPart(after index: Int, _ context: StageContext) throws {
        guard index + 1 < parts.count else { return try finishParts(context) }
        part = index + 1
        let next = parts[index + 1]
        laterSteps = max(0, laterSteps - (try next.plannedTiles(on: place.volume.source, resources.options)))
        let grids = try next.grids(on: place.volume, scope: context.scope)
        try start(next, grids: grids, image: nil)
    }

    /// Brings the merged labels back to the box of the stored volume; begins again if that box is too small.
    private func finishParts(_ context: StageContext) throws {
        let labels: FrozenVoxels<UInt16>
        if let single = found {
            labels = single
        } else {
            var taken = VoxelBuffer<UInt16>.empty
            swap(&taken, &merged)
            labels = taken.frozen()
        }
        let stored =
            try place.grid.map { grid in
                try grid.stored(try cleaned(labels, context.scope), scope: context.scope)
            } ?? labels
        found = stored
        if let larger = try largerRegion(stored, context.scope) {
            growth += 1
            return try startParts(in: larger, context)
        }
        if growth > 0 { notes.append(growthNote) }
        isFinished = true
    }

    private var growthNote: Note {
        let times = growth == 1 ? "once" : "\(growth) times"
        return Note(
            "model.regionEnlarged",
            growth < RegionBox.maximumGrowth
                ? "the region was enlarged \(own: times), until labels no longer touched it"
                : "the region was enlarged \(own: times); labels may still touch it"
        )
    }

    private func merge(_ labels: FrozenVoxels<UInt16>, of part: PartModel, _ scope: ComputeScope) throws {
        let own = try model.isProgram ? cleaned(labels, part.postprocessRules, scope).labels : labels
        if parts.count == 1, part.keepsLabels {
            found = own
            return
        }
        if merged.count == 0 { merged = try VoxelBuffer(count: place.shape.count) }
        try LabelMerge.add(own, part.labels, to: &merged, place.shape, scope: scope)
    }

    /// The labels on the volume's own grid, in stored order. Call once, when all steps are done.
    /// - Throws: `DeviceFault` where the device failed meanwhile; `AllocationError`, `CancelledError`.
    package func finish(_ context: StageContext) throws -> LabelVolume {
        let geometry = input.stored.source.geometry
        let voxels: FrozenVoxels<UInt16>
        if let labels = found {
            voxels = try LabelMerge.placed(labels, in: place.box, of: geometry.shape, scope: context.scope)
        } else {
            voxels = try VoxelBuffer<UInt16>(count: geometry.shape.count).frozen()
        }
        found = nil
        try used.end(resources.item.name)
        return LabelVolume(geometry: geometry, voxels: voxels)
    }

    /// The probabilities that were asked for, once all steps are done.
    var maps: ProbabilityMaps {
        ProbabilityMaps(labels: probabilities, box: place.box, grid: place.grid, shape: place.shape)
    }

    /// The labels after the program's rules, which apply on its grid.
    private func cleaned(_ labels: FrozenVoxels<UInt16>, _ scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        let result = try cleaned(labels, model.settings.postprocessing, scope)
        cleaning = result.cleaning
        return result.labels
    }

    private func cleaned(
        _ labels: FrozenVoxels<UInt16>,
        _ rules: PostprocessRules,
        _ scope: ComputeScope
    ) throws -> (labels: FrozenVoxels<UInt16>, cleaning: [LabelCleaning]) {
        guard !rules.isEmpty else { return (labels, []) }
        // Others may hold these labels, so a copy is changed.
        let copy = LabelVolume(geometry: place.volume.source.geometry, voxels: try labels.mutableCopy().frozen())
        let (result, cleaning) = try copy.cleaned(by: rules, scope: scope)
        return (result.voxels, cleaning)
    }
}
