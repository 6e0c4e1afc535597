package import NocturneInference
package import NocturneNumerics
package import NocturnePostprocess
import NocturneSystem

extension PhotoTextModel {
    /// How a package reads text: one network finds the lines, another one reads them, as PaddleOCR does it.
    package struct Settings: Hashable, Sendable {
        /// How lines are found.
        package struct Detection: Hashable, Sendable {
            /// The network's file. It returns probabilities `[1][1][y][x]` of the input's extents.
            package let network: String
            /// Larger pictures are reduced so that the longer side has this many pixels, 32...4096; smaller ones stay as they are.
            package let longSide: Int
            /// Both extents of the input are multiples of it, 1...512.
            package let multiple: Int
            /// How colours become values.
            package let colors: NetworkColors
            /// How the map becomes lines.
            package let rules: TextRegion.Rules
        }

        /// How lines are read.
        package struct Recognition: Hashable, Sendable {
            /// The network's file. It returns probabilities `[1][steps][1 + characters]`, of which the first is the blank.
            package let network: String
            /// The file with one character, or several that belong together, on each line.
            package let characters: String
            /// Of the input in pixels, 8...256; a line gets this height, and the width that keeps its form.
            package let height: Int
            /// The width of the input is a multiple of it, in pixels: the rest is filled with the mean.
            package let widthMultiple: Int
            /// Longer lines are compressed to it, in pixels; a multiple of ``widthMultiple``.
            package let maximumWidth: Int
            /// How colours become values.
            package let colors: NetworkColors
        }

        /// How lines are found.
        package let detection: Detection
        /// How lines are read.
        package let recognition: Recognition
        /// Lines with a lower confidence are left out.
        package let minimumConfidence: Float
    }
}

extension PhotoTextModel.Settings: ModelSettings {
    /// The task of the packages.
    package static let task = "photo-text"
    /// The key of the task's section in `model.json`.
    static let section = "photoText"

    /// - Throws: `ModelPackageError` naming the key.
    package init(_ package: ModelPackage) throws(ModelPackageError) {
        self = try package.section(Self.section) { section throws(JSONFields.Fault) in
            try section.only(["detection", "recognition", "minimumConfidence"])
            return PhotoTextModel.Settings(
                detection: try Detection(section.object("detection"), package),
                recognition: try Recognition(section.object("recognition"), package),
                minimumConfidence: try section.share("minimumConfidence", 0.5)
            )
        }
    }

    /// The detector, then the reader.
    package var networks: [String] { [detection.network, recognition.network] }
}

extension PhotoTextModel.Settings.Detection {
    fileprivate init(_ fields: JSONFields, _ package: ModelPackage) throws(JSONFields.Fault) {
        try fields.only([
            "network", "longSide", "multiple", "channels", "mean", "standardDeviation", "threshold", "boxThreshold",
            "growth",
            "dilation",
        ])
        var rules = TextRegion.Rules()
        rules.isDilated = try fields.boolean("dilation", false)
        rules.threshold = try fields.share("threshold", rules.threshold)
        rules.boxThreshold = try fields.share("boxThreshold", rules.boxThreshold)
        rules.growth = try fields.share("growth", rules.growth, upTo: 10)
        let multiple = try fields.whole("multiple", 1, in: 1...512)
        let longSide = try fields.whole("longSide", in: 32...4096)
        guard longSide % multiple == 0 else {
            throw fields.fault("longSide", is: longSide, not: "a multiple of \(multiple)")
        }
        self.init(
            network: try fields.file("network", of: package),
            longSide: longSide,
            multiple: multiple,
            colors: try fields.colors(order: fields.choice("channels", .rgb)),
            rules: rules
        )
    }
}

extension PhotoTextModel.Settings.Recognition {
    fileprivate init(_ fields: JSONFields, _ package: ModelPackage) throws(JSONFields.Fault) {
        try fields.only([
            "network", "characters", "height", "widthMultiple", "maximumWidth", "channels", "mean", "standardDeviation",
        ])
        let multiple = try fields.whole("widthMultiple", 320, in: 1...4096)
        let maximum = try fields.whole("maximumWidth", multiple, in: 1...8192)
        guard maximum % multiple == 0 else {
            throw fields.fault("maximumWidth", is: maximum, not: "a multiple of \(multiple)")
        }
        self.init(
            network: try fields.file("network", of: package),
            characters: try fields.file("characters", of: package),
            height: try fields.whole("height", 48, in: 8...256),
            widthMultiple: multiple,
            maximumWidth: maximum,
            colors: try fields.colors(order: fields.choice("channels", .rgb))
        )
    }
}
