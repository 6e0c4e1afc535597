import ArgumentParser
import Foundation
package import NocturneBatch
import NocturneFormats
package import NocturneInference
package import NocturneJournal
package import NocturneRecipeSupport
package import NocturneSystem

/// Classification of photos: the entry in the registry.
package enum PhotoClassificationKind: RecipeKind {
    package static let task = "photo-classification"
    package static let purpose = "classify photos"
    package static let settings: (any ModelSettings.Type)? = PhotoClassificationSettings.self
    package static let arguments: [any RecipeArguments.Type] = [PhotoClassificationArguments.self]
    package static var resultSchema: JSONSchema { PhotoSchemas.classification }

    package static func options(
        from arguments: ParsedRecipeArguments,
        hasModels: Bool
    ) throws -> PhotoClassificationOptions? {
        guard hasModels else { return nil }
        let arguments = arguments[PhotoClassificationArguments.self]
        return PhotoClassificationOptions(
            metadataPath: arguments.metadata.map(absolutePath),
            requiresKnownMetadata: arguments.strictMetadata
        )
    }

    package static func make(_ models: [ChosenModel], options: PhotoClassificationOptions) throws -> any Recipe {
        let models = try load(models) {
            try PhotoClassificationModel(package: $0.package, engine: $0.engine, precision: $0.precision)
        }
        return PhotoClassification(models: models, options: options)
    }

    package static func summarize(
        _ options: PhotoClassificationOptions,
        folders: FileBackedList<String>,
        into output: String,
        flag: CancellationFlag
    ) throws {
        guard options.writesReports else { return }
        try ContactSheet.write(folders: folders, to: output + "/contact-sheet.pdf", flag: flag)
    }

    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        let model = try PhotoClassificationModel(
            package: model.package,
            engine: model.engine,
            precision: model.precision
        )
        return try model.networks().map { file, input, shapes in
            NetworkInputs(file: file, shape: shapes[input] ?? [], others: shapes.filter { $0.key != input })
        }
    }

    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(PhotoClassificationResult.self, from: Data(result))
        // Results of earlier versions have no picture but the thumbnail.
        let hasPhoto = result.files.contains { $0.path == ClassificationWriter.photoFile }
        let photo = hasPhoto ? ClassificationWriter.photoFile : ClassificationWriter.thumbnailFile
        let titles: KeyValuePairs = [
            photo: "The part of the photo that the model saw",
            "heatmap.png": "The same part with the attention map of the class with the highest score",
        ]
        var parts = ReviewParts(.classification, files: result.files, titles: titles)
        parts.thumbnail = ClassificationWriter.thumbnailFile
        parts.objects = result.ranked.map { ReviewParts.Object(name: $0.title, score: $0.probability, text: "") }
        parts.summary = result.summary
        return parts
    }

    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try PhotoClassificationResult.findings(of: item, document, schema: resultSchema, flag: flag)
    }

    /// Checks the contact sheet.
    package static func inspectBatchFile(at path: String) -> String? {
        path.hasSuffix(".pdf") ? PDFCheck.fault(at: path) : nil
    }

    package static func isReviewEntry(_ item: JournalItem) -> Bool { PhotoDiscovery.isPhoto(key: item.key) }
}

/// Options for the classification of photos.
package struct PhotoClassificationArguments: RecipeArguments {
    package static let title = "Classification of photos"

    @Option(
        help: ArgumentHelp(
            "CSV file with metadata of the people in photos, as of HAM10000 or ISIC: image, age, sex, site.",
            valueName: "file"
        ),
        completion: .file()
    )
    var metadata: String?

    @Flag(help: "Fail photos whose metadata have a value that is not understood. Default: it counts as unknown.")
    var strictMetadata = false

    package init() {}

    package var given: [String] {
        (metadata == nil ? [] : ["--metadata"]) + (strictMetadata ? ["--strict-metadata"] : [])
    }
}
