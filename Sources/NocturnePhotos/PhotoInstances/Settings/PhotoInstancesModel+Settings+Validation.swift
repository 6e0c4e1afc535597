import NocturneCore
import NocturneInference
import NocturnePostprocess

extension ModelValidation {
    /// Validates the section `photoInstances`.
    func photoInstances(
        _ raw: PhotoInstancesModel.Settings.Section,
        files: [ModelFile]
    ) throws(ModelPackageError) -> PhotoInstancesModel.Settings {
        let section = PhotoInstancesModel.Settings.section
        let network = try listedFile(raw.network, files, key: "\(section).network")
        let classes = try instanceClasses(raw.classes, key: "\(section).classes")
        let maximum = try whole(raw.maxInstances, 200, in: 1...1000, key: "\(section).maxInstances")
        let output = try instanceOutput(raw, maximum: maximum, section: section)
        if case .maps = output, classes.count > 1 {
            throw refuse(
                "\(section).classes",
                expected: "one class, since maps do not distinguish classes",
                found: classes.count
            )
        }
        return PhotoInstancesModel.Settings(
            network: network,
            input: try photoInput(raw.input, key: "\(section).input"),
            output: output,
            classes: classes
        )
    }

    private func photoInput(
        _ raw: PhotoInstancesModel.Settings.Section.Input,
        key: String
    ) throws(ModelPackageError) -> PhotoInstancesModel.Settings.Input {
        let longSide = try whole(raw.longSide, 0, in: 32...4096, key: "\(key).longSide")
        let multiple = try whole(raw.multiple, 1, in: 1...512, key: "\(key).multiple")
        let colors = try colors(mean: raw.mean, deviation: raw.standardDeviation, key: key)
        let isSquare = raw.square ?? false
        // Other inputs are filled up to a multiple; a square one has exactly this side.
        if isSquare, longSide % multiple != 0 {
            throw refuse("\(key).longSide", expected: "a multiple of \(multiple) for square inputs", found: longSide)
        }
        return PhotoInstancesModel.Settings.Input(
            longSide: longSide,
            multiple: multiple,
            isSquare: isSquare,
            minimumSide: try whole(raw.minimumSide, 32, in: 1...8192, key: "\(key).minimumSide"),
            placement: try choice(raw.placement, .corner, ["corner", "centre"], key: "\(key).placement"),
            resampling: try choice(
                raw.resampling,
                .antialiased,
                ["antialiased", "bilinear"],
                key: "\(key).resampling"
            ),
            colors: colors
        )
    }

    // MARK: Outputs

    private func instanceOutput(
        _ raw: PhotoInstancesModel.Settings.Section,
        maximum: Int,
        section: String
    ) throws(ModelPackageError) -> PhotoInstancesModel.Settings.Output {
        let key = "\(section).output"
        func name(_ value: String?, _ own: String) throws(ModelPackageError) -> String {
            guard let value, !value.isEmpty else {
                throw refuse("\(key).\(own)", .missingKey, expected: "the name of an output", found: "nothing")
            }
            return value
        }
        switch raw.output.kind {
        case "maps": return .maps(try mapSplitting(raw, maximum: maximum, section: section))
        case "masks-boxes":
            return .prototypes(
                candidates: try name(raw.output.candidates, "candidates"),
                prototypes: try name(raw.output.prototypes, "prototypes"),
                rules: try detection(raw.thresholds, maximum: maximum, key: "\(section).thresholds")
            )
        case "masks":
            return .masks(
                boxes: try name(raw.output.boxes, "boxes"),
                scores: try name(raw.output.scores, "scores"),
                classes: try name(raw.output.classes, "classes"),
                masks: try name(raw.output.masks, "masks"),
                firstClass: try whole(raw.output.firstClass, 1, in: 0...1, key: "\(key).firstClass"),
                rules: try detection(raw.thresholds, maximum: maximum, key: "\(section).thresholds")
            )
        default:
            throw refuse("\(key).kind", expected: "one of maps, masks-boxes, masks", found: raw.output.kind)
        }
    }

    private func mapSplitting(
        _ raw: PhotoInstancesModel.Settings.Section,
        maximum: Int,
        section: String
    ) throws(ModelPackageError) -> PhotoInstancesModel.Settings.Maps {
        let key = "\(section).splitting"
        let activation: PhotoInstancesModel.Settings.Maps.Activation = try choice(
            raw.output.activation,
            .none,
            ["none", "sigmoid"],
            key: "\(section).output.activation"
        )
        let given = raw.splitting
        var rules = InstanceSplitter.Rules(maximumInstances: maximum)
        try set(&rules.foregroundThreshold, given?.foregroundThreshold, key: "\(key).foregroundThreshold")
        try set(&rules.backgroundThreshold, given?.backgroundThreshold, key: "\(key).backgroundThreshold")
        guard rules.backgroundThreshold <= rules.foregroundThreshold else {
            throw refuse(
                "\(key).backgroundThreshold",
                expected: "at most \(rules.foregroundThreshold)",
                found: rules.backgroundThreshold
            )
        }
        try set(&rules.seedThreshold, given?.seedThreshold, key: "\(key).seedThreshold")
        try set(&rules.boundaryWeight, given?.boundaryWeight, upTo: 100, key: "\(key).boundaryWeight")
        try set(&rules.minimumSeedArea, given?.minimumSeedArea, key: "\(key).minimumSeedArea")
        try set(&rules.minimumArea, given?.minimumArea, key: "\(key).minimumArea")
        try set(&rules.mergeBoundary, given?.mergeBoundary, key: "\(key).mergeBoundary")
        try set(&rules.minimumContact, given?.minimumContact, key: "\(key).minimumContact")
        let small = "\(key).minimumAreaShareOfMedian"
        try set(&rules.minimumAreaShareOfMedian, given?.minimumAreaShareOfMedian, key: small)
        try set(&rules.minimumClearShare, given?.minimumClearShare, key: "\(key).minimumClearShare")
        let hasBoundary = raw.output.boundary ?? true
        // The share is measured along the map of boundaries. Without one no outline would be clear, and every photo refused.
        if !hasBoundary, rules.minimumClearShare > 0 {
            throw refuse("\(key).minimumClearShare", expected: "0 without boundaries", found: rules.minimumClearShare)
        }
        return PhotoInstancesModel.Settings.Maps(
            activation: activation,
            hasBoundary: hasBoundary,
            hasCentre: raw.output.centre ?? false,
            rules: rules
        )
    }

    private func detection(
        _ raw: PhotoInstancesModel.Settings.Section.Thresholds?,
        maximum: Int,
        key: String
    ) throws(ModelPackageError) -> DetectionDecoder.Rules {
        var rules = DetectionDecoder.Rules(maximumInstances: maximum)
        try set(&rules.maskThreshold, raw?.mask, key: "\(key).mask")
        // Logits are compared with the logit of the threshold, which is infinite for 0 and 1.
        guard rules.maskThreshold > 0, rules.maskThreshold < 1 else {
            throw refuse("\(key).mask", expected: "a number above 0 and below 1", found: rules.maskThreshold)
        }
        try set(&rules.scoreThreshold, raw?.score, key: "\(key).score")
        try set(&rules.boxOverlap, raw?.boxOverlap, key: "\(key).boxOverlap")
        try set(&rules.maskOverlap, raw?.maskOverlap, key: "\(key).maskOverlap")
        try set(&rules.minimumArea, raw?.minimumArea, key: "\(key).minimumArea")
        return rules
    }

    // MARK: Classes

    private func instanceClasses(
        _ raw: [PhotoInstancesModel.Settings.Section.Class],
        key: String
    ) throws(ModelPackageError) -> [PhotoInstancesModel.Settings.Class] {
        guard (1...1000).contains(raw.count) else {
            throw refuse(key, expected: "1 to 1000 classes", found: raw.count)
        }
        var classes: [PhotoInstancesModel.Settings.Class] = []
        var names: Set<String> = []
        for (index, entry) in raw.enumerated() {
            guard Self.isSafeName(entry.name) else {
                throw refuse(
                    "\(key)[\(index)].name",
                    expected: "1 to 100 of the characters A-Z a-z 0-9 _ . - and no leading dot",
                    found: entry.name
                )
            }
            // Crops are named after classes, and folders may be copied to file systems that ignore case.
            guard names.insert(entry.name.lowercased()).inserted else {
                throw refuse("\(key)[\(index)].name", expected: "every name once", found: "\(entry.name) twice")
            }
            guard let color = LabelColor(entry.color) else {
                throw refuse("\(key)[\(index)].color", expected: "#rrggbb", found: entry.color)
            }
            classes.append(PhotoInstancesModel.Settings.Class(name: entry.name, color: color))
        }
        return classes
    }
}
