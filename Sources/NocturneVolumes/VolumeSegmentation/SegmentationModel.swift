public import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport

/// Why a package cannot be used for volumes.
public struct SegmentationModelError: Error, Sendable, CustomStringConvertible {
    public let package: String
    public let detail: String
    public var description: String { "model \(package): \(detail)" }
}

/// A model package with its networks in memory.
public final class SegmentationModel: Sendable {
    public let package: ModelPackage
    public let settings: VolumeSegmentationSettings
    public let engineName: String
    public let precision: InferencePrecision
    public let instructionSet: String
    /// One, or two for a cascade.
    let levels: [LevelModel]

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Throws: ``SegmentationModelError``, `ModelPackageError`, `ModelFormatError`.
    public init(package: ModelPackage, engine: any InferenceEngine, precision: InferencePrecision) throws {
        guard package.task == VolumeSegmentationKind.task else {
            throw SegmentationModelError(package: package.id, detail: "is for \(package.task), not for volumes")
        }
        let settings = try VolumeSegmentationSettings(package)
        self.package = package
        self.settings = settings
        self.precision = precision
        engineName = engine.name
        levels = try settings.levels.map {
            try LevelModel(package: package, settings: $0, engine: engine, precision: precision)
        }
        instructionSet = levels.first?.networks.first?.instructionSet ?? ""
        for level in levels { try check(level) }
    }

    private func check(_ level: LevelModel) throws {
        switch settings.output {
        case .classes:
            guard let label = package.labels.first(where: { Int($0.value) >= level.classes }) else { return }
            throw SegmentationModelError(
                package: package.id,
                detail: "label \(label.name) is class \(label.value), the network returns classes 0 to "
                    + "\(level.classes - 1)"
            )
        case .regions:
            guard package.labels.count != level.classes else { return }
            throw SegmentationModelError(
                package: package.id,
                detail: "there are \(package.labels.count) regions, the network returns \(level.classes)"
            )
        }
    }

    /// The package's networks, in the order of its levels, with their input shapes (N, C, …).
    public var networks: [(file: String, inputShape: [Int])] {
        levels.flatMap { level in level.settings.networks.map { ($0, level.inputShape) } }
    }

    /// Number of image channels of a case.
    var channelCount: Int { package.channels.count }

    /// Bytes held while the model is in use: weights, workspaces, patch buffers, importance maps.
    func residentBytes(threads: Int, options: SegmentationOptions) throws -> Int {
        try levels.reduce(0) { $0 + (try $1.residentBytes(threads: threads, options: options)) }
    }

    /// The label value for each network output.
    var decision: LabelDecision {
        switch settings.output {
        case .regions: return .regions(labels: package.labels.map(\.value))
        case .classes:
            var table = [UInt16](repeating: 0, count: levels[0].classes)
            for label in package.labels { table[Int(label.value)] = label.value }
            return .largestLogit(labels: table)
        }
    }
}
