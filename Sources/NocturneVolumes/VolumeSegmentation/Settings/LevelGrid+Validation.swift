import NocturneInference
import NocturneNumerics

/// The grid of a level: its size, the box to which it is cropped, and the filter of its logits.
extension ModelValidation {
    /// The grid of a fixed size, instead of a spacing.
    func gridSize(
        _ raw: VolumeSegmentationSection.Level,
        _ rules: (image: ResamplingRule, logits: ResamplingRule),
        isPlanar: Bool,
        key: String
    ) throws(ModelPackageError) -> GridSize? {
        guard let size = raw.size?.map(\.value) else { return nil }
        let axes = isPlanar ? 2 : 3
        guard size.count == axes || size.count == 1, size.allSatisfy({ (1...8192).contains($0) }) else {
            throw refuse("\(key).size", expected: "\(axes) numbers in 1...8192, or one for the longest", found: size)
        }
        guard raw.spacing == nil else {
            throw refuse("\(key).size", expected: "size or spacing", found: "both")
        }
        for rule in [rules.image, rules.logits] where ![.spline, .torch].contains(rule.method) {
            throw refuse("\(key).size", expected: "a size with spline or torch", found: rule.method.rawValue)
        }
        // One number is for the longest of the axes that are resampled: all three, or the two of a slice.
        if size.count == 1 { return .longest(size[0], of: 3 - axes..<3) }
        return .axes((isPlanar ? [nil] : []) + size)
    }

    func crop(
        _ raw: VolumeSegmentationSection.Level,
        key: String
    ) throws(ModelPackageError) -> CropSettings? {
        let margin = try margin((raw.marginMm, raw.marginVoxels?.value, raw.marginShare), key: key)
        let after = raw.cropAfterNormalization ?? false
        let pads = raw.padMargin ?? false
        if pads, !after {
            throw refuse("\(key).padMargin", expected: "false without cropAfterNormalization", found: true)
        }
        if let above = raw.cropAbove {
            if raw.cropToNonzero == true {
                throw refuse("\(key).cropAbove", expected: "cropAbove or cropToNonzero", found: "both")
            }
            guard Float(above).isFinite else {
                throw refuse("\(key).cropAbove", expected: "a number within single precision", found: above)
            }
            return CropSettings(above: Float(above), margin: margin, isOfNormalizedImage: after, padsMargin: pads)
        }
        if raw.cropToNonzero == true {
            return CropSettings(above: nil, margin: margin, isOfNormalizedImage: after, padsMargin: pads)
        }
        // Both keys change a crop: without one they would be ignored, and the author's mistake not be noticed.
        guard margin == .none, !after else {
            let expected = "cropToNonzero or cropAbove with \(after ? "cropAfterNormalization" : "a margin")"
            throw refuse("\(key).cropToNonzero", expected: expected, found: "neither")
        }
        return nil
    }

    /// The keys `marginMm`, `marginVoxels` and `marginShare`.
    func margin(
        _ raw: (millimetres: Double?, voxels: Int?, share: Double?),
        key: String
    ) throws(ModelPackageError) -> Margin {
        let (millimetres, voxels, share) = (raw.millimetres ?? 0, raw.voxels ?? 0, raw.share ?? 0)
        guard millimetres >= 0, millimetres <= 1000 else {
            throw refuse("\(key).marginMm", expected: "a number in 0...1000", found: millimetres)
        }
        guard (0...1000).contains(voxels) else {
            throw refuse("\(key).marginVoxels", expected: "a whole number in 0...1000", found: voxels)
        }
        guard share >= 0, share <= 10 else {
            throw refuse("\(key).marginShare", expected: "a number in 0...10", found: share)
        }
        return Margin(millimetres: millimetres, voxels: voxels, share: share)
    }

    /// The filter of the logits; three axes, of which slices have two.
    func logitBlur(
        _ raw: [Double]?,
        isPlanar: Bool,
        key: String
    ) throws(ModelPackageError) -> [Double]? {
        guard let raw else { return nil }
        let axes = isPlanar ? 2 : 3
        guard raw.count == axes, raw.allSatisfy({ $0 >= 0 && $0 <= 100 }) else {
            throw refuse(key, expected: "\(axes) numbers in 0...100", found: raw)
        }
        return isPlanar ? [0] + raw : raw
    }

    /// Beyond a crop of the normalized image logits are 0: that has to be background.
    func checkLateCrop(
        _ levels: [CascadeLevel],
        _ output: VolumeSegmentationSettings.Output,
        section: String
    ) throws(ModelPackageError) {
        guard let level = levels.first(where: { $0.crop?.isOfNormalizedImage ?? false }) else { return }
        func refused(_ expected: String) -> ModelPackageError {
            refuse("\(section).cropAfterNormalization", expected: "false \(expected)", found: true)
        }
        if levels.count > 1 { throw refused("in a cascade") }
        if level.inputChannels > 1 { throw refused("with several channels") }
        if level.resamplesProbabilities { throw refused("where probabilities are resampled") }
        if case .regions(let threshold) = output, threshold < 0.5 { throw refused("with a threshold below 0.5") }
    }
}
