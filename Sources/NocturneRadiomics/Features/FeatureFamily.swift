/// A feature of the reference manual: how its value is taken from what a family measures.
struct FeatureDefinition<Measures>: Sendable {
    /// As in the standard's tables of reference values, without the aggregation.
    let name: String
    /// The four letters and digits by which the manual identifies the feature.
    let code: String
    /// The manual's heading.
    let title: String
    let value: @Sendable (Measures) -> Double

    init(_ name: String, _ code: String, _ title: String, _ value: @escaping @Sendable (Measures) -> Double) {
        self.name = name
        self.code = code
        self.title = title
        self.value = value
    }

    var description: FeatureDescription { FeatureDescription(name: name, code: code, title: title) }
}

/// A feature without its value.
public struct FeatureDescription: Hashable, Sendable {
    /// As in the standard's tables of reference values, without the aggregation.
    public let name: String
    /// The four letters and digits by which the manual identifies the feature.
    public let code: String
    /// The manual's heading.
    public let title: String
}

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

/// Why a feature has no value.
public enum FeatureAbsence: String, Hashable, Sendable, CaseIterable {
    /// The formula divides by zero, as for a ratio of axes of a single voxel.
    case undefined
    /// No voxel is left after interpolation and re-segmentation.
    case noVoxels = "no-voxels"
    /// An intensity of the region is NaN or infinite.
    case notFinite = "not-finite"
    /// Textures without discretisation need integers from 1.
    case notIntegers = "not-integers"
    /// The region has more grey levels than texture matrices are made for.
    case tooManyLevels = "too-many-levels"
    /// The intensity-volume histogram would have too many bins.
    case tooManyBins = "too-many-bins"
    /// The region has too many voxels on the new grid.
    case tooLarge = "too-large"

    init(_ fault: LevelFault) {
        switch fault {
        case .notIntegers: self = .notIntegers
        case .tooManyLevels: self = .tooManyLevels
        }
    }
}

/// What the families of a region are computed from.
struct FeatureSource: Sendable {
    let region: RadiomicsRegion
    let settings: RadiomicsSettings
    /// The grey levels, or why there are none.
    let levels: Result<LevelGrid, FeatureAbsenceError>

    struct FeatureAbsenceError: Error, Sendable {
        let absence: FeatureAbsence
    }

    init(_ region: RadiomicsRegion, _ settings: RadiomicsSettings) {
        self.region = region
        self.settings = settings
        if !region.intensityMask.contains(1) {
            levels = .failure(FeatureAbsenceError(absence: .noVoxels))
        } else if region.hasValuesThatAreNotFinite() {
            levels = .failure(FeatureAbsenceError(absence: .notFinite))
        } else {
            levels = Result { () throws(LevelFault) in try LevelGrid(of: region, settings.discretisation) }
                .mapError { FeatureAbsenceError(absence: FeatureAbsence($0)) }
        }
    }

    /// Why intensities cannot be used, for families that need no grey levels.
    var intensityAbsence: FeatureAbsence? {
        guard case .failure(let error) = levels else { return nil }
        return error.absence == .noVoxels || error.absence == .notFinite ? error.absence : nil
    }
}

/// A family of features (section 3 of the manual): one file, and one line in ``FeatureFamilies``.
protocol FeatureFamily: Sendable {
    /// Its name in settings.
    static var family: RadiomicsSettings.Family { get }
    /// The section of the reference manual.
    static var section: String { get }
    static var descriptions: [FeatureDescription] { get }
    /// What the matrices that features are computed from differ in.
    static var matrices: FeatureMatrices { get }
    /// The values in the order of the descriptions, for textures once for each aggregation.
    static func values(of source: FeatureSource) -> [FeatureValue]
}

/// The matrices of a family: a value for each way to put them together.
enum FeatureMatrices: Sendable {
    case none
    /// Of directions and slices.
    case directed
    /// Of slices.
    case undirected
}

extension FeatureFamily {
    static var matrices: FeatureMatrices { .none }

    /// Every feature without a value.
    static func absent(_ absence: FeatureAbsence, _ settings: RadiomicsSettings) -> [FeatureValue] {
        switch matrices {
        case .none: descriptions.map { FeatureValue($0.name, $0.code, nil, absence: absence) }
        case .directed:
            settings.texture.aggregations.flatMap { way in
                descriptions.map {
                    FeatureValue("\($0.name)_\(way.suffix)", "\($0.code).\(way.code)", nil, absence: absence)
                }
            }
        case .undirected:
            settings.extents.flatMap { extent in
                descriptions.map {
                    FeatureValue("\($0.name)_\(extent.rawValue)", "\($0.code).\(extent.code)", nil, absence: absence)
                }
            }
        }
    }
}
