import ArgumentParser
import Foundation
package import NocturneBatch
package import NocturneInference
package import NocturneRecipeSupport
package import NocturneSystem

/// Existing DICOM segmentations and structure sets as items: the entry in the registry.
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
        guard arguments[ExistingLabelsArguments.self].existingLabels else { return nil }
        let surfaces = arguments[SurfaceArguments.self]
        return ExistingLabelsOptions(meshes: surfaces.meshes, frame: surfaces.frame, preview: surfaces.preview)
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

    @Flag(help: "Also process DICOM segmentations and structure sets in the inputs. Needs no model.")
    var existingLabels = false

    package init() {}

    package var given: [String] { existingLabels ? ["--existing-labels"] : [] }
}
