package import NocturneInference
package import NocturneNumerics
package import NocturnePostprocess

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
        let section = try package.section(Self.section, as: Section.self)
        self = try package.validation.photoText(section, files: package.files)
    }

    /// The detector, then the reader.
    package var networks: [String] { [detection.network, recognition.network] }

    /// The section `photoText` as written; only types have been checked.
    struct Section: Codable {
        struct Detection: Codable {
            let network: String
            let longSide: WholeNumber
            let multiple: WholeNumber?
            let channels: String?
            let mean: [Double]
            let standardDeviation: [Double]
            let threshold: Double?
            let boxThreshold: Double?
            let growth: Double?
            let dilation: Bool?
        }

        struct Recognition: Codable {
            let network: String
            let characters: String
            let height: WholeNumber?
            let widthMultiple: WholeNumber?
            let maximumWidth: WholeNumber?
            let channels: String?
            let mean: [Double]
            let standardDeviation: [Double]
        }

        let detection: Detection
        let recognition: Recognition
        let minimumConfidence: Double?
    }
}

extension ModelValidation {
    /// Validates the section `photoText`.
    func photoText(_ raw: PhotoTextModel.Settings.Section, files: [ModelFile]) throws(ModelPackageError)
        -> PhotoTextModel.Settings
    {
        let section = PhotoTextModel.Settings.section
        var minimumConfidence: Float = 0.5
        try set(&minimumConfidence, raw.minimumConfidence, key: "\(section).minimumConfidence")
        return PhotoTextModel.Settings(
            detection: try textDetection(raw.detection, files, key: "\(section).detection"),
            recognition: try textRecognition(raw.recognition, files, key: "\(section).recognition"),
            minimumConfidence: minimumConfidence
        )
    }

    private func textDetection(
        _ raw: PhotoTextModel.Settings.Section.Detection,
        _ files: [ModelFile],
        key: String
    ) throws(ModelPackageError) -> PhotoTextModel.Settings.Detection {
        var rules = TextRegion.Rules()
        rules.isDilated = raw.dilation ?? false
        try set(&rules.threshold, raw.threshold, key: "\(key).threshold")
        try set(&rules.boxThreshold, raw.boxThreshold, key: "\(key).boxThreshold")
        try set(&rules.growth, raw.growth, upTo: 10, key: "\(key).growth")
        let multiple = try whole(raw.multiple, 1, in: 1...512, key: "\(key).multiple")
        let longSide = try whole(raw.longSide, 0, in: 32...4096, key: "\(key).longSide")
        guard longSide % multiple == 0 else {
            throw refuse("\(key).longSide", expected: "a multiple of \(multiple)", found: longSide)
        }
        return PhotoTextModel.Settings.Detection(
            network: try listedFile(raw.network, files, key: "\(key).network"),
            longSide: longSide,
            multiple: multiple,
            colors: try colors(
                mean: raw.mean,
                deviation: raw.standardDeviation,
                order: raw.channels,
                key: key
            ),
            rules: rules
        )
    }

    private func textRecognition(
        _ raw: PhotoTextModel.Settings.Section.Recognition,
        _ files: [ModelFile],
        key: String
    ) throws(ModelPackageError) -> PhotoTextModel.Settings.Recognition {
        let multiple = try whole(raw.widthMultiple, 320, in: 1...4096, key: "\(key).widthMultiple")
        let maximum = try whole(raw.maximumWidth, multiple, in: 1...8192, key: "\(key).maximumWidth")
        guard maximum % multiple == 0 else {
            throw refuse("\(key).maximumWidth", expected: "a multiple of \(multiple)", found: maximum)
        }
        return PhotoTextModel.Settings.Recognition(
            network: try listedFile(raw.network, files, key: "\(key).network"),
            characters: try listedFile(raw.characters, files, key: "\(key).characters"),
            height: try whole(raw.height, 48, in: 8...256, key: "\(key).height"),
            widthMultiple: multiple,
            maximumWidth: maximum,
            colors: try colors(
                mean: raw.mean,
                deviation: raw.standardDeviation,
                order: raw.channels,
                key: key
            )
        )
    }
}
