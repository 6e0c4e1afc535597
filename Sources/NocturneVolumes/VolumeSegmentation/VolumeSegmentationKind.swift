import Foundation
package import NocturneBatch
package import NocturneConcurrency
package import NocturneInference
package import NocturneJournal
package import NocturneRecipeSupport
package import NocturneSystem

/// Segmentation of volumes: the entry in the registry.
package enum VolumeSegmentationKind: RecipeKind {
    package static let task = "volume-segmentation"
    package static let packageTasks = [task, VolumeModelSettings.programTask]
    package static let purpose = "segment volumes"
    package static let settings: (any ModelSettings.Type)? = VolumeModelSettings.self
    package static let arguments: [any RecipeArguments.Type] = [
        SurfaceArguments.self, VolumeInputArguments.self, SegmentationArguments.self, TileArguments.self,
    ]
    /// Nil: results of this recipe are older than the `task` key.
    package static let resultTask: String? = nil
    package static var resultSchema: JSONSchema { VolumeSchemas.segmentation }

    package static func options(from arguments: ParsedRecipeArguments, hasModels: Bool) throws -> SegmentationOptions? {
        guard hasModels else { return nil }
        return try arguments[SegmentationArguments.self].options(
            arguments[SurfaceArguments.self],
            arguments[VolumeInputArguments.self],
            arguments[TileArguments.self]
        )
    }

    package static func make(_ models: [ChosenModel], options: SegmentationOptions) throws -> any Recipe {
        let models = try load(models) {
            try SegmentationModel(package: $0.package, engine: $0.engine, precision: $0.precision)
        }
        let known = Set(models.flatMap { $0.package.labels.map(\.name) })
        for label in options.labels ?? [] where !known.contains(label) {
            throw BatchError(
                .modelUnusable,
                path: "",
                detail: "no model has a label \(label); available: \(known.sorted().joined(separator: ", "))"
            )
        }
        return try VolumeSegmentation(models: models, options: options)
    }

    package static func details(of package: ModelPackage) throws -> [String] {
        let settings = try VolumeModelSettings(package)
        let inputs =
            settings.inputFormat == .tiff ? "TIFFs whose pages are slices" : "DICOM series and NIfTI files"
        return ["Inputs: \(inputs)"] + settings.programDetails(package)
            + settings.members.flatMap { member in
                member.settings.levels.enumerated().map { index, level in
                    let place = member.path.isEmpty ? "Cascade level" : "\(member.path), cascade level"
                    return "\(place) \(index + 1): " + level.details
                }
            }
    }

    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        let model = try SegmentationModel(package: model.package, engine: model.engine, precision: model.precision)
        return model.networks.map { NetworkInputs(file: $0.file, shape: $0.inputShape) }
    }

    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(SegmentationResult.Shown.self, from: Data(result))
        let isShown = result.options["review"] != ReviewContent.none.rawValue
        var parts = ReviewParts(.volume, files: isShown ? result.files : [], titles: SegmentationResult.pictureTitles)
        parts.labels = result.labels.map {
            ReviewParts.Label(value: $0.value, name: $0.name, color: $0.color, mesh: $0.mesh?.reviewFile)
        }
        parts.isEdited = result.edited != nil
        return parts
    }

    package static func agreement(_ folder: String, _ other: String, scope: ComputeScope) throws -> [Statistic] {
        try LabelMapComparison.rows(folder, other, scope: scope)
    }

    package static func checkEdit(_ path: String, of folder: String, scope: ComputeScope) throws -> String {
        let map = folder + "/segmentation.nii.gz"
        try EditedLabelMap.check(path, against: map, scope: scope)
        return map
    }

    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try SegmentationResult.findings(of: item, document, schema: resultSchema, flag: flag)
    }
}
