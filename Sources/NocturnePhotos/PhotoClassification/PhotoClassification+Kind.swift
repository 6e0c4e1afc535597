import ArgumentParser
import Foundation
package import NocturneBatch
import NocturneFormats
package import NocturneInference
import NocturneJournal
package import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// Classification of photos: the entry in the registry.
extension PhotoClassification: RecipeKind {
    package static let task = "photo-classification"
    package static let purpose = "classify photos"
    package static let settings: (any ModelSettings.Type)? = PhotoClassificationModel.Settings.self
    /// `Schemas/classification-result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.classification_result_schema_json)
    package static var result: any InspectableResult.Type { PhotoClassificationResult.self }

    /// One recipe for all packages, whose photos are discovered once.
    package static func make(_ models: [ChosenModel], options: Options) throws -> any Recipe {
        PhotoClassification(models: try load(models, PhotoClassificationModel.init), options: options)
    }

    /// The input, the classes, and from which scores on they have a level of risk.
    package static func details(of package: ModelPackage) throws -> [String] {
        let settings = try PhotoClassificationModel.Settings(package)
        let side = settings.inputSize
        var lines = ["Input: the central square of a photo, scaled to \(side)×\(side) pixels"]
        if let metadata = settings.metadata {
            lines.append("Metadata: age, sex, and site: \(metadata.names.joined(separator: ", "))")
        }
        lines += settings.classes.map {
            "Class: \($0.name), \($0.title), \($0.color)" + ($0.isMalignant ? ", malignant" : "")
        }
        if let risk = settings.risk {
            let high = risk.highClasses.joined(separator: " or ")
            lines.append("Risk: high from a score of \(risk.highThreshold) for \(high)")
            lines.append("Risk: moderate from a score of \(risk.moderateThreshold) for a malignant class")
        }
        return lines
    }

    /// Writes `contact-sheet.pdf`.
    package static func summarize(
        _ options: Options,
        folders: CompletedFolders,
        into output: String,
        flag: CancellationFlag
    ) throws {
        try ContactSheet.write(folders: folders, to: output + "/" + ContactSheet.file, flag: flag)
    }

    /// The classifier, and the attention graph with its other inputs.
    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        try PhotoClassificationModel(model).networkInputs()
    }

    /// The part of the photo that the model saw, the attention map, and the classes as objects.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(PhotoClassificationResult.self, from: Data(result))
        // Results of earlier versions have no picture but the thumbnail.
        let hasPhoto = result.files.contains { $0.path == Writer.photoFile }
        let photo = hasPhoto ? Writer.photoFile : Writer.thumbnailFile
        let titles: KeyValuePairs = [
            photo: "The part of the photo that the model saw"
                + (result.isColorCorrected ? ", before colour correction" : ""),
            Writer.heatmapFile: "The same part with the attention map of the class with the highest score",
        ]
        var parts = ReviewParts(.classification, files: result.files, titles: titles)
        parts.thumbnail = Writer.thumbnailFile
        parts.objects = result.ranked.map { entry in
            let mark = entry.malignant ? ReportText.malignantMark : ""
            var object = ReviewParts.Object(name: entry.title, score: entry.probability, text: mark)
            object.color = entry.color
            return object
        }
        parts.summary = result.summary
        parts.risk = result.risk?.level.rawValue
        // The score first: long titles are cut short.
        parts.facts = result.ranked.first.map { "\(ClassScores.text($0.probability)) \($0.title)" }
        parts.documents = result.files.map(\.path).filter { $0.hasSuffix(".pdf") }
        return parts
    }

    /// Checks the contact sheet.
    package static func inspectBatchFile(at path: String) -> String? {
        path.hasSuffix(".pdf") ? PDFPage.fault(at: path) : nil
    }
}

extension PhotoClassification {
    /// The options of a batch that change the classification of photos.
    package struct Options: OptionSection, RecipeOptions {
        /// The heading of the section in help.
        package static let title = "Classification of photos"

        /// A CSV file with metadata of the people; see ``MetadataTable``.
        package var metadataPath: String?
        /// Whether a photo fails whose metadata have a value that is not understood.
        package var requiresKnownMetadata = false

        /// Each option with its help. Strictness changes which photos fail, but no result.
        package static let options: [Entry] = [
            Entry(
                path: "metadata",
                \.metadataPath,
                ArgumentHelp(
                    "CSV table with age, sex and site for each photo, such as those of HAM10000 or ISIC.",
                    valueName: "file"
                )
            ).main,
            Entry(
                "strict-metadata",
                \.requiresKnownMetadata,
                "Fail photos whose metadata have a value that is not understood. Default: it counts as unknown."
            ).absentFromResults,
        ]

        /// Without metadata.
        package init() {}
    }
}
