import ArgumentParser
import Foundation
package import NocturneBatch
package import NocturneInference
package import NocturneRecipeSupport
package import NocturneSystem

/// Existing segmentations, structure sets and label maps as items: the entry in the registry.
package enum ExistingLabelsKind: RecipeKind {
    package static let task = ExistingLabels.model
    package static let purpose = "read existing labels"
    package static let settings: (any ModelSettings.Type)? = nil
    package static let arguments: [any RecipeArguments.Type] = [SurfaceArguments.self, ExistingLabelsArguments.self]
    package static var resultSchema: JSONSchema { VolumeSchemas.existingLabels }

    package static func options(
        from arguments: ParsedRecipeArguments,
        hasModels: Bool
    ) throws -> ExistingLabelsOptions? {
        guard hasModels || arguments[ExistingLabelsArguments.self].existingLabels else { return nil }
        let surfaces = arguments[SurfaceArguments.self]
        var options = ExistingLabelsOptions(meshes: surfaces.meshes, frame: surfaces.frame, preview: surfaces.preview)
        options.pictures = surfaces.pictures
        let given = arguments[ExistingLabelsArguments.self]
        options.imageFolder = try given.labelImages.map { try ReferenceInstruction.checked(absolutePath($0), "images") }
        options.namesFile = try given.labelNames.map { path in
            let path = absolutePath(path)
            _ = try LabelNameFile(path)
            return path
        }
        return options
    }

    package static func make(_ models: [ChosenModel], options: ExistingLabelsOptions) throws -> any Recipe {
        ExistingLabels(options: options)
    }

    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(ExistingLabelsResult.self, from: Data(result))
        var parts = ReviewParts(.volume, files: result.files, titles: SegmentationResult.pictureTitles)
        parts.labels = result.labels.map {
            ReviewParts.Label(
                value: $0.value,
                name: $0.name,
                color: $0.color ?? "#808080",
                mesh: $0.mesh?.reviewFile
            )
        }
        return parts
    }

    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try ExistingLabelsResult.findings(of: item, document, schema: resultSchema, flag: flag)
    }
}

/// The option that enables existing labels.
package struct ExistingLabelsArguments: RecipeArguments {
    package static let title = "Existing labels"

    @Flag(
        help: ArgumentHelp(
            "Also process the DICOM segmentations, structure sets and NIfTI label maps in the inputs. Needs no model."
        )
    )
    var existingLabels = false

    @Option(
        help: ArgumentHelp(
            "With --existing-labels, the folder with the images of NIfTI label maps, by the same names; then every other NIfTI "
                + "file is a label map. Default: found as in nnU-Net's labelsTr and imagesTr, and by endings such as _seg.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var labelImages: String?

    @Option(
        help: ArgumentHelp(
            "With --existing-labels, the names of labels in NIfTI label maps: a JSON file such as nnU-Net's dataset.json.",
            valueName: "file"
        ),
        completion: .file()
    )
    var labelNames: String?

    package init() {}

    package func validate() throws {
        guard existingLabels || labelImages == nil && labelNames == nil else {
            throw ValidationError("--label-images and --label-names are about label maps; add --existing-labels.")
        }
    }

    package var given: [String] {
        let names = [
            (existingLabels, "--existing-labels"), (labelImages != nil, "--label-images"),
            (labelNames != nil, "--label-names"),
        ]
        return names.filter(\.0).map(\.1)
    }
}
