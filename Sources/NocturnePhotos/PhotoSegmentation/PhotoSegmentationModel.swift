package import NocturneInference
package import NocturneRecipeSupport
package import NocturneVolumes

/// A package for label maps of photos, with its networks in memory.
package final class PhotoSegmentationModel: PhotoModel {
    /// The package, the engine, and the precision.
    package let chosen: ChosenModel
    /// The checked section of the package.
    package let settings: Settings
    let plane: PlaneModel

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Throws: ``UnusablePackageError``, `ModelPackageError`, `ModelFormatError`.
    package init(_ chosen: ChosenModel, options: PhotoSegmentation.Options) throws {
        let package = chosen.package
        try package.require(task: PhotoSegmentation.task, for: "label maps of photos")
        self.chosen = chosen
        settings = try Settings(package)
        plane = try PlaneModel(
            settings.networkSettings,
            of: package,
            engine: chosen.engine,
            precision: chosen.precision,
            options: options.ofNetworks
        )
    }
    /// Smaller photos than a patch are padded.
    package var minimumSide: Int { 1 }
    /// Of all folds.
    package var networks: [any LoadedNetwork] { plane.loadedNetworks }
    package func residentBytes(threads: Int) throws -> Int { try plane.residentBytes(threads: threads) }
    package func threadsOfProcess(cores: Int) throws -> Int { try plane.threadsOfProcess(cores: cores) }
}

extension PhotoSegmentationModel {
    /// How a model that gives photos label maps is applied: the settings of networks for planes.
    package struct Settings: Hashable, Sendable {
        /// Of one level, without a spacing.
        package let networkSettings: VolumeSegmentationSettings
        /// Grey or colours.
        package let input: Input

        /// What the networks take of a photo.
        package enum Input: Int, Hashable, Sendable {
            /// One channel. A photo in colour becomes grey as by Pillow: 0.299 red + 0.587 green + 0.114 blue.
            case grey = 1
            /// Red, green and blue. Those of a grey photo are equal.
            case colors = 3
        }
    }
}

extension PhotoSegmentationModel.Settings: ModelSettings {
    /// The key of the task's section in `model.json`.
    static let section = "photoSegmentation"

    /// - Throws: `ModelPackageError` naming the key, also for a number of channels other than 1 and 3.
    package init(_ package: ModelPackage) throws(ModelPackageError) {
        networkSettings = try VolumeSegmentationSettings(plane: package, section: Self.section)
        guard let input = Input(rawValue: package.channels.count) else {
            let expected = "1 for grey, or 3 for red, green and blue"
            throw package.refused("channels", "has \(package.channels.count) channels, not \(expected)")
        }
        self.input = input
    }

    /// The ONNX files of all folds.
    package var networks: [String] { networkSettings.networks }
}
