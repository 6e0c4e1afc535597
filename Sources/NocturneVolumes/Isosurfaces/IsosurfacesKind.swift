import ArgumentParser
import Foundation
package import NocturneBatch
package import NocturneInference
package import NocturneRecipeSupport
package import NocturneSystem

/// Isosurfaces of volumes as items: the entry in the registry.
package enum IsosurfacesKind: RecipeKind {
    package static let task = Isosurfaces.model
    package static let purpose = "make isosurfaces"
    package static let settings: (any ModelSettings.Type)? = nil
    package static let arguments: [any RecipeArguments.Type] = [
        SurfaceArguments.self, VolumeInputArguments.self, IsosurfaceArguments.self,
    ]
    package static var resultSchema: JSONSchema { VolumeSchemas.isosurfaces }

    package static func options(from arguments: ParsedRecipeArguments, hasModels: Bool) throws -> IsosurfaceOptions? {
        let values = arguments[IsosurfaceArguments.self].isosurface
        guard hasModels || !values.isEmpty else { return nil }
        let surfaces = arguments[SurfaceArguments.self]
        let inputs = arguments[VolumeInputArguments.self]
        var options = IsosurfaceOptions(
            values: values,
            meshes: surfaces.meshes,
            frame: surfaces.frame,
            preview: surfaces.preview,
            fixesTilt: inputs.fixTilt,
            includesDerived: inputs.includeDerived,
            assumesOrientation: inputs.assumeOrientation
        )
        options.pictures = surfaces.pictures
        return options
    }

    package static func make(_ models: [ChosenModel], options: IsosurfaceOptions) throws -> any Recipe {
        Isosurfaces(options: options)
    }

    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(IsosurfacesResult.self, from: Data(result))
        var parts = ReviewParts(.volume, files: result.files, titles: IsosurfacesResult.pictureTitles)
        parts.labels = result.surfaces.enumerated().map { index, surface in
            ReviewParts.Label(
                value: index + 1,
                name: surface.name,
                color: surface.color,
                mesh: surface.mesh?.reviewFile
            )
        }
        return parts
    }

    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try IsosurfacesResult.findings(of: item, document, schema: resultSchema, flag: flag)
    }
}

/// The option that enables isosurfaces.
package struct IsosurfaceArguments: RecipeArguments {
    package static let title = "Isosurfaces"

    // Negative values begin with a dash.
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Also make the surface of every volume where its intensity has this value, in HU for CT, in the stored unit "
                + "otherwise. Needs no model. Repeatable, up to \(IsosurfaceOptions.maximumCount) values.",
            valueName: "value"
        )
    )
    var isosurface: [Double] = []

    package init() {}

    package func validate() throws {
        for value in isosurface where !Float(value).isFinite {
            throw ValidationError("--isosurface takes a number, not \(value).")
        }
        let count = IsosurfaceOptions(values: isosurface).values.count
        guard count <= IsosurfaceOptions.maximumCount else {
            throw ValidationError(
                "--isosurface takes up to \(IsosurfaceOptions.maximumCount) different values, not \(count)."
            )
        }
    }

    package var given: [String] { isosurface.isEmpty ? [] : ["--isosurface"] }
}
