import NocturneInference

/// The settings by which packages of MONAI's models differ from nnU-Net's.
extension ModelValidation {
    func tiling(_ raw: VolumeSegmentationSection.Tiling?, key: String) throws(ModelPackageError) -> TilingSettings {
        let positions = raw?.positions ?? TilingRule.Positions.even.rawValue
        guard let positions = TilingRule.Positions(rawValue: positions) else {
            throw refuse("\(key).positions", expected: "even or interval", found: positions)
        }
        let padding = raw?.padding ?? TilingRule.Padding.zero.rawValue
        guard let padding = TilingRule.Padding(rawValue: padding) else {
            throw refuse("\(key).padding", expected: "zero or edge", found: padding)
        }
        let weights = raw?.weights ?? ImportanceMap.Profile.gaussian.rawValue
        guard let weights = ImportanceMap.Profile(rawValue: weights) else {
            throw refuse("\(key).weights", expected: "gaussian, centredGaussian or constant", found: weights)
        }
        return TilingSettings(rule: TilingRule(positions: positions, padding: padding), weights: weights)
    }

    /// Image and logits share one grid, and MONAI's knows no labels of a previous level.
    func checkMONAI(
        _ image: ResamplingSettings,
        _ logits: ResamplingSettings,
        isCascade: Bool,
        key: String
    ) throws(ModelPackageError) {
        guard image.method == .monai || logits.method == .monai else { return }
        guard image.method == logits.method else {
            throw refuse(
                "\(key).logits.method",
                expected: "monai for the image and for logits, or for neither",
                found: logits.method.rawValue
            )
        }
        for (name, rule) in [("image", image), ("logits", logits)] where rule.order == 3 {
            throw refuse("\(key).\(name).order", expected: "0 or 1 with monai", found: rule.order)
        }
        if isCascade { throw refuse("\(key).image.method", expected: "another method in a cascade", found: "monai") }
    }

    /// Whether `resampling.logits.values` asks for probabilities.
    func probabilities(
        _ raw: VolumeSegmentationSection.Resamplings?,
        key: String
    ) throws(ModelPackageError) -> Bool {
        for (name, rule) in [("image", raw?.image), ("labels", raw?.labels)] {
            if let values = rule?.values { throw refuse("\(key).\(name).values", expected: "nothing", found: values) }
        }
        let values = raw?.logits?.values ?? "logits"
        guard ["logits", "probabilities"].contains(values) else {
            throw refuse("\(key).logits.values", expected: "logits or probabilities", found: values)
        }
        return values == "probabilities"
    }
}
