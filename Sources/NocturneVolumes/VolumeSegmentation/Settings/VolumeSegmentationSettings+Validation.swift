import NocturneCore
import NocturneInference
import NocturneNumerics

extension ModelValidation {
    /// Validates the section `volumeSegmentation`, or one of another name with the same keys.
    func volumeSegmentation(
        _ raw: VolumeSegmentationSection,
        of package: ModelPackage,
        section: String = VolumeSegmentationSettings.section
    ) throws(ModelPackageError) -> VolumeSegmentationSettings {
        let (files, channels, labels) = (package.files, package.channels, package.labels)
        let levels = try levels(raw, section: section, files: files, channels: channels, labels: labels)
        let output = try output(raw, section: section)
        try checkLateCrop(levels, output, section: section)
        return VolumeSegmentationSettings(
            levels: levels,
            output: output,
            inputFormat: try inputFormat(raw.inputFormat, levels, section: section),
            postprocessing: try postprocessing(raw.postprocessing, labels: labels, key: "\(section).postprocessing"),
            window: try window(raw.window, key: "\(section).window")
        )
    }

    private func output(
        _ raw: VolumeSegmentationSection,
        section: String
    ) throws(ModelPackageError) -> VolumeSegmentationSettings.Output {
        switch raw.output ?? "classes" {
        case "classes":
            // The largest probability wins, whatever it is.
            if let threshold = raw.threshold {
                throw refuse("\(section).threshold", expected: "a threshold with regions only", found: threshold)
            }
            return .classes
        case "regions":
            let threshold = raw.threshold ?? 0.5
            guard threshold > 0, threshold < 1 else {
                throw refuse("\(section).threshold", expected: "a number above 0 and below 1", found: threshold)
            }
            return .regions(threshold: threshold)
        case let other: throw refuse("\(section).output", expected: "classes or regions", found: other)
        }
    }

    private func inputFormat(
        _ text: String?,
        _ levels: [CascadeLevel],
        section: String
    ) throws(ModelPackageError) -> VolumeSegmentationSettings.InputFormat {
        let format: VolumeSegmentationSettings.InputFormat =
            try choice(text, .medical, ["medical", "tiff"], key: "\(section).inputFormat")
        // A TIFF states no direction to which it could be turned.
        if format == .tiff, let level = levels.first(where: { $0.orientation != .stored }) {
            throw refuse("\(section).orientation", expected: "stored with tiff", found: level.orientation.rawValue)
        }
        return format
    }

    /// Models that give a label map need channels and labels, which are optional in other packages.
    func checkLabelMaps(_ package: ModelPackage) throws(ModelPackageError) {
        for (key, isEmpty) in [("channels", package.channels.isEmpty), ("labels", package.labels.isEmpty)] where isEmpty
        {
            throw refuse(key, expected: "at least one \(key.dropLast())", found: "none")
        }
    }

    func window(_ raw: DisplayWindow?, key: String) throws(ModelPackageError) -> DisplayWindow? {
        guard let raw else { return nil }
        guard abs(raw.center) <= 1e6 else {
            throw refuse("\(key).center", expected: "a number in -1000000...1000000", found: raw.center)
        }
        guard raw.width >= 1, raw.width <= 1e6 else {
            throw refuse("\(key).width", expected: "a number in 1...1000000", found: raw.width)
        }
        return raw
    }

    private func levels(
        _ raw: VolumeSegmentationSection,
        section: String,
        files: [ModelFile],
        channels: [ModelChannel],
        labels: [ModelLabel]
    ) throws(ModelPackageError) -> [CascadeLevel] {
        // Those of the channels are for the last level; a level before it can have its own.
        let normalizations = channels.map(\.normalizations)
        guard let first = raw.previousStage else {
            return [try level(raw.level, key: section, files: files, normalizations, oneHot: [])]
        }
        let key = "\(section).previousStage"
        var own = normalizations
        if let listed = first.normalizations {
            guard listed.count == channels.count else {
                throw refuse(
                    "\(key).normalizations",
                    expected: "\(channels.count), one per channel",
                    found: listed.count
                )
            }
            own = []
            for (index, raw) in listed.enumerated() {
                own.append(try self.normalizations(raw, key: "\(key).normalizations[\(index)]"))
            }
        }
        try checkLength(first.oneHotLabels?.count ?? 0, key: "\(key).oneHotLabels")
        var oneHot: [UInt16] = []
        for (index, value) in (first.oneHotLabels ?? []).enumerated() {
            guard let label = labels.first(where: { Int($0.value) == value.value }) else {
                throw refuse("\(key).oneHotLabels[\(index)]", expected: "the value of a label", found: value.value)
            }
            oneHot.append(label.value)
        }
        // Without labels of the previous level the second one would know nothing of the first.
        guard !oneHot.isEmpty, Set(oneHot).count == oneHot.count else {
            throw refuse("\(key).oneHotLabels", expected: "values of labels, each once", found: oneHot)
        }
        return [
            try level(first, key: key, files: files, own, oneHot: []),
            try level(raw.level, key: section, files: files, normalizations, oneHot: oneHot),
        ]
    }

    private func level(
        _ raw: VolumeSegmentationSection.Level,
        key: String,
        files: [ModelFile],
        _ normalizations: [[Normalization]],
        oneHot: [UInt16]
    ) throws(ModelPackageError) -> CascadeLevel {
        let orientation: CascadeLevel.Orientation =
            try choice(raw.orientation, .stored, ["RAS", "RAS-ITK", "LPS", "stored"], key: "\(key).orientation")
        let transpose = raw.transpose?.map(\.value) ?? [0, 1, 2]
        guard transpose.sorted() == [0, 1, 2] else {
            throw refuse("\(key).transpose", expected: "0, 1 and 2 in some order", found: transpose)
        }
        let (patchSize, isPlanar) = try patchSize(raw, key: key)
        // Half a patch, as nnU-Net does by default; above 1 voxels between tiles would be seen by no network.
        let step = raw.tileStep ?? 0.5
        guard step.isFinite, step > 0, step <= 1 else {
            throw refuse("\(key).tileStep", expected: "a number above 0 and at most 1", found: step)
        }
        let axes = (raw.mirroringAxes ?? []).map(\.value)
        let dimensions = isPlanar ? 2 : 3
        guard Set(axes).count == axes.count, axes.allSatisfy({ (0..<dimensions).contains($0) }) else {
            throw refuse("\(key).mirroringAxes", expected: "some of 0..<\(dimensions), each once", found: axes)
        }
        let after = raw.normalizeAfterResampling ?? false
        // The mask is one of stored voxels, and does not exist on the resampled grid.
        if after, normalizations.joined().contains(where: \.needsMask) {
            throw refuse("\(key).normalizeAfterResampling", expected: "no zScore with a mask", found: after)
        }
        let image = try resampling(raw.resampling?.image, order: .cubic, key: "\(key).resampling.image")
        let logits = try resampling(raw.resampling?.logits, order: .linear, key: "\(key).resampling.logits")
        try checkMONAI(image, logits, isCascade: !oneHot.isEmpty || raw.oneHotLabels != nil, key: "\(key).resampling")
        let orientsAfterSpacing = raw.orientAfterSpacing ?? false
        guard !orientsAfterSpacing || image.method == .monai else {
            throw refuse("\(key).orientAfterSpacing", expected: "false unless resampling is monai", found: true)
        }
        return CascadeLevel(
            orientation: orientation,
            orientsAfterSpacing: orientsAfterSpacing,
            transpose: transpose,
            spacing: raw.spacing.map { isPlanar ? [nil] + $0 : $0 },
            size: try gridSize(raw, (image, logits), isPlanar: isPlanar, key: key),
            patchSize: patchSize,
            isPlanar: isPlanar,
            tileStep: step,
            tiling: try tiling(raw.tiling, key: "\(key).tiling"),
            mirroringAxes: axes.map { isPlanar ? $0 + 1 : $0 }.sorted(),
            crop: try crop(raw, key: key),
            imageResampling: image,
            logitsResampling: logits,
            labelsResampling: try resampling(raw.resampling?.labels, order: .linear, key: "\(key).resampling.labels"),
            logitBlur: try logitBlur(raw.logitBlur, isPlanar: isPlanar, key: "\(key).logitBlur"),
            normalizesAfterResampling: after,
            resamplesProbabilities: try probabilities(raw.resampling, key: "\(key).resampling"),
            normalizations: normalizations,
            oneHotLabels: oneHot,
            networks: try networks(raw.networks, files: files, key: "\(key).networks")
        )
    }

    /// The patch with three axes, and whether the section gives two of them; checks the spacing too, which has as many.
    private func patchSize(
        _ raw: VolumeSegmentationSection.Level,
        key: String
    ) throws(ModelPackageError) -> (size: [Int], isPlanar: Bool) {
        let size = raw.patchSize.map(\.value)
        let limit = size.count == 2 ? 8192 : 1024
        guard (2...3).contains(size.count), size.allSatisfy({ (1...limit).contains($0) }) else {
            let expected = "three numbers in 1...1024, or two in 1...8192"
            throw refuse("\(key).patchSize", expected: expected, found: size)
        }
        if let spacing = raw.spacing {
            guard spacing.count == size.count, spacing.allSatisfy({ $0.isFinite && $0 > 0 && $0 <= 1000 }) else {
                throw refuse(
                    "\(key).spacing",
                    expected: "\(size.count) numbers above 0 and up to 1000, or null",
                    found: spacing
                )
            }
        }
        return size.count == 2 ? ([1] + size, true) : (size, false)
    }

    /// The defaults are those of nnU-Net's planner.
    private func resampling(
        _ raw: VolumeSegmentationSection.Resampling?,
        order: ResamplingRule.Order,
        key: String
    ) throws(ModelPackageError) -> ResamplingRule {
        let methodText = raw?.method ?? ResamplingRule.Method.spline.rawValue
        guard let method = ResamplingRule.Method(rawValue: methodText), method != .zoom else {
            throw refuse("\(key).method", expected: "spline, torch, monai or none", found: methodText)
        }
        let separate: ResamplingRule.Separation =
            try choice(raw?.separateZ, .auto, ["auto", "always", "never"], key: "\(key).separateZ")
        let threshold = raw?.anisotropyThreshold ?? 3
        guard threshold.isFinite, threshold >= 1 else {
            throw refuse("\(key).anisotropyThreshold", expected: "a number of at least 1", found: threshold)
        }
        return ResamplingRule(
            method: method,
            order: try self.order(raw?.order, else: order, key: "\(key).order"),
            orderZ: try self.order(raw?.orderZ, else: .nearest, key: "\(key).orderZ"),
            // MONAI resamples all axes together.
            separateZ: method == .monai ? .never : separate,
            anisotropyThreshold: threshold
        )
    }

    private func order(
        _ number: WholeNumber?,
        else other: ResamplingRule.Order,
        key: String
    ) throws(ModelPackageError) -> ResamplingRule.Order {
        guard let number = number?.value else { return other }
        guard let order = ResamplingRule.Order(rawValue: number) else {
            throw refuse(key, expected: "0, 1 or 3", found: number)
        }
        return order
    }

    private func networks(
        _ networks: [String],
        files: [ModelFile],
        key: String
    ) throws(ModelPackageError) -> [String] {
        if networks.isEmpty { throw refuse(key, expected: "at least one file", found: "none") }
        try checkLength(networks.count, key: key)
        for (index, network) in networks.enumerated() {
            guard files.contains(where: { $0.path == network }) else {
                throw refuse("\(key)[\(index)]", expected: "a path listed in files", found: network)
            }
            if networks[..<index].contains(network) {
                throw refuse("\(key)[\(index)]", expected: "every network once", found: "\(network) twice")
            }
        }
        return networks
    }
}

/// The settings by which packages of MONAI's models differ from nnU-Net's.
extension ModelValidation {
    fileprivate func tiling(_ raw: VolumeSegmentationSection.Tiling?, key: String) throws(ModelPackageError)
        -> TilingSettings
    {
        let positions: TilingRule.Positions =
            try choice(raw?.positions, .even, ["even", "interval"], key: "\(key).positions")
        let padding: TilingRule.Padding = try choice(raw?.padding, .zero, ["zero", "edge"], key: "\(key).padding")
        let profiles = ["gaussian", "centredGaussian", "constant"]
        let weights: ImportanceMap.Profile = try choice(raw?.weights, .gaussian, profiles, key: "\(key).weights")
        return TilingSettings(rule: TilingRule(positions: positions, padding: padding), weights: weights)
    }

    /// Image and logits share one grid, and MONAI's knows no labels of a previous level.
    fileprivate func checkMONAI(
        _ image: ResamplingRule,
        _ logits: ResamplingRule,
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
        for (name, rule) in [("image", image), ("logits", logits)] where rule.order == .cubic {
            throw refuse("\(key).\(name).order", expected: "0 or 1 with monai", found: rule.order.rawValue)
        }
        if isCascade { throw refuse("\(key).image.method", expected: "another method in a cascade", found: "monai") }
    }

    /// Whether `resampling.logits.values` asks for probabilities.
    fileprivate func probabilities(
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
