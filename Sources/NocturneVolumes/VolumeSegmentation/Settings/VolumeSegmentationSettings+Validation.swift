import NocturneInference

extension ModelValidation {
    /// Validates the section `volumeSegmentation`, or one of another name with the same keys.
    func volumeSegmentation(
        _ raw: VolumeSegmentationSection,
        of package: ModelPackage,
        section: String = VolumeSegmentationSettings.section
    ) throws(ModelPackageError) -> VolumeSegmentationSettings {
        let (files, channels, labels) = (package.files, package.channels, package.labels)
        let outputText = raw.output ?? VolumeSegmentationSettings.Output.classes.rawValue
        guard let output = VolumeSegmentationSettings.Output(rawValue: outputText) else {
            throw refuse("\(section).output", expected: "classes or regions", found: outputText)
        }
        let levels = try levels(raw, section: section, files: files, channels: channels, labels: labels)
        return VolumeSegmentationSettings(
            levels: levels,
            output: output,
            inputFormat: try inputFormat(raw.inputFormat, levels, section: section),
            postprocessing: try postprocessing(raw.postprocessing, labels: labels, key: "\(section).postprocessing"),
            window: try window(raw.window, key: "\(section).window")
        )
    }

    private func inputFormat(
        _ text: String?,
        _ levels: [CascadeLevel],
        section: String
    ) throws(ModelPackageError) -> VolumeSegmentationSettings.InputFormat {
        let text = text ?? VolumeSegmentationSettings.InputFormat.medical.rawValue
        guard let format = VolumeSegmentationSettings.InputFormat(rawValue: text) else {
            throw refuse("\(section).inputFormat", expected: "medical or tiff", found: text)
        }
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

    func window(_ raw: VolumeSegmentationSection.Window?, key: String) throws(ModelPackageError)
        -> DisplayWindow?
    {
        guard let raw else { return nil }
        guard abs(raw.center) <= 1e6 else {
            throw refuse("\(key).center", expected: "a number in -1000000...1000000", found: raw.center)
        }
        guard raw.width >= 1, raw.width <= 1e6 else {
            throw refuse("\(key).width", expected: "a number in 1...1000000", found: raw.width)
        }
        return DisplayWindow(center: raw.center, width: raw.width)
    }

    private func levels(
        _ raw: VolumeSegmentationSection,
        section: String,
        files: [ModelFile],
        channels: [ModelChannel],
        labels: [ModelLabel]
    ) throws(ModelPackageError) -> [CascadeLevel] {
        let normalizations = channels.map(\.normalization)
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
                own.append(try normalization(raw, key: "\(key).normalizations[\(index)]"))
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
        _ normalizations: [IntensityNormalization],
        oneHot: [UInt16]
    ) throws(ModelPackageError) -> CascadeLevel {
        let orientationText = raw.orientation ?? CascadeLevel.Orientation.stored.rawValue
        guard let orientation = CascadeLevel.Orientation(rawValue: orientationText) else {
            throw refuse("\(key).orientation", expected: "RAS, RAS-ITK or stored", found: orientationText)
        }
        let transpose = raw.transpose?.map(\.value) ?? [0, 1, 2]
        guard transpose.sorted() == [0, 1, 2] else {
            throw refuse("\(key).transpose", expected: "0, 1 and 2 in some order", found: transpose)
        }
        var patchSize = raw.patchSize.map(\.value)
        let isPlanar = patchSize.count == 2
        guard (2...3).contains(patchSize.count), patchSize.allSatisfy({ (1...1024).contains($0) }) else {
            throw refuse("\(key).patchSize", expected: "two or three numbers in 1...1024", found: patchSize)
        }
        if let spacing = raw.spacing {
            guard spacing.count == patchSize.count, spacing.allSatisfy({ $0.isFinite && $0 > 0 && $0 <= 1000 }) else {
                throw refuse(
                    "\(key).spacing",
                    expected: "\(patchSize.count) numbers above 0 and up to 1000, or null",
                    found: spacing
                )
            }
        }
        let step = raw.tileStep ?? 0.5
        guard step.isFinite, step > 0, step <= 1 else {
            throw refuse("\(key).tileStep", expected: "a number above 0 and at most 1", found: step)
        }
        let axes = (raw.mirroringAxes ?? []).map(\.value)
        guard Set(axes).count == axes.count, axes.allSatisfy({ patchSize.indices.contains($0) }) else {
            throw refuse("\(key).mirroringAxes", expected: "some of 0..<\(patchSize.count), each once", found: axes)
        }
        if isPlanar { patchSize.insert(1, at: 0) }
        let after = raw.normalizeAfterResampling ?? false
        if after, normalizations.contains(.zScore(usesMask: true)) {
            throw refuse("\(key).normalizeAfterResampling", expected: "no zScore with a mask", found: after)
        }
        let image = try resampling(raw.resampling?.image, order: 3, key: "\(key).resampling.image")
        let logits = try resampling(raw.resampling?.logits, order: 1, key: "\(key).resampling.logits")
        try checkMONAI(image, logits, isCascade: !oneHot.isEmpty || raw.oneHotLabels != nil, key: "\(key).resampling")
        return CascadeLevel(
            orientation: orientation,
            transpose: transpose,
            spacing: raw.spacing.map { isPlanar ? [nil] + $0 : $0 },
            patchSize: patchSize,
            isPlanar: isPlanar,
            tileStep: step,
            tiling: try tiling(raw.tiling, key: "\(key).tiling"),
            mirroringAxes: axes.map { isPlanar ? $0 + 1 : $0 }.sorted(),
            cropToNonzero: raw.cropToNonzero ?? false,
            imageResampling: image,
            logitsResampling: logits,
            labelsResampling: try resampling(raw.resampling?.labels, order: 1, key: "\(key).resampling.labels"),
            normalizesAfterResampling: after,
            resamplesProbabilities: try probabilities(raw.resampling, key: "\(key).resampling"),
            normalizations: normalizations,
            oneHotLabels: oneHot,
            networks: try networks(raw.networks, files: files, key: "\(key).networks")
        )
    }

    /// The defaults are those of nnU-Net's planner.
    private func resampling(
        _ raw: VolumeSegmentationSection.Resampling?,
        order: Int,
        key: String
    ) throws(ModelPackageError) -> ResamplingSettings {
        let methodText = raw?.method ?? ResamplingSettings.Method.spline.rawValue
        guard let method = ResamplingSettings.Method(rawValue: methodText), method != .zoom else {
            throw refuse("\(key).method", expected: "spline, torch, monai or none", found: methodText)
        }
        let separateText = raw?.separateZ ?? ResamplingSettings.SeparateAxis.auto.rawValue
        guard let separate = ResamplingSettings.SeparateAxis(rawValue: separateText) else {
            throw refuse("\(key).separateZ", expected: "auto, always or never", found: separateText)
        }
        let threshold = raw?.anisotropyThreshold ?? 3
        guard threshold.isFinite, threshold >= 1 else {
            throw refuse("\(key).anisotropyThreshold", expected: "a number of at least 1", found: threshold)
        }
        return ResamplingSettings(
            method: method,
            order: try self.order(raw?.order?.value ?? order, key: "\(key).order"),
            orderZ: try self.order(raw?.orderZ?.value ?? 0, key: "\(key).orderZ"),
            separateZ: separate,
            anisotropyThreshold: threshold
        )
    }

    private func order(_ order: Int, key: String) throws(ModelPackageError) -> Int {
        guard [0, 1, 3].contains(order) else { throw refuse(key, expected: "0, 1 or 3", found: order) }
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
                throw refuse(.unknownName, "\(key)[\(index)]", expected: "a path listed in files", found: network)
            }
            if networks[..<index].contains(network) {
                throw refuse(.duplicate, "\(key)[\(index)]", expected: "every network once", found: "\(network) twice")
            }
        }
        return networks
    }
}
