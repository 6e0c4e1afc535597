import NocturneCore

extension SegmentationResult.Source {
    /// A volume as results describe it.
    /// - Parameter unit: of its measured intensities; nil for that of its modality.
    init(_ source: VolumeSource, unit: MeasuredUnit? = nil) {
        let geometry = source.geometry
        let spacing = geometry.spacing
        self.init(
            format: source.format.rawValue,
            name: source.name,
            files: source.files.count,
            modality: source.modality,
            intensityUnit: unit?.name ?? ImageUnit.name(modality: source.modality),
            suv: unit?.suv.map(SegmentationResult.SUV.init),
            shape: [geometry.shape.x, geometry.shape.y, geometry.shape.z],
            spacingMm: [spacing.x, spacing.y, spacing.z],
            orientation: geometry.orientationCode,
            affineRas: Array(geometry.affine.rows.prefix(3)),
            timePoint: source.timePoint
        )
    }
}

extension SegmentationResult.Box {
    init(_ box: VoxelBox) {
        self.init(
            lower: [box.lower.x, box.lower.y, box.lower.z],
            upper: [box.upper.x - 1, box.upper.y - 1, box.upper.z - 1]
        )
    }
}
