import ArgumentParser
import Foundation
package import NocturneBatch
import NocturneCore
package import NocturneInference
import NocturneJournal
import NocturneOutput
package import NocturneRecipeSupport
package import NocturneSystem

/// Instance segmentation of photos: the entry in the registry.
extension PhotoInstances: RecipeKind {
    package static let task = "photo-instances"
    /// Also packages that read the text on instances.
    package static let packageTasks = [task, PhotoTextModel.Settings.task]
    package static let purpose = "segment instances in photos"
    package static let settings: (any ModelSettings.Type)? = PackageSettings.self
    /// `Schemas/instances-result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.instances_result_schema_json)
    package static var result: any InspectableResult.Type { PhotoInstancesResult.self }

    /// One recipe for all packages, whose photos are discovered once. A package that reads text does so on the instances of all
    /// others.
    package static func make(_ models: [ChosenModel], options: Options) throws -> any Recipe {
        let (readers, finders) = (models.filter(\.readsText), models.filter { !$0.readsText })
        if let reader = readers.first?.package, finders.isEmpty || readers.count > 1 {
            let detail =
                finders.isEmpty
                ? "it reads text on objects: also name a model that finds objects (\(task))"
                : "only one model that reads text can be used; there are "
                    + readers.map(\.package.id).joined(separator: ", ")
            throw BatchError(.modelUnusable, path: reader.folder, detail: detail)
        }
        let texts = try load(readers, PhotoTextModel.init)
        let models = try load(finders, PhotoInstancesModel.init)
        return PhotoInstances(models: models, textModel: texts.first, options: options)
    }

    /// The scale and the classes.
    package static func details(of package: ModelPackage) throws -> [String] {
        switch try PackageSettings(package) {
        case .instances(let settings):
            ["Input: photos, the longer side scaled to \(settings.input.longSide) pixels"]
                + settings.classes.map { "Class: \($0.name), \($0.color)" }
        case .text(let settings):
            [
                "Input: objects that another model finds in photos, reduced to \(settings.detection.longSide) pixels",
                "Lines of text: \(settings.recognition.height) pixels high, at most "
                    + "\(settings.recognition.maximumWidth) wide",
            ]
        }
    }

    /// The networks with their usual inputs: of a photo of 4 : 3; for text, of the largest picture and a short line.
    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        guard !model.readsText else { return try PhotoTextModel(model).networkInputs }
        let model = try PhotoInstancesModel(model)
        return [NetworkInputs(file: model.settings.network, shape: model.usualInputShape)]
    }

    /// The overlay, and every instance with its box and thumbnail.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(PhotoInstancesResult.self, from: Data(result))
        let title = "The photo with the masks of the objects found"
        let titles: KeyValuePairs = ["overlay.jpg": title, "overlay.png": title]
        var parts = ReviewParts(.instances, files: result.files, titles: titles)
        parts.size = [result.source.width, result.source.height]
        parts.facts = result.objects.isEmpty ? "no object" : EventText.objects(result.objects)
        parts.objects = result.instances.map { instance in
            var object = ReviewParts.Object(
                name: "\(instance.id)",
                score: instance.confidence,
                box: instance.box.numbers,
                picture: instance.thumbnail,
                text: instance.class + (instance.reason.map { ", \(instance.state.rawValue): \($0)" } ?? "")
            )
            object.fields = instance.fields ?? []
            return object
        }
        return parts
    }

    /// Those on the spines of books.
    package static let objectTexts = ["title", "author"]
}

extension PhotoInstances {
    /// The section of a package's task: for instances, or for the text on them.
    package enum PackageSettings: ModelSettings {
        case instances(PhotoInstancesModel.Settings)
        case text(PhotoTextModel.Settings)

        /// By the task of the package.
        package init(_ package: ModelPackage) throws(ModelPackageError) {
            self =
                package.task == PhotoTextModel.Settings.task
                ? .text(try PhotoTextModel.Settings(package)) : .instances(try PhotoInstancesModel.Settings(package))
        }

        /// The ONNX files of the package.
        package var networks: [String] {
            switch self {
            case .instances(let settings): settings.networks
            case .text(let settings): settings.networks
            }
        }
    }
}

extension ChosenModel {
    fileprivate var readsText: Bool { package.task == PhotoTextModel.Settings.task }
}

extension PhotoInstances {
    /// The options of a batch that change the instances of photos.
    package struct Options: OptionSection, RecipeOptions {
        /// The heading of the section in help.
        package static let title = "Instance segmentation of photos"

        /// The size of the overlay.
        package var overlay = PhotoOverlayOptions()
        /// Whether a photo without detected instances becomes one item as a whole.
        package var usesSingleItemFallback = false
        /// The format of crops, and whether there are any.
        package var crops = CropFormat.standard
        /// Whether another tool is to give titles and authors before an instance is ready.
        package var awaitsTexts = false

        /// The options of instances, and those of the overlay.
        package static let sections = [RecipeSection<Self>(\.self), RecipeSection<Self>(\.overlay)]

        /// Each option with its help.
        package static let options: [Entry] = [
            Entry(
                "single-item-fallback",
                \.usesSingleItemFallback,
                "Treat a photo without detected instances, or whose segmentation fails, as a single item."
            ),
            Entry(
                "crops",
                \.crops,
                ArgumentHelp(
                    "Format of crops, overlay and thumbnails, or none for no crops.",
                    discussion: "Crops as JPEG are on white, as PNG on a transparent ground and without loss.",
                    valueName: "format"
                )
            ).alwaysRecorded,
            Entry(
                "enrich",
                \.awaitsTexts,
                "Leave instances in the state enriching until 'nocturne review titles' has taken over their titles and authors."
            ),
        ]

        /// Crops as JPEG, and no fallback.
        package init() {}
    }
}
