import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneJournal
import NocturneRadiomics
import NocturneReport
import NocturneSystem

/// The features of the labels of an item on one image: `radiomics` in results.
struct RadiomicsMeasures: Codable, Sendable {
    /// All settings, those of a preset as well.
    let settings: RadiomicsSettings
    /// SHA-256 of the settings as JSON.
    let settingsDigest: String
    /// In the order of the labels.
    let regions: [RadiomicsReport.Region]

    init(settings: RadiomicsSettings, regions: [RadiomicsReport.Region]) throws {
        self.settings = settings
        settingsDigest = try settings.digest
        self.regions = regions
    }

    /// Rows for `radiomics.csv`.
    func statistics(_ image: RadiomicsTable.Image) -> [Statistic] {
        regions.flatMap { region in
            RadiomicsTable.rows(
                label: region.name ?? "\(region.label)",
                settings: settingsDigest,
                voxels: (region.voxels, region.intensityVoxels),
                features: region.features.map { ($0.code, $0.value) },
                of: image
            )
        }
    }
}

extension RadiomicsSettings {
    /// SHA-256 of the settings as JSON.
    var digest: String { get throws { ContentDigest.of(try StableJSON.encode(self)).hex } }
}

/// Computes the features of labels on an image.
struct RadiomicsMeasurement {
    let settings: RadiomicsSettings
    /// Of the image's values to the unit of the settings.
    var scale = 1.0
    /// Whether values have the names of the standard's tables, besides their codes.
    var named = false

    /// The most voxels of a region's box on the new grid; a larger region has no features.
    private static let maximumVoxels = 1 << 26

    /// Bytes for a label as large as the image; 0 without features.
    static func predictedBytes(
        _ choice: RadiomicsChoice?,
        _ geometry: VolumeGeometry,
        modality: String?,
        threads: Int
    ) -> Int {
        guard let settings = choice?.settings(modality: modality) else { return 0 }
        return RegionExtractor.predictedBytes(
            geometry,
            settings: settings,
            maximumVoxels: maximumVoxels,
            threads: threads
        )
    }

    /// Measures the labels of a model.
    /// - Throws: `CancelledError`; an error for settings that cannot be encoded.
    func measures(
        of labels: [ModelLabel],
        in volume: LabelVolume,
        on image: Volume,
        scope: ComputeScope
    ) throws -> RadiomicsMeasures {
        let names = Dictionary(labels.map { ($0.value, $0.name) }) { first, _ in first }
        let regions = try regions(of: labels.map(\.value), names: names, in: volume, on: image, scope: scope)
        return try RadiomicsMeasures(settings: settings, regions: regions)
    }

    /// Measures labels one after the other.
    /// - Parameters:
    ///   - values: of the labels; nil for all that occur.
    ///   - volume: on the grid of the image.
    /// - Throws: `CancelledError`.
    func regions(
        of values: [UInt16]?,
        names: [UInt16: String],
        in volume: LabelVolume,
        on image: Volume,
        scope: ComputeScope
    ) throws -> [RadiomicsReport.Region] {
        let extractor = try RegionExtractor(
            image: image,
            labels: volume,
            settings: settings,
            scale: scale,
            maximumVoxels: Self.maximumVoxels,
            scope: scope
        )
        var regions: [RadiomicsReport.Region] = []
        for value in values ?? extractor.values {
            try scope.check()
            regions.append(try region((value, names[value]), from: extractor, scope))
        }
        return regions
    }

    private func region(
        _ label: (value: UInt16, name: String?),
        from extractor: RegionExtractor,
        _ scope: ComputeScope
    ) throws -> RadiomicsReport.Region {
        let region: RadiomicsRegion
        do {
            region = try extractor.region(of: label.value)
        } catch let absence as FeatureAbsence {
            let values = Radiomics.absentValues(settings, absence)
            return RadiomicsReport.Region(label, region: nil, values: values, named: named)
        }
        let values = try Radiomics.values(of: region, settings: settings, scope: scope)
        return RadiomicsReport.Region(label, region: region, values: values, named: named)
    }
}

extension ModelPackage {
    /// Nil for a model of several modalities, or of any.
    var onlyModality: String? { modalities.count == 1 ? modalities[0] : nil }
}
