public import NocturneConcurrency
public import NocturneSystem

/// Features of regions after the Image Biomarker Standardisation Initiative's reference manual (arXiv 1612.07003).
public enum Radiomics {
    /// Every feature without aggregation, in the order of the manual.
    public static var features: [FeatureDescription] { FeatureFamily.all.flatMap { $0.descriptions } }

    /// The feature with this code of a ``FeatureValue``, with its aggregation in both names; nil for another text.
    public static func feature(code: String) -> FeatureDescription? {
        let parts = code.split(separator: ".")
        guard let first = parts.first, let feature = features.first(where: { $0.code == first }) else { return nil }
        guard parts.count > 1 else { return feature }
        let directed = Aggregation.allCases.map { (name: $0.suffix, code: $0.code) }
        let others = Aggregation.Extent.allCases.map { (name: $0.rawValue, code: $0.code) }
        guard let aggregation = (directed + others).first(where: { $0.code == parts[1] }) else { return nil }
        return FeatureDescription(name: "\(feature.name)_\(aggregation.name)", code: code, title: feature.title)
    }

    /// The values of a region by its settings' families and aggregations, in the order of the manual.
    ///
    /// Families are computed at the same time; each one in a fixed order, so that values do not depend on threads.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked before every family, and in
    ///   loops over a whole body's voxels.
    public static func values(
        of region: RadiomicsRegion,
        settings: RadiomicsSettings,
        scope: ComputeScope
    ) throws(CancelledError) -> [FeatureValue] {
        let source = FeatureSource(region, settings, scope.flag)
        let families = FeatureFamily.all.filter { settings.families.contains($0.name) }
        return try scope.map(families.count) { families[$0].values(of: source) }.flatMap { $0 }
    }

    /// The features of a region that cannot be made: those of ``values(of:settings:scope:)`` without values.
    public static func absentValues(_ settings: RadiomicsSettings, _ absence: FeatureAbsence) -> [FeatureValue] {
        FeatureFamily.all.filter { settings.families.contains($0.name) }.flatMap { $0.absent(absence, settings) }
    }
}
