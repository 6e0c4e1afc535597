import NocturneInference
import NocturnePostprocess

extension ModelValidation {
    /// Validates the section `postprocessing` of a task.
    func postprocessing(
        _ raw: VolumeSegmentationSection.Postprocessing?,
        labels: [ModelLabel],
        key: String
    ) throws(ModelPackageError) -> PostprocessRules {
        var groups: [[UInt16]] = []
        try checkLength(raw?.keepLargest?.count ?? 0, key: "\(key).keepLargest")
        for (index, group) in (raw?.keepLargest ?? []).enumerated() {
            let key = "\(key).keepLargest[\(index)]"
            if group.names.isEmpty { throw refuse(key, expected: "at least one label", found: "none") }
            let own = try values(group.names, labels: labels, key: key)
            // A group that is kept twice changes nothing: most likely a name in one of them is wrong.
            if groups.contains(own) {
                let names = group.names.joined(separator: ", ")
                throw refuse(key, expected: "every group once", found: "\(names) twice")
            }
            groups.append(own)
        }
        let fillHoles = try values(raw?.fillHoles ?? [], labels: labels, key: "\(key).fillHoles")
        // Dictionaries are unordered; the error must be the same every time.
        let volumes = (raw?.minimumVolumeMm3 ?? [:]).sorted { $0.key < $1.key }
        let limited = try values(volumes.map(\.key), labels: labels, key: "\(key).minimumVolumeMm3")
        for (name, volume) in volumes where !(volume.isFinite && volume >= 0) {
            throw refuse("\(key).minimumVolumeMm3.\(name)", expected: "a number of at least 0", found: volume)
        }
        // Through faces, edges and corners (26), unless stated.
        let neighbours = raw?.connectivity?.value ?? Connectivity.corners.rawValue
        guard let connectivity = Connectivity(rawValue: neighbours) else {
            throw refuse("\(key).connectivity", expected: "6, 18 or 26", found: neighbours)
        }
        return PostprocessRules(
            keepLargest: groups,
            fillHoles: fillHoles,
            minimumVolumeMm3: Dictionary(uniqueKeysWithValues: zip(limited, volumes.map(\.value))),
            connectivity: connectivity,
            morphology: try morphology(raw?.morphology ?? [], labels: labels, key: "\(key).morphology")
        )
    }

    /// The values of labels by their names, in the same order; each name once.
    func values(
        _ names: [String],
        labels: [ModelLabel],
        key: String
    ) throws(ModelPackageError) -> [UInt16] {
        let known = Dictionary(uniqueKeysWithValues: labels.map { ($0.name, $0.value) })
        var values: [UInt16] = []
        for name in names {
            guard let value = known[name] else {
                let known = labels.prefix(20).map(\.name).joined(separator: ", ")
                throw refuse(key, expected: "one of the labels (\(known))", found: "\"\(name)\"")
            }
            if values.contains(value) {
                throw refuse(key, expected: "every label once", found: "\(name) twice")
            }
            values.append(value)
        }
        return values
    }

    /// No operation is larger: a size in mm above this is a mistake in the unit.
    private static let maximumMorphologyMm = 100.0

    private func morphology(
        _ steps: [VolumeSegmentationSection.Morphology],
        labels: [ModelLabel],
        key: String
    ) throws(ModelPackageError) -> [MorphologyStep] {
        try checkLength(steps.count, key: key)
        var rules: [MorphologyStep] = []
        for (index, step) in steps.enumerated() {
            let key = "\(key)[\(index)]"
            guard let operation = MorphologyStep.Operation(rawValue: step.operation) else {
                let known = MorphologyStep.Operation.allCases.map(\.rawValue).joined(separator: ", ")
                throw refuse("\(key).operation", expected: "one of \(known)", found: step.operation)
            }
            if step.labels.isEmpty { throw refuse("\(key).labels", expected: "at least one label", found: "none") }
            let own = try values(step.labels, labels: labels, key: "\(key).labels")
            // A smoothing has the sigma of a Gaussian, all other operations the radius of a ball.
            let (size, other) = operation == .smooth ? ("sigmaMm", "radiusMm") : ("radiusMm", "sigmaMm")
            if operation == .smooth ? step.radiusMm != nil : step.sigmaMm != nil {
                throw refuse("\(key).\(other)", expected: "\(size) for \(operation.rawValue)", found: other)
            }
            guard let millimetres = operation == .smooth ? step.sigmaMm : step.radiusMm else {
                throw refuse("\(key).\(size)", .missingKey, expected: "a number of mm", found: "none")
            }
            guard millimetres > 0, millimetres <= Self.maximumMorphologyMm else {
                let most = Int(Self.maximumMorphologyMm)
                throw refuse("\(key).\(size)", expected: "above 0 and at most \(most) mm", found: millimetres)
            }
            rules.append(MorphologyStep(operation, labels: own, millimetres: millimetres))
        }
        return rules
    }
}
