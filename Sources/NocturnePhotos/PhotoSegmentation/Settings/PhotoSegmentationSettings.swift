public import NocturneInference
public import NocturneVolumes

/// How a model that gives photos label maps is applied: the settings of networks for planes.
public struct PhotoSegmentationSettings: Hashable, Sendable {
    /// Of one level, without a spacing.
    public let networkSettings: VolumeSegmentationSettings
    public let input: Input

    /// What the networks take of a photo.
    public enum Input: Int, Hashable, Sendable {
        /// One channel. A photo in colour becomes grey as by Pillow: 0.299 red + 0.587 green + 0.114 blue.
        case grey = 1
        /// Red, green and blue. Those of a grey photo are equal.
        case colors = 3
    }
}

extension PhotoSegmentationSettings: ModelSettings {
    /// The key of the task's section in `model.json`.
    static let section = "photoSegmentation"

    public init(_ package: ModelPackage) throws(ModelPackageError) {
        networkSettings = try VolumeSegmentationSettings(plane: package, section: Self.section)
        guard let input = Input(rawValue: package.channels.count) else {
            throw package.validation.refuse(
                "channels",
                expected: "one channel for grey, or three for red, green and blue",
                found: package.channels.count
            )
        }
        self.input = input
    }

    public var networks: [String] { networkSettings.networks }
}
