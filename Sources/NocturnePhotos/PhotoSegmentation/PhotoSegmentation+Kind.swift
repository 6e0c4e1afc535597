import Foundation
package import NocturneBatch
package import NocturneInference
import NocturneJournal
import NocturneNumerics
package import NocturneRecipeSupport
package import NocturneSystem
package import NocturneVolumes

/// Label maps of photos: the entry in the registry.
extension PhotoSegmentation: RecipeKind {
    package static let task = "photo-segmentation"
    package static let purpose = "segment photos"
    package static let settings: (any ModelSettings.Type)? = PhotoSegmentationModel.Settings.self
    /// `Schemas/photo-segmentation-result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.photo_segmentation_result_schema_json)
    package static var result: any InspectableResult.Type { PhotoSegmentationResult.self }

    /// One recipe for all packages, whose photos are discovered once.
    package static func make(_ models: [ChosenModel], options: Options) throws -> any Recipe {
        let models = try load(models) { try PhotoSegmentationModel($0, options: options) }
        return PhotoSegmentation(models: models, options: options)
    }

    /// The channels, the patch, the step, and how many passes are averaged.
    package static func details(of package: ModelPackage) throws -> [String] {
        let settings = try PhotoSegmentationModel.Settings(package)
        let level = settings.networkSettings.levels[0]
        return [
            "Photos in \(settings.input == .grey ? "grey" : "colour"), patch "
                + level.patchSize.dropFirst().map(String.init).joined(separator: "×")
                + ", step \(level.tileStep), networks: \(level.networks.count), "
                + "mirrored axes: \(level.mirroringAxes.count)"
        ]
    }

    /// The networks of all folds, with the shape of a patch.
    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        try PhotoSegmentationModel(model, options: Options()).plane.networks
            .map { NetworkInputs(file: $0.file, shape: $0.inputShape) }
    }

    /// The labels that were found are the objects; the legend of the overlay shows their colours. The label map itself is nearly
    /// black.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(PhotoSegmentationResult.self, from: Data(result))
        let titles: KeyValuePairs = [
            Writer.overlayFile: "The photo with the areas of the labels found"
        ]
        var parts = ReviewParts(.instances, files: result.files, titles: titles)
        parts.size = [result.source.width, result.source.height]
        parts.facts = "\(result.labels.count { $0.pixels > 0 }) of \(result.labels.count) labels"
        parts.objects = result.labels.filter { $0.pixels > 0 }.map { label in
            let percent = (label.share * 1e4).rounded() / 1e2
            let components = counted(label.components, "component")
            return ReviewParts.Object(
                name: label.name,
                score: label.confidence?.meanProbability,
                text: "\(percent) % of the photo, \(components)"
            )
        }
        return parts
    }
}

extension PhotoSegmentation {
    /// The options of a batch that change the label maps of photos.
    package struct Options: RecipeOptions {
        /// How tiles are laid and averaged.
        package var tiles = TileOptions()
        /// The size of the overlay.
        package var overlay = PhotoOverlayOptions()

        /// The options of tiles, and those of the overlay.
        package static let sections = [RecipeSection<Self>(\.tiles), RecipeSection<Self>(\.overlay)]

        /// Tiles as the package states them.
        package init() {}

        /// For the code that applies networks to planes.
        var ofNetworks: SegmentationOptions {
            var options = SegmentationOptions()
            options.tiles = tiles
            return options
        }
    }
}
