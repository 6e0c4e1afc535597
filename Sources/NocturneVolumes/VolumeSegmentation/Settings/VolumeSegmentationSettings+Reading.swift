import NocturneInference
import NocturnePictures
import NocturnePostprocess
import NocturneSystem

extension VolumeSegmentationSettings {
    /// Reads the section `volumeSegmentation`, or one of another name with the same keys. Those of the only or last level are in
    /// the section itself.
    init(_ section: JSONFields, of package: ModelPackage) throws(JSONFields.Fault) {
        try section.only(
            CascadeLevel.keys + ["previousStage", "output", "threshold", "inputFormat", "postprocessing", "window"]
        )
        let levels = try Self.levels(section, package)
        let output = try Output(section)
        try Self.checkLateCrop(levels, output, section)
        let format = try section.choice("inputFormat", InputFormat.medical)
        // A TIFF states no direction to which it could be turned.
        if format == .tiff, let level = levels.first(where: { $0.orientation != .stored }) {
            throw section.fault("orientation", is: level.orientation.rawValue, not: "stored, as tiff requires")
        }
        self.init(
            levels: levels,
            output: output,
            inputFormat: format,
            postprocessing: try PostprocessRules(section.objectOrEmpty("postprocessing"), labels: package.labels),
            window: section.has("window") ? try PictureWindow(section.object("window")) : nil
        )
    }

    private static func levels(
        _ section: JSONFields,
        _ package: ModelPackage
    ) throws(JSONFields.Fault) -> [CascadeLevel] {
        // Those of the channels are for the last level; a level before it can have its own.
        let normalizations = package.channels.map(\.normalizations)
        guard section.has("previousStage") else {
            return [try CascadeLevel(section, of: package, normalizations)]
        }
        let first = try section.object("previousStage")
        try first.only(CascadeLevel.keys + ["normalizations", "oneHotLabels"])
        var own = normalizations
        if first.has("normalizations") {
            let listed = try first.list("normalizations")
            guard listed.count == package.channels.count else {
                let count = package.channels.count
                throw first.fault("normalizations", "has \(listed.count) entries, not \(count), one per channel")
            }
            own = []
            for (index, value) in listed.enumerated() {
                own.append(try first.normalizations(value, "normalizations[\(index)]"))
            }
        }
        return [
            try CascadeLevel(first, of: package, own),
            try CascadeLevel(section, of: package, normalizations, oneHot: oneHotLabels(first, package)),
        ]
    }

    /// The labels of the first level that become channels of the second.
    private static func oneHotLabels(_ first: JSONFields, _ package: ModelPackage) throws(JSONFields.Fault) -> [UInt16]
    {
        var labels: [UInt16] = []
        let values = try first.wholes("oneHotLabels", atMost: JSONFields.maximumListCount)
        for (index, value) in values.enumerated() {
            guard let label = package.labels.first(where: { Int($0.value) == value }) else {
                throw first.fault("oneHotLabels[\(index)]", is: value, not: "the value of a label")
            }
            labels.append(label.value)
        }
        // Without labels of the previous level the second one would know nothing of the first.
        guard !labels.isEmpty, Set(labels).count == labels.count else {
            throw first.fault("oneHotLabels", is: labels, not: "values of labels, each once")
        }
        return labels
    }

    /// Beyond a crop of the normalized image logits are 0: that has to be background.
    private static func checkLateCrop(
        _ levels: [CascadeLevel],
        _ output: Output,
        _ section: JSONFields
    ) throws(JSONFields.Fault) {
        guard let level = levels.first(where: { $0.crop?.isOfNormalizedImage ?? false }) else { return }
        func refused(_ place: String) -> JSONFields.Fault {
            section.fault("cropAfterNormalization", "is true, which it must not be \(place)")
        }
        if levels.count > 1 { throw refused("in a cascade") }
        if level.inputChannels > 1 { throw refused("with several channels") }
        if level.resamplesProbabilities { throw refused("where probabilities are resampled") }
        if case .regions(let threshold) = output, threshold < 0.5 { throw refused("with a threshold below 0.5") }
    }
}

extension VolumeSegmentationSettings.Output {
    fileprivate init(_ section: JSONFields) throws(JSONFields.Fault) {
        switch section.has("output") ? try section.string("output") : "classes" {
        case "classes":
            // The largest probability wins, whatever it is.
            if section.has("threshold") { throw section.fault("threshold", "is for regions only") }
            self = .classes
        case "regions":
            let threshold = try section.number("threshold", 0.5, in: JSONFields.allNumbers)
            guard threshold > 0, threshold < 1 else {
                throw section.fault("threshold", is: threshold, not: "above 0 and below 1")
            }
            self = .regions(threshold: threshold)
        case let other: throw section.fault("output", is: other, not: "classes or regions")
        }
    }
}

extension PictureWindow {
    /// Centre and width in the image's unit, as `--window` takes them. Nil where both ends are one number in single precision.
    init?(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only(["center", "width"])
        self.init(center: try fields.number("center", in: -1e6...1e6), width: try fields.number("width", in: 1...1e6))
    }
}

extension ModelPackage {
    /// Models that give a label map need channels and labels, which are optional in other packages.
    func requireLabelMap() throws(ModelPackageError) {
        if channels.isEmpty { throw refused("channels", "has no channel; the task needs at least one") }
        if labels.isEmpty { throw refused("labels", "has no label; the task needs at least one") }
    }
}
