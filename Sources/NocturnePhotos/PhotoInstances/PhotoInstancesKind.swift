public import ArgumentParser
import Foundation
package import NocturneBatch
package import NocturneInference
package import NocturneJournal
package import NocturneRecipeSupport
package import NocturneSystem

/// Instance segmentation of photos: the entry in the registry.
package enum PhotoInstancesKind: RecipeKind {
    package static let task = "photo-instances"
    package static let purpose = "segment instances in photos"
    package static let settings: (any ModelSettings.Type)? = PhotoInstancesSettings.self
    package static let arguments: [any RecipeArguments.Type] = [
        PhotoInstancesArguments.self, PhotoOverlayArguments.self,
    ]
    package static var resultSchema: JSONSchema { PhotoSchemas.instances }

    package static func options(from arguments: ParsedRecipeArguments, hasModels: Bool) throws -> PhotoInstancesOptions?
    {
        guard hasModels else { return nil }
        let overlaySide = arguments[PhotoOverlayArguments.self].overlaySide
        let arguments = arguments[PhotoInstancesArguments.self]
        return PhotoInstancesOptions(
            usesSingleItemFallback: arguments.singleItemFallback,
            crops: arguments.crops ?? .standard,
            overlaySide: overlaySide,
            awaitsTexts: arguments.enrich
        )
    }

    package static func make(_ models: [ChosenModel], options: PhotoInstancesOptions) throws -> any Recipe {
        let models = try load(models) {
            try PhotoInstancesModel(package: $0.package, engine: $0.engine, precision: $0.precision)
        }
        return PhotoInstances(models: models, options: options)
    }

    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        let model = try PhotoInstancesModel(package: model.package, engine: model.engine, precision: model.precision)
        return [NetworkInputs(file: model.settings.network, shape: model.usualInputShape)]
    }

    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(PhotoInstancesResult.self, from: Data(result))
        let title = "The photo with the masks of the objects found"
        let titles: KeyValuePairs = ["overlay.jpg": title, "overlay.png": title]
        var parts = ReviewParts(.instances, files: result.files, titles: titles)
        parts.size = [result.source.width, result.source.height]
        parts.objects = result.instances.map { instance in
            ReviewParts.Object(
                name: "\(instance.id)",
                score: instance.confidence,
                box: [instance.box.x, instance.box.y, instance.box.width, instance.box.height],
                picture: instance.thumbnail,
                text: instance.class + (instance.reason.map { ", \(instance.state.rawValue): \($0)" } ?? "")
            )
        }
        return parts
    }

    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try PhotoInstancesResult.findings(of: item, document, schema: resultSchema, flag: flag)
    }

    package static func isReviewEntry(_ item: JournalItem) -> Bool { PhotoDiscovery.isPhoto(key: item.key) }
}

/// Options for the instance segmentation of photos.
package struct PhotoInstancesArguments: RecipeArguments {
    package static let title = "Instance segmentation of photos"

    @Flag(help: "Treat a photo without detected instances, or whose segmentation fails, as a single item.")
    var singleItemFallback = false

    @Option(
        help: ArgumentHelp(
            "Format of crops, overlay and thumbnails: jpeg (default), jpeg:QUALITY, png, or none for no crops.",
            discussion: "Crops as JPEG are on white, as PNG on a transparent ground and without loss.",
            valueName: "format"
        )
    )
    var crops: CropFormat?

    @Flag(
        help: "Leave instances in the state enriching until 'nocturne enrich' has taken over their titles and authors."
    )
    var enrich = false

    package init() {}

    package var given: [String] {
        (singleItemFallback ? ["--single-item-fallback"] : []) + (crops == nil ? [] : ["--crops"])
            + (enrich ? ["--enrich"] : [])
    }
}

extension CropFormat: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
    public var defaultValueDescription: String { text }
    public static var allValueStrings: [String] { ["jpeg", "png", "none"] }
}
