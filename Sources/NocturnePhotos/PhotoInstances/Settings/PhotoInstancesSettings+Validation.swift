import NocturneInference
import NocturneSystem

extension ModelValidation {
    /// Validates the section `photoInstances`.
    func photoInstances(
        _ raw: PhotoInstancesSection,
        files: [ModelFile]
    ) throws(ModelPackageError) -> PhotoInstancesSettings {
        let section = PhotoInstancesSettings.section
        guard files.contains(where: { $0.path == raw.network }) else {
            throw refuse(.unknownName, "\(section).network", expected: "one of the files", found: raw.network)
        }
        let classes = try instanceClasses(raw.classes, key: "\(section).classes")
        let output = try instanceOutput(raw, section: section)
        if case .maps = output, classes.count > 1 {
            throw refuse(
                "\(section).classes",
                expected: "one class, since maps do not distinguish classes",
                found: classes.count
            )
        }
        return PhotoInstancesSettings(
            network: raw.network,
            input: try photoInput(raw.input, key: "\(section).input"),
            output: output,
            classes: classes,
            maximumInstances: try whole(raw.maxInstances, 200, in: 1...1000, key: "\(section).maxInstances")
        )
    }

    private func photoInput(
        _ raw: PhotoInstancesSection.Input,
        key: String
    ) throws(ModelPackageError) -> PhotoInput {
        let longSide = try whole(raw.longSide, 0, in: 32...4096, key: "\(key).longSide")
        let multiple = try whole(raw.multiple, 1, in: 1...512, key: "\(key).multiple")
        for (name, values) in [("mean", raw.mean), ("standardDeviation", raw.standardDeviation)]
        where values.count != 3 || !values.allSatisfy({ Float($0).isFinite }) {
            throw refuse("\(key).\(name)", expected: "three numbers", found: values)
        }
        guard raw.standardDeviation.allSatisfy({ $0 >= 1e-6 }) else {
            throw refuse("\(key).standardDeviation", expected: "three numbers above 0", found: raw.standardDeviation)
        }
        let isSquare = raw.square ?? false
        if isSquare, longSide % multiple != 0 {
            throw refuse("\(key).longSide", expected: "a multiple of \(multiple) for square inputs", found: longSide)
        }
        return PhotoInput(
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
            mean: raw.mean,
            deviation: raw.standardDeviation
        )
    }

    /// One of several words.
    private func choice<Value: RawRepresentable<String>>(
        _ text: String?,
        _ standard: Value,
        _ words: [String],
        key: String
    ) throws(ModelPackageError) -> Value {
        guard let text else { return standard }
        guard let value = Value(rawValue: text) else {
            throw refuse(key, expected: words.joined(separator: " or "), found: text)
        }
        return value
    }

    // MARK: Outputs

    private func instanceOutput(
        _ raw: PhotoInstancesSection,
        section: String
    ) throws(ModelPackageError) -> PhotoInstancesSettings.Output {
        let key = "\(section).output"
        func name(_ value: String?, _ own: String) throws(ModelPackageError) -> String {
            guard let value, !value.isEmpty else {
                throw refuse(.missingKey, "\(key).\(own)", expected: "the name of an output", found: "nothing")
            }
            return value
        }
        switch raw.output.kind {
        case "maps": return .maps(try mapSplitting(raw, section: section))
        case "masks-boxes":
            return .prototypes(
                candidates: try name(raw.output.candidates, "candidates"),
                prototypes: try name(raw.output.prototypes, "prototypes"),
                thresholds: try thresholds(raw.thresholds, key: "\(section).thresholds")
            )
        case "masks":
            return .masks(
                boxes: try name(raw.output.boxes, "boxes"),
                scores: try name(raw.output.scores, "scores"),
                classes: try name(raw.output.classes, "classes"),
                masks: try name(raw.output.masks, "masks"),
                firstClass: try whole(raw.output.firstClass, 1, in: 0...1, key: "\(key).firstClass"),
                thresholds: try thresholds(raw.thresholds, key: "\(section).thresholds")
            )
        default:
            throw refuse("\(key).kind", expected: "one of maps, masks-boxes, masks", found: raw.output.kind)
        }
    }

    private func mapSplitting(
        _ raw: PhotoInstancesSection,
        section: String
    ) throws(ModelPackageError) -> MapSplitting {
        let key = "\(section).splitting"
        let text = raw.output.activation ?? MapSplitting.Activation.none.rawValue
        guard let activation = MapSplitting.Activation(rawValue: text) else {
            throw refuse("\(section).output.activation", expected: "none or sigmoid", found: text)
        }
        let rules = raw.splitting
        let foreground = try share(rules?.foregroundThreshold, 0.5, key: "\(key).foregroundThreshold")
        let background = try share(rules?.backgroundThreshold, 0, key: "\(key).backgroundThreshold")
        guard background <= foreground else {
            throw refuse("\(key).backgroundThreshold", expected: "at most \(foreground)", found: background)
        }
        return MapSplitting(
            activation: activation,
            hasCentre: raw.output.centre ?? false,
            foregroundThreshold: foreground,
            backgroundThreshold: background,
            seedThreshold: try share(rules?.seedThreshold, 0.5, key: "\(key).seedThreshold"),
            boundaryWeight: try share(rules?.boundaryWeight, 1, upTo: 100, key: "\(key).boundaryWeight"),
            minimumSeedArea: try whole(rules?.minimumSeedArea, 4, in: 1...1 << 20, key: "\(key).minimumSeedArea"),
            minimumArea: try whole(rules?.minimumArea, 16, in: 1...1 << 20, key: "\(key).minimumArea"),
            mergeBoundary: try share(rules?.mergeBoundary, 0.2, key: "\(key).mergeBoundary"),
            minimumContact: try whole(rules?.minimumContact, 4, in: 1...1 << 20, key: "\(key).minimumContact"),
            minimumAreaShareOfMedian: try share(
                rules?.minimumAreaShareOfMedian,
                0,
                key: "\(key).minimumAreaShareOfMedian"
            ),
            minimumClearShare: try share(rules?.minimumClearShare, 0, key: "\(key).minimumClearShare")
        )
    }

    private func thresholds(
        _ raw: PhotoInstancesSection.Thresholds?,
        key: String
    ) throws(ModelPackageError) -> DetectionThresholds {
        let mask = try share(raw?.mask, 0.5, key: "\(key).mask")
        guard mask > 0, mask < 1 else {
            throw refuse("\(key).mask", expected: "a number above 0 and below 1", found: mask)
        }
        return DetectionThresholds(
            score: try share(raw?.score, 0.25, key: "\(key).score"),
            boxOverlap: try share(raw?.boxOverlap, 0.7, key: "\(key).boxOverlap"),
            maskOverlap: try share(raw?.maskOverlap, 0.7, key: "\(key).maskOverlap"),
            mask: mask,
            minimumArea: try whole(raw?.minimumArea, 16, in: 1...1 << 20, key: "\(key).minimumArea")
        )
    }

    // MARK: Classes and numbers

    private func instanceClasses(
        _ raw: [PhotoInstancesSection.Class],
        key: String
    ) throws(ModelPackageError) -> [InstanceClass] {
        guard (1...1000).contains(raw.count) else {
            throw refuse(key, expected: "1 to 1000 classes", found: raw.count)
        }
        var classes: [InstanceClass] = []
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
                throw refuse(
                    .duplicate,
                    "\(key)[\(index)].name",
                    expected: "every name once",
                    found: "\(entry.name) twice"
                )
            }
            guard let color = LabelColor(entry.color) else {
                throw refuse("\(key)[\(index)].color", expected: "#rrggbb", found: entry.color)
            }
            classes.append(InstanceClass(name: entry.name, color: color))
        }
        return classes
    }

    private func whole(
        _ raw: WholeNumber?,
        _ standard: Int,
        in range: ClosedRange<Int>,
        key: String
    ) throws(ModelPackageError) -> Int {
        let value = raw?.value ?? standard
        guard range.contains(value) else {
            throw refuse(key, expected: "\(range.lowerBound)...\(range.upperBound)", found: value)
        }
        return value
    }

    private func share(
        _ raw: Double?,
        _ standard: Double,
        upTo limit: Double = 1,
        key: String
    ) throws(ModelPackageError) -> Float {
        let value = raw ?? standard
        guard value >= 0, value <= limit else {
            throw refuse(key, expected: "a number in 0...\(Int(limit))", found: value)
        }
        return Float(value)
    }
}
