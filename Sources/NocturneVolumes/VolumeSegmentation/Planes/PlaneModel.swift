package import NocturneBatch
package import NocturneConcurrency
package import NocturneCore
package import NocturneInference
package import NocturnePostprocess

/// Networks for slices with their package, applied to single planes such as photos.
///
/// The arithmetic is that of volumes on a grid of one slice: cropping, normalisation, tiles, mirroring, blending, the decision for
/// a label. Planes are width × height pixels, row by row from the upper left corner.
package struct PlaneModel: Sendable {
    let model: SegmentationModel
    let options: SegmentationOptions

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Parameters:
    ///   - settings: of a section for planes.
    ///   - options: of which step between tiles, mirroring and rounding matter.
    /// - Throws: ``UnusablePackageError``, `ModelFormatError`.
    package init(
        _ settings: VolumeSegmentationSettings,
        of package: ModelPackage,
        engine: any InferenceEngine,
        precision: InferencePrecision,
        options: SegmentationOptions
    ) throws {
        precondition(settings.levels.allSatisfy(\.isPlanar) && settings.levels.count == 1, "networks for planes")
        self.options = options
        model = try SegmentationModel(
            VolumeModelSettings(settings, of: package),
            of: package,
            engine: engine,
            precision: precision
        )
    }

    /// The package of the networks.
    package var package: ModelPackage { model.package }

    /// The networks with the shapes of their inputs: 1, channels, rows, columns.
    package var networks: [(file: String, inputShape: [Int])] { model.networks }

    /// In memory.
    package var loadedNetworks: [any LoadedNetwork] { model.loadedNetworks }

    /// Bytes held while the model is in use.
    package func residentBytes(threads: Int) throws -> Int {
        try model.memory(threads: threads, options: options).total
    }

    /// Runs and times one tile.
    package func secondsPerTile(scope: ComputeScope) throws -> Double {
        let sessions = LevelSessions()
        return try model.levels.reduce(0) { $0 + (try $1.secondsPerTile(sessions, options, scope: scope)) }
    }

    /// See `Recipe.threadsOfProcess(cores:)`.
    package func threadsOfProcess(cores: Int) throws -> Int {
        try model.levels.map { try $0.threadsOfProcess(cores: cores) }.min() ?? cores
    }

    /// A plane as a volume of one slice. nnU-Net's reader of photos gives it the spacing (999, 1, 1).
    func source(width: Int, height: Int) -> VolumeSource {
        VolumeSource(
            format: .nifti,
            model: package.id,
            files: [],
            name: "",
            // Pixels of 1 × 1, so that positions are pixels and volumes numbers of pixels.
            geometry: VolumeGeometry(shape: VolumeShape(x: width, y: height, z: 1), affine: .identity),
            spacing: SIMD3(1, 1, 999)
        )
    }

    // MARK: Inference

    /// Normalises a plane, and crops it if the package requires it.
    /// - Parameter channels: `[channel][y][x]`, one for every channel of the package, each of width × height values.
    /// - Throws: `NumericsError`, `AllocationError`, `CancelledError`.
    package func prepare(
        _ channels: [FrozenVoxels<Float>],
        width: Int,
        height: Int,
        scope: ComputeScope
    ) throws -> PreparedVolume.NetworkInput {
        precondition(channels.count == model.channelCount, "one plane for each channel of the package")
        let stored = WorkingVolume(source: source(width: width, height: height), channels: channels)
        return try PreparedVolume.NetworkInput(of: stored, model: model, options: options, scope: scope)
    }

    /// Begins inference on a plane. A plane has labels only when its last tile is done, so that an interrupted plane begins again.
    /// - Parameter item: whose fingerprint a checkpoint would have.
    package func start(
        _ input: PreparedVolume.NetworkInput,
        _ item: RecipeItem,
        sessions: LevelSessions,
        context: StageContext
    ) throws -> ProgramRun {
        let resources = InferenceResources(
            options: options,
            sessions: sessions,
            item: item,
            used: model.engineInUse,
            mappedLabels: []
        )
        return try ProgramRun(model, input, resources: resources, context: context)
    }

    // MARK: Labels

    /// The labels after the package's rules, in their memory: nobody may read `labels` afterwards.
    /// - Returns: what the rules have changed, by label; empty without rules.
    /// - Throws: `CancelledError`, `AllocationError`.
    package func cleaned(_ labels: LabelVolume, scope: ComputeScope) throws -> (LabelVolume, [LabelCleaning]) {
        var rules = model.settings.postprocessing
        rules.isPlane = true
        return try labels.cleaned(by: rules, within: Self.componentBytes(labels.geometry.shape), scope: scope)
    }

    /// Enough for any labels: what is assumed of the cross-section of a body does not hold for a plane.
    private static func componentBytes(_ shape: VolumeShape) -> Int {
        max(VolumeMemory.componentBytes(shape), ComponentCounter.predictedBytes(shape))
    }

    // MARK: Planning

    /// Plans the buffers of the networks and of the labels of one plane. There is no lean plan: the sums of a plane's tiles are all
    /// needed when its last tile is done, so that a file would spare nothing.
    /// - Returns: buffers, and the number of tiles.
    package func plan(width: Int, height: Int, threads: Int) throws -> (buffers: [PlannedBuffer], steps: Int) {
        let source = source(width: width, height: height)
        let shape = source.geometry.shape
        let part = try PartMemory(
            part: model.parts[0],
            source: source,
            options: options,
            lean: false,
            mappedLabels: []
        ).plan()
        let measuring = max(Self.componentBytes(shape), LabelMeasurement.predictedBytes(threads: threads))
        let buffers = [
            PlannedBuffer("channels", bytes: shape.count * 4 * model.channelCount, from: .prepare, through: .infer),
            PlannedBuffer("labels", bytes: shape.count * 2, from: .infer, through: .write),
            PlannedBuffer("components or measuring", bytes: measuring, in: .finish),
        ]
        return (buffers + part.buffers, part.steps)
    }
}
