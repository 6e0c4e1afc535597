import NocturneInference
import NocturnePostprocess

extension ModelValidation {
    /// Validates the section `postprocessing` of a task.
    func postprocessing(
        _ raw: VolumeSegmentationSection.Postprocessing?,
        labels: [ModelLabel],
        key: String
    ) throws(ModelPackageError) -> PostprocessingSettings {
        let volumes = raw?.minimumVolumeMm3 ?? [:]
        let fillHoles = raw?.fillHoles ?? []
        let groups = (raw?.keepLargest ?? []).map(\.names)
        try checkLength(groups.count, key: "\(key).keepLargest")
        for (index, group) in groups.enumerated() {
            if group.isEmpty {
                throw refuse("\(key).keepLargest[\(index)]", expected: "at least one label", found: "none")
            }
            try check(group, labels: labels, key: "\(key).keepLargest[\(index)]")
            if groups[..<index].contains(group) {
                throw refuse(
                    .duplicate,
                    "\(key).keepLargest[\(index)]",
                    expected: "every group once",
                    found: "\(group.joined(separator: ", ")) twice"
                )
            }
        }
        try check(fillHoles, labels: labels, key: "\(key).fillHoles")
        // Dictionaries are unordered; the error must be the same every time.
        try check(volumes.keys.sorted(), labels: labels, key: "\(key).minimumVolumeMm3")
        for name in volumes.keys.sorted() {
            guard let volume = volumes[name], volume.isFinite, volume >= 0 else {
                throw refuse(
                    "\(key).minimumVolumeMm3.\(name)",
                    expected: "a number of at least 0",
                    found: volumes[name] ?? 0
                )
            }
        }
        let connectivity = raw?.connectivity?.value ?? 26
        guard [6, 18, 26].contains(connectivity) else {
            throw refuse("\(key).connectivity", expected: "6, 18 or 26", found: connectivity)
        }
        return PostprocessingSettings(
            keepLargest: groups,
            fillHoles: fillHoles,
            minimumVolumeMm3: volumes,
            connectivity: connectivity,
            morphology: try morphology(raw?.morphology ?? [], labels: labels, key: "\(key).morphology")
        )
    }

    /// No operation is larger: a size in mm above this is a mistake in the unit.
    private static let maximumMorphologyMm = 100.0

    private func morphology(
        _ steps: [VolumeSegmentationSection.Morphology],
        labels: [ModelLabel],
        key: String
    ) throws(ModelPackageError) -> [MorphologySettings] {
        try checkLength(steps.count, key: key)
        var settings: [MorphologySettings] = []
        for (index, step) in steps.enumerated() {
            let key = "\(key)[\(index)]"
            guard let operation = MorphologyOperation(rawValue: step.operation) else {
                let known = MorphologyOperation.allCases.map(\.rawValue).joined(separator: ", ")
                throw refuse("\(key).operation", expected: "one of \(known)", found: step.operation)
            }
            if step.labels.isEmpty { throw refuse("\(key).labels", expected: "at least one label", found: "none") }
            try check(step.labels, labels: labels, key: "\(key).labels")
            let (size, other) = operation == .smooth ? ("sigmaMm", "radiusMm") : ("radiusMm", "sigmaMm")
            if operation == .smooth ? step.radiusMm != nil : step.sigmaMm != nil {
                throw refuse("\(key).\(other)", expected: "\(size) for \(operation.rawValue)", found: other)
            }
            guard let millimetres = operation == .smooth ? step.sigmaMm : step.radiusMm else {
                throw refuse(.missingKey, "\(key).\(size)", expected: "a number of mm", found: "none")
            }
            guard millimetres > 0, millimetres <= Self.maximumMorphologyMm else {
                let most = Int(Self.maximumMorphologyMm)
                throw refuse("\(key).\(size)", expected: "above 0 and at most \(most) mm", found: millimetres)
            }
            settings.append(
                MorphologySettings(operation: operation, labels: step.labels, millimetres: millimetres)
            )
        }
        return settings
    }

    func check(_ names: [String], labels: [ModelLabel], key: String) throws(ModelPackageError) {
        let known = Set(labels.map(\.name))
        var seen: Set<String> = []
        for name in names {
            guard known.contains(name) else {
                let known = labels.prefix(20).map(\.name).joined(separator: ", ")
                throw refuse(.unknownName, key, expected: "one of the labels (\(known))", found: "\"\(name)\"")
            }
            if !seen.insert(name).inserted {
                throw refuse(.duplicate, key, expected: "every label once", found: "\(name) twice")
            }
        }
    }
}
