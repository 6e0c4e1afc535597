import NocturneCore
public import NocturneRadiomics
public import NocturneSystem

/// The features of the regions of one image: `radiomics --json`.
public struct RadiomicsReport: Encodable, Sendable {
    /// A feature of the standard.
    public struct Feature: Codable, Sendable {
        /// As in the standard's tables of reference values; absent in results of batches.
        public let name: String?
        /// The manual's identifier, and that of the aggregation after a point.
        public let code: String
        @Nullable public var value: Double?
        /// Why there is no value; absent where there is one.
        public let absence: String?

        init(_ feature: FeatureValue, named: Bool) {
            name = named ? feature.name : nil
            code = feature.code
            value = feature.value
            absence = feature.absence?.rawValue
        }
    }

    /// A label of the mask.
    public struct Region: Codable, Sendable {
        public let label: Int
        @Nullable public var name: String?
        /// In the morphological mask after interpolation.
        public let voxels: Int
        /// In the intensity mask after re-segmentation.
        public let intensityVoxels: Int
        public let features: [Feature]

        /// - Parameter region: nil when interpolation leaves no voxel.
        init(
            _ label: (value: UInt16, name: String?),
            region: RadiomicsRegion?,
            values: [FeatureValue],
            named: Bool
        ) {
            self.label = Int(label.value)
            name = label.name
            voxels = region.map { $0.morphology.reduce(0) { $0 + Int($1) } } ?? 0
            intensityVoxels = region.map { $0.intensityMask.reduce(0) { $0 + Int($1) } } ?? 0
            features = values.map { Feature($0, named: named) }
        }
    }

    let schemaVersion = 1
    let disclaimer = Disclaimer.text
    /// All settings, those of a preset as well.
    public let settings: RadiomicsSettings
    /// SHA-256 of the settings as JSON.
    public let settingsDigest: String
    /// Facts about the image and the mask.
    public let notes: [String]
    public let regions: [Region]
}
