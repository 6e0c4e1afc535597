import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneOutput
import NocturnePostprocess
import NocturneSystem

/// Whether the intensities of an image are those that a model for CT was trained on.
///
/// The range only for packages with the normalisation `ct`, since the others scale each image by its own values. Its bounds are the range of the
/// training set: nnU-Net's are the percentiles 0.5 and 99.5 of all voxels with a label.
extension SegmentationModel {
    /// In Hounsfield units. Air has -1000, and nearly every CT of a body has some, also when it is cropped: in the bowel or the lung.
    private static let leastOfCT: Float = -200

    /// - Parameter labels: measured on the image.
    /// - Returns: nil for the usual, and for models that take neither CT alone nor MR alone.
    /// - Throws: `CancelledError`.
    func intensityNote(
        on image: Volume,
        _ source: VolumeSource,
        _ labels: [LabelMeasurement],
        scope: ComputeScope
    ) throws -> Note? {
        let modality = package.onlyModality
        guard modality == "CT" || modality == "MR" else { return nil }
        // A DICOM series states what it is.
        if source.modality == nil {
            let view = VoxelView(stored: image.geometry.shape)
            let least = try ImageStatistics(of: image.voxels, view: view, deviation: false, scope: scope).lowest
            if modality == "MR", least <= Self.leastOfCT {
                let fact: Sentence =
                    "its lowest value is \(own: text(least)), as in CT, but \(own: package.id) is for MR: check the input"
                return Note(.unusualIntensities, fact)
            }
            guard modality == "MR" || least <= Self.leastOfCT else {
                let fact: Sentence =
                    "its lowest value is \(own: text(least)); \(own: package.id) was trained on CT, where air has -1000: check the input"
                return Note(.unusualIntensities, fact)
            }
        }
        guard modality == "CT", case .ct(let lower, let upper, _, _)? = package.channels.first?.normalizations.first
        else { return nil }
        let found = labels.compactMap { label in label.intensity.map { (label.voxelCount, Float($0.median)) } }
        let unusual = found.filter { !(lower...upper).contains($0.1) }
        let counts = (all: found.reduce(0) { $0 + $1.0 }, unusual: unusual.reduce(0) { $0 + $1.0 })
        // By voxels, not by labels: many small labels may lie outside.
        guard 2 * counts.unusual > counts.all, let largest = unusual.max(by: { $0.0 < $1.0 }) else { return nil }
        let range = "\(text(lower)) to \(text(upper))"
        return Note(
            .unusualIntensities,
            "the median in its largest label is \(own: text(largest.1)); \(own: package.id) was trained on \(own: range): check the input"
        )
    }

    private func text(_ value: Float) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
}
