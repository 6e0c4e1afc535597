import Foundation
public import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneMesh
import NocturneNumerics
public import NocturnePipeline
import NocturnePostprocess
import Synchronization

/// CT and MR volumes in; label maps, surfaces and measurements out.
public struct VolumeSegmentation: Recipe {
    private let models: [SegmentationModel]
    private let options: SegmentationOptions

    public init(models: [SegmentationModel], options: SegmentationOptions) {
        self.models = models
        self.options = options
    }

    private func model(_ id: String) throws -> SegmentationModel {
        guard let model = models.first(where: { $0.package.id == id }) else {
            throw SegmentationModelError(package: id, detail: "is not among the models of this run")
        }
        return model
    }

    // MARK: Discovering and planning

    public func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery {
        try VolumeDiscovery(models: models, options: options, scope: scope).run(request)
    }

    public func sharedBytes(threads: Int) throws -> Int {
        try models.reduce(0) { $0 + (try $1.residentBytes(threads: threads)) }
    }

    public func plan(source: String, threads: Int) throws -> ItemPlan {
        let source = try VolumeSource(source)
        return try VolumeMemory(source: source, model: try model(source.model), options: options).plan(threads: threads)
    }

    /// How long one tile takes here and now: one is run and timed.
    public func secondsPerTile(scope: ComputeScope) throws -> Double {
        var total = 0.0
        for model in models {
            total += try model.withSessions(width: scope.width) { set in
                let start = ContinuousClock.now
                for session in set.sessions {
                    try set.input.withUnsafeBufferPointer { input in
                        try set.sum.withUnsafeMutableBufferPointer { sum in
                            try session.run(input: input, output: sum, scope: scope)
                        }
                    }
                }
                let passes = MirrorPasses(axes: options.disablesMirroring ? [] : model.settings.mirroringAxes).count
                let seconds = (ContinuousClock.now - start).components
                return (Double(seconds.seconds) + Double(seconds.attoseconds) * 1e-18) * Double(passes)
            }
        }
        return models.isEmpty ? 0 : total / Double(models.count)
    }

    // MARK: The stages

    /// A volume as decoded, on its stored grid.
    public struct LoadedVolume: Sendable {
        let source: VolumeSource
        let volume: Volume
        let notes: [String]
    }

    public func load(_ item: RecipeItem, _ context: StageContext) throws -> LoadedVolume {
        let source = try VolumeSource(item.source)
        switch source.format {
        case .nifti:
            let read = try NIfTIReader.readVolume(at: source.files[0], scope: context.scope)
            guard read.volume.geometry == source.geometry else {
                throw VolumeFault(path: item.path, detail: "the file changed since it was found")
            }
            guard read.nonFiniteCount == 0 else {
                throw VolumeFault(
                    path: item.path,
                    detail: "\(read.nonFiniteCount) voxels are not numbers (NaN or infinite)"
                )
            }
            return LoadedVolume(source: source, volume: read.volume, notes: [])
        case .dicom:
            let scan = try DICOMScanner.scan(paths: source.files, scope: context.scope)
            guard let series = scan.series.first(where: { $0.seriesInstanceUID == source.seriesInstanceUID }),
                series.slices.count == source.files.count
            else { throw VolumeFault(path: item.path, detail: "slices are missing since the series was found") }
            if let problem = series.problem { throw problem }
            let volume = try DICOMReader.readVolume(series, scope: context.scope)
            return LoadedVolume(source: source, volume: volume, notes: series.notes)
        }
    }

    public func prepare(
        _ loaded: consuming LoadedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedVolume {
        let source = loaded.source
        let volume = loaded.volume
        let model = try model(source.model)
        let grid = try ModelGrid(
            source: source,
            model: model,
            nonzero: { orientation in
                try VoxelBox.nonzero(
                    volume.voxels,
                    stored: source.geometry.shape,
                    orientation: orientation,
                    scope: context.scope
                )
            }
        )
        let view = try VoxelView(stored: source.geometry.shape, orientation: grid.orientation).cropped(to: grid.box)
        let map = try model.package.channels[0].normalization.asNumerics.map(
            for: volume.voxels,
            view: view,
            scope: context.scope
        )
        let resampler = try ImageResampler(
            view: view,
            target: grid.shape,
            order: grid.order,
            separateAxis: grid.separateAxis,
            map: map
        )
        let image = try resampler.resample(volume.voxels, scope: context.scope)
        return PreparedVolume(
            source: source,
            volume: volume,
            image: image.frozen(),
            modelShape: grid.shape,
            orientation: grid.orientation,
            box: grid.box,
            notes: loaded.notes
        )
    }

    public func startInference(
        _ prepared: consuming PreparedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> TiledSegmentation {
        try TiledSegmentation(
            model: try model(prepared.source.model),
            options: options,
            prepared: prepared,
            item: item,
            context: context
        )
    }

    /// Cleaned labels, with what was measured on them.
    public struct FinishedVolume: Sendable {
        let source: VolumeSource
        let labels: LabelVolume
        let measurements: [LabelMeasurement]
        let cleaning: [LabelCleaning]
        /// Drawn while the source image is still in memory.
        let preview: RGBImage
        let notes: [String]
    }

    public func finish(
        _ inferred: consuming LabelledVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> FinishedVolume {
        let model = try model(inferred.source.model)
        let rules = rules(of: model)
        var labels = inferred.labels
        var cleaning: [LabelCleaning] = []
        if !rules.isEmpty {
            var buffer = try inferred.labels.voxels.mutableCopy()
            cleaning = try LabelCleaner.apply(rules, to: &buffer, geometry: labels.geometry, scope: context.scope)
            labels = LabelVolume(geometry: labels.geometry, voxels: buffer.frozen())
        }
        let measurements = try LabelMeasurer.measure(
            labels: labels,
            image: inferred.volume,
            values: wantedLabels(of: model).map(\.value),
            scope: context.scope
        )
        let preview = Preview(
            volume: inferred.volume,
            labels: labels,
            colors: Dictionary(uniqueKeysWithValues: wantedLabels(of: model).map { ($0.value, $0.color) }),
            window: model.package.channels[0].normalization.previewWindow,
            labelled: VoxelBox(around: measurements.compactMap(\.boundingBox))
        )
        return FinishedVolume(
            source: inferred.source,
            labels: labels,
            measurements: measurements,
            cleaning: cleaning,
            preview: preview.image(),
            notes: inferred.notes
        )
    }

    /// With one surface for every label that is there.
    public struct MeshedVolume: Sendable {
        let finished: FinishedVolume
        let surfaces: [UInt16: SurfaceMesh]
    }

    public func mesh(
        _ finished: consuming FinishedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedVolume {
        guard options.meshes != .none else { return MeshedVolume(finished: finished, surfaces: [:]) }
        let present = finished.measurements.filter { $0.voxelCount > 0 }.map(\.value)
        let labels = finished.labels
        let surfaces = Mutex([UInt16: SurfaceMesh]())
        let scope = context.scope
        try scope.forEach(present.count) { index in
            // The only error is cancellation, which the loop itself reports.
            guard let surface = try? SurfaceExtractor.surface(of: present[index], in: labels, scope: scope) else {
                return
            }
            surfaces.withLock { $0[present[index]] = surface }
        }
        return MeshedVolume(finished: finished, surfaces: surfaces.withLock { $0 })
    }

    public func write(
        _ meshed: consuming MeshedVolume,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(meshed.finished.source.model)
        return try SegmentationWriter(
            model: model,
            options: options,
            labels: wantedLabels(of: model),
            meshed: meshed,
            item: item
        ).write(into: folder, scope: context.scope)
    }

    public func adopt(folder: String, fingerprint: String) throws -> ItemProduct? {
        try SegmentationWriter.adopt(folder: folder, fingerprint: fingerprint)
    }

    public func isTransient(_ error: any Error) -> Bool {
        let code =
            (error as? NIfTIError)?.systemCode ?? (error as? MeshFileError)?.systemCode
            ?? (error as? PNGError)?.systemCode
        return code.map { FileFault(operation: "", path: "", code: $0).isTransient } ?? false
    }

    // MARK: What the package and the options say together

    private func wantedLabels(of model: SegmentationModel) -> [ModelLabel] {
        model.package.labels.filter { options.labels?.contains($0.name) ?? true }
    }

    private func rules(of model: SegmentationModel) -> PostprocessRules {
        let values = Dictionary(uniqueKeysWithValues: wantedLabels(of: model).map { ($0.name, $0.value) })
        let settings = model.settings.postprocessing
        return PostprocessRules(
            keepLargest: settings.keepLargest.compactMap { values[$0] },
            fillHoles: settings.fillHoles.compactMap { values[$0] },
            minimumVolumeMm3: Dictionary(
                uniqueKeysWithValues: settings.minimumVolumeMm3.compactMap { entry in
                    values[entry.key].map { ($0, entry.value) }
                }
            ),
            connectivity: Connectivity(rawValue: settings.connectivity) ?? .corners
        )
    }
}

/// A volume that cannot be worked on, found out while it was.
struct VolumeFault: Error, CustomStringConvertible {
    let path: String
    let detail: String
    var description: String { "\(path): \(detail)" }
}

extension IntensityNormalization {
    /// The same scheme in the words of the numerics.
    var asNumerics: Normalization {
        switch self {
        case .ct(let lower, let upper, let mean, let deviation):
            .ct(lower: lower, upper: upper, mean: mean, deviation: deviation)
        case .zScore: .zScore
        case .rescale01: .rescale01
        case .none: .none
        }
    }
}
