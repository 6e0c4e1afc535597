import NocturneCore
package import NocturneRadiomics
package import NocturneSystem

/// The features of the regions of one image: `radiomics --json`.
package struct RadiomicsReport: Encodable, Sendable {
    /// A feature of the standard.
    package struct Feature: Codable, Sendable {
        /// As in the standard's tables of reference values; absent in results of batches.
        package let name: String?
        /// The manual's identifier, and that of the aggregation after a point.
        package let code: String
        /// In the unit that the feature has; null where there is none.
        @Nullable package var value: Double?
        /// Why there is no value; absent where there is one.
        package let absence: String?

        init(_ feature: FeatureValue, named: Bool) {
            name = named ? feature.name : nil
            code = feature.code
            value = feature.value
            absence = feature.absence?.rawValue
        }
    }

    /// A label of the mask.
    package struct Region: Codable, Sendable {
        /// Its value in the mask.
        package let label: Int
        /// Null for a label without a name.
        @Nullable package var name: String?
        /// In the morphological mask after interpolation.
        package let voxels: Int
        /// In the intensity mask after re-segmentation.
        package let intensityVoxels: Int
        /// In the order of the manual.
        package let features: [Feature]

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
    package let settings: RadiomicsSettings
    /// SHA-256 of the settings as JSON.
    package let settingsDigest: String
    /// Of the image's intensities, and so of bins and bounds in the settings.
    package let intensityUnit: String
    /// Facts about the image and the mask.
    package let notes: [String]
    /// One for each label.
    package let regions: [Region]
}
