internal import NocturneSystem

/// The value of a feature of one region.
public struct FeatureValue: Hashable, Sendable {
    /// As in the standard's tables of reference values, e.g. `cm_joint_max_3D_avg`.
    public let name: String
    /// The manual's identifier, followed by that of the aggregation after a point: `GYBY.ITBB`.
    public let code: String
    /// nil when there is no value.
    public let value: Double?
    /// Why there is no value.
    public let absence: FeatureAbsence?

    init(_ name: String, _ code: String, _ value: Double?, absence: FeatureAbsence? = nil) {
        self.name = name
        self.code = code
        let isValid = value.map(\.isFinite) ?? false
        self.value = isValid ? value : nil
        self.absence = isValid ? nil : absence ?? .undefined
    }
}

/// What the families of a region are computed from.
struct FeatureSource: Sendable {
    let region: RadiomicsRegion
    let settings: RadiomicsSettings
    /// For loops longer than a second. What they have then is thrown away.
    let flag: CancellationFlag
    private let levels: Result<LevelGrid, FeatureAbsence>

    init(_ region: RadiomicsRegion, _ settings: RadiomicsSettings, _ flag: CancellationFlag) {
        self.region = region
        self.settings = settings
        self.flag = flag
        levels = Result { () throws(FeatureAbsence) in
            guard region.intensityMask.contains(1) else { throw .noVoxels }
            guard !region.hasValuesThatAreNotFinite() else { throw .notFinite }
            // Made once for all families: histogram and textures have the same discretisation.
            return try LevelGrid(of: region, settings.discretisation)
        }
    }

    /// The grey levels.
    /// - Throws: why there are none.
    func grid() throws(FeatureAbsence) -> LevelGrid { try levels.get() }

    /// The region, for families that need intensities but no grey levels.
    /// - Throws: `noVoxels` or `notFinite`.
    func intensities() throws(FeatureAbsence) -> RadiomicsRegion {
        if case .failure(let absence) = levels, absence == .noVoxels || absence == .notFinite { throw absence }
        return region
    }
}

/// A family of features (section 3 of the manual): one file, and one line in ``all``.
struct FeatureFamily: Sendable {
    /// In the order of the manual, whose morphology is the first two.
    static let all: [FeatureFamily] = [
        .shape, .spatialDistribution, .localIntensity, .statistics, .intensityHistogram, .volumeHistogram,
        .cooccurrence,
        .runLength, .sizeZone, .distanceZone, .toneDifference, .levelDependence,
    ]

    /// Its name in settings.
    let name: RadiomicsSettings.Family
    let descriptions: [FeatureDescription]
    /// The ends of names and codes, one for each way to put matrices together.
    private let variants: @Sendable (RadiomicsSettings) -> [(name: String, code: String)]
    /// For each variant a value for each feature.
    private let rows: @Sendable (FeatureSource) throws(FeatureAbsence) -> [[Double]]

    /// The values in the order of the descriptions, for textures once for each variant.
    func values(of source: FeatureSource) -> [FeatureValue] {
        do throws(FeatureAbsence) {
            return zip(variants(source.settings), try rows(source)).flatMap { variant, row in
                zip(descriptions, row).map { FeatureValue($0.name + variant.name, $0.code + variant.code, $1) }
            }
        } catch {
            return absent(error, source.settings)
        }
    }

    /// Every feature without a value.
    func absent(_ absence: FeatureAbsence, _ settings: RadiomicsSettings) -> [FeatureValue] {
        variants(settings).flatMap { variant in
            descriptions.map { FeatureValue($0.name + variant.name, $0.code + variant.code, nil, absence: absence) }
        }
    }
}

extension FeatureFamily {
    /// A family without matrices.
    init<Measures>(
        _ name: RadiomicsSettings.Family,
        _ features: [FeatureDefinition<Measures>],
        measures: @escaping @Sendable (FeatureSource) throws(FeatureAbsence) -> Measures
    ) {
        self.name = name
        descriptions = features.map(\.description)
        variants = { _ in [("", "")] }
        rows = { source throws(FeatureAbsence) in
            let measures = try measures(source)
            return [features.map { $0.value(measures) }]
        }
    }

    /// A family of matrices of slices and directions.
    /// - Parameters:
    ///   - distance: of the pairs that a direction joins.
    ///   - matrices: makes the function that computes the matrix of some slices at an offset.
    init<Matrix: TextureMatrix>(
        _ name: RadiomicsSettings.Family,
        _ features: [FeatureDefinition<Matrix.Measures>],
        distance: @escaping @Sendable (RadiomicsSettings.Texture) -> Int,
        directed matrices: @escaping @Sendable (FeatureSource, LevelGrid) -> (Range<Int>, SIMD3<Int>) -> Matrix
    ) {
        self.name = name
        descriptions = features.map(\.description)
        variants = { $0.texture.aggregations.map { ("_\($0.suffix)", ".\($0.code)") } }
        rows = { source throws(FeatureAbsence) in
            let grid = try source.grid()
            let texture = source.settings.texture
            return TextureAggregation(
                grid: grid,
                features: features,
                directions: LevelGrid.halfOffsets(distance: distance(texture)),
                matrix: matrices(source, grid)
            ).rows(texture.aggregations)
        }
    }

    /// A family of matrices of slices.
    /// - Parameter matrices: makes the function that computes the matrix of some slices, with neighbours in space or not.
    init<Matrix: TextureMatrix>(
        _ name: RadiomicsSettings.Family,
        _ features: [FeatureDefinition<Matrix.Measures>],
        undirected matrices: @escaping @Sendable (FeatureSource, LevelGrid) -> (Range<Int>, Bool) -> Matrix
    ) {
        self.name = name
        descriptions = features.map(\.description)
        variants = { $0.extents.map { ("_\($0.rawValue)", ".\($0.code)") } }
        rows = { source throws(FeatureAbsence) in
            let grid = try source.grid()
            let settings = source.settings
            // With a single direction, averaged and merged values are the same.
            return TextureAggregation(
                grid: grid,
                features: features,
                directions: (plane: [false], space: [true]),
                matrix: matrices(source, grid)
            ).rows(
                settings.extents.compactMap { extent in settings.texture.aggregations.first { $0.extent == extent } }
            )
        }
    }
}
