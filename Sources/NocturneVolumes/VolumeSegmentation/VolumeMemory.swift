import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturnePostprocess

/// Plans every large buffer of a volume from its header alone.
struct VolumeMemory {
    let source: VolumeSource
    let model: SegmentationModel
    let options: SegmentationOptions
    var regions: RegionMeasures? = nil

    private var voxels: Int { source.geometry.shape.count }
    private var sourceBytes: Int { voxels * 4 * model.channelCount }
    private var mappedLabels: Set<UInt16> {
        options.writesProbabilities ? Set(model.wantedLabels(options).map(\.value)) : []
    }

    /// - Parameter lean: whether the source and the sums of tiles are kept in files, and surfaces are expected to be small.
    func plan(threads: Int, lean: Bool) throws -> ItemPlan {
        var buffers = [
            PlannedBuffer("source voxels", bytes: sourceBytes, from: .load, through: lean ? .load : .finish),
            PlannedBuffer("slices before resampling", bytes: (source.storedVoxels ?? 0) * 4, in: .load),
            PlannedBuffer("decoder", bytes: source.decoderBytes * threads, in: .load),
        ]
        if lean {
            let file = PlannedBuffer(
                "source in a file",
                bytes: sourceBytes,
                from: .load,
                through: .finish,
                isInFile: true
            )
            buffers.append(file)
        }
        var steps = 0
        var largest: [PlannedBuffer] = []
        if let region = model.region {
            let part = PartModel(members: [region], labels: [:])
            let planned = try planned([part], grid: model.settings.region?.grid, threads: threads, lean: lean)
            (largest, steps) = planned
        }
        let parts = try planned(model.partsInUse(options), grid: model.settings.grid, threads: threads, lean: lean)
        steps += parts.steps
        // One after the other.
        buffers += Self.sum(parts.buffers) > Self.sum(largest) ? parts.buffers : largest
        if model.region != nil {
            let bytes = voxels * (4 * model.channelCount + 2)
            buffers.append(PlannedBuffer("region of the volume", bytes: bytes, in: .infer))
        }
        buffers += finishing(threads, lean: lean)
        return ItemPlan(buffers: buffers, steps: steps, isLean: lean, diskBytes: diskBytes)
    }

    /// The buffers of the part that needs most, on a grid of the program or the volume's own, and the tiles of all parts.
    private func planned(
        _ parts: [PartModel],
        grid settings: ProgramGridSettings?,
        threads: Int,
        lean: Bool
    ) throws -> (buffers: [PlannedBuffer], steps: Int) {
        let grid = try settings.map { try ProgramGrid($0, of: source) }
        let work = grid?.source(of: source) ?? source
        var (steps, largest): (Int, [PlannedBuffer]) = (0, [])
        for part in parts {
            let memory = try PartMemory(
                part: part,
                source: work,
                options: options,
                lean: lean,
                mappedLabels: mappedLabels
            ).plan()
            steps += memory.steps
            if Self.sum(memory.buffers) > Self.sum(largest) { largest = memory.buffers }
        }
        if let grid { largest += try onGrid(grid, work.geometry.shape.count) }
        if parts.count > 1 || parts.contains(where: { !$0.keepsLabels }) {
            let bytes = work.geometry.shape.count * 2
            largest.append(PlannedBuffer("merged labels", bytes: bytes, in: .infer))
        }
        // Rules on the grid of the program, or of a part before its labels are merged.
        let rules =
            (grid == nil ? [] : [model.settings.postprocessing])
            + (model.isProgram ? parts.map(\.postprocessRules) : [])
        let morphology = morphologyBytes(rules, work.geometry.shape, threads)
        if morphology > 0 {
            largest.append(PlannedBuffer("label morphology", bytes: morphology, in: .infer))
        }
        return (largest, steps)
    }

    private func morphologyBytes(_ rules: [PostprocessRules], _ shape: VolumeShape, _ threads: Int) -> Int {
        rules.map { LabelCleaner.morphologyBytes(of: $0, shape: shape, threads: threads) }.max() ?? 0
    }

    private static func sum(_ buffers: [PlannedBuffer]) -> Int {
        buffers.reduce(0) { $0 + ($1.isInFile ? 0 : $1.bytes) }
    }

    private func onGrid(_ grid: ProgramGrid, _ voxels: Int) throws -> [PlannedBuffer] {
        [
            PlannedBuffer(
                "volume on the grid of the program",
                bytes: voxels * 4 * model.channelCount,
                from: .prepare,
                through: .infer
            ),
            PlannedBuffer("resampling to the grid of the program", bytes: try grid.workingBytes(), in: .prepare),
            PlannedBuffer("labels on the grid of the program", bytes: voxels * 4, in: .infer),
        ]
    }

    /// The files of the result. Checkpoints are left out: ``LabelCheckpoint`` makes none
    /// where the disk is nearly full.
    ///
    /// Label maps are compressed: segmentations take less than a bit a voxel, two are planned. What results of this model
    /// really take replaces the prediction after a few items (`LearnedPace`).
    private var diskBytes: Int {
        let shape = source.geometry.shape
        let surfaces = options.surfaces.meshes == .none ? 0 : Self.surfaceBytes(shape) / 4
        let objects = options.writesSegmentationObject ? voxels / 4 : 0
        let pictures = options.pictures.diskBytes(shape)
        let probabilities = mappedLabels.count * (voxelsOfNetworks + voxels / 4)
        let stack = source.format == .tiff ? voxels / 4 : 0
        return voxels / 4 + (1 << 20) + surfaces + objects + pictures + probabilities + stack
    }

    /// The grid on which labels are made: the program's or the volume's own.
    private var voxelsOfNetworks: Int {
        let grid = try? model.settings.grid.map { try ProgramGrid($0, of: source) }
        return grid?.shape.count ?? voxels
    }

    /// The mean cross-section of the grid in voxels.
    static func section(_ shape: VolumeShape) -> Int { Int(pow(Double(shape.count), 2.0 / 3)) }

    // A header does not determine the number of components and the size of surfaces. The plan allows far more than a
    // body needs (its skin has about four vertices for every voxel of the grid's mean cross-section); a map with very
    // many small components is processed in parts.
    static func componentBytes(_ shape: VolumeShape) -> Int { section(shape) * 96 + (1 << 20) }
    /// - Parameter lean: for the skin of a body. A larger surface takes what is left of the budget, since nothing else runs.
    static func surfaceBytes(_ shape: VolumeShape, lean: Bool = false) -> Int {
        section(shape) * (lean ? 6 : 18) * 180 + (1 << 20)
    }
    /// Bytes of a DICOM segmentation or structure set: as for surfaces, plus an allowance for the small components of a
    /// small volume.
    static func objectBytes(_ shape: VolumeShape) -> Int { surfaceBytes(shape) + (64 << 20) }

    /// Morphology comes first, and measuring follows cleaning, one measurement after the other.
    private func measuringBytes(_ threads: Int) -> Int {
        max(
            model.settings.grid == nil
                ? morphologyBytes([model.settings.postprocessing], source.geometry.shape, threads) : 0,
            LabelMeasurement.predictedBytes(threads: threads),
            ComponentCounter.predictedBytes(source.geometry.shape),
            regions?.predictedBytes(in: source.geometry, threads: threads) ?? 0,
            ReferenceComparison(options, source).predictedBytes(threads: threads),
            SecondImageMeasurement(source, options.radiomics.choice).predictedBytes(threads: threads),
            RadiomicsMeasurement.predictedBytes(
                options.radiomics.choice,
                source.geometry,
                modality: source.modality ?? model.package.onlyModality,
                threads: threads
            )
        )
    }

    private func finishing(_ threads: Int, lean: Bool) -> [PlannedBuffer] {
        let shape = source.geometry.shape
        var buffers = [
            PlannedBuffer("labels", bytes: voxels * 2, from: .infer, through: .write),
            PlannedBuffer(
                "morphology, components, or measuring",
                bytes: max(Self.componentBytes(shape), measuringBytes(threads)),
                in: .finish
            ),
            PlannedBuffer("compression", bytes: NIfTIWriter.compressionBytes, in: .write),
        ]
        buffers += options.pictures.buffers(shape, hasRegions: regions != nil, threads: threads)
        if options.surfaces.meshes != .none {
            let bytes = Self.surfaceBytes(shape, lean: lean)
            buffers.append(PlannedBuffer("surfaces", bytes: bytes, in: .render))
        }
        if !mappedLabels.isEmpty {
            let bytes = 4 * (voxels + voxelsOfNetworks)
            buffers.append(PlannedBuffer("map of probabilities", bytes: bytes, in: .write))
        }
        if options.writesSegmentationObject || options.writesStructureSet {
            // One after the other.
            buffers.append(
                PlannedBuffer("DICOM objects", bytes: Self.objectBytes(shape), in: .write)
            )
        }
        return buffers
    }
}
