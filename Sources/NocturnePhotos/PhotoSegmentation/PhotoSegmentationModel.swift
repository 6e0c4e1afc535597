public import NocturneInference
import NocturneRecipeSupport
import NocturneVolumes

/// Why a package cannot be used for label maps of photos.
public struct PhotoSegmentationModelError: Error, Sendable, CustomStringConvertible {
    public let package: String
    public let detail: String
    public var description: String { "model \(package): \(detail)" }
}

/// A package for label maps of photos, with its networks in memory.
public final class PhotoSegmentationModel: Sendable {
    public let package: ModelPackage
    public let settings: PhotoSegmentationSettings
    let plane: PlaneModel

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Throws: ``PhotoSegmentationModelError``, `SegmentationModelError`, `ModelPackageError`, `ModelFormatError`.
    public init(
        package: ModelPackage,
        engine: any InferenceEngine,
        precision: InferencePrecision,
        options: PhotoSegmentationOptions
    ) throws {
        guard package.task == PhotoSegmentationKind.task else {
            throw PhotoSegmentationModelError(
                package: package.id,
                detail: "is for \(package.task), not for label maps of photos"
            )
        }
        self.package = package
        settings = try PhotoSegmentationSettings(package)
        plane = try PlaneModel(
            settings.networkSettings,
            of: package,
            engine: engine,
            precision: precision,
            options: options.ofNetworks
        )
    }
}
