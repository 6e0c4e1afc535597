import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// `result.json` of a photo's instances: a function of photo, model and options only. It contains no times and no
/// locations.
///
/// Pixel coordinates are those of the upright picture, from its upper left corner.
struct PhotoInstancesResult: ItemResult {
    /// The photo, as its header describes it.
    struct Source: Codable {
        let format: String
        let name: String
        /// In pixels, before the orientation is applied.
        let storedWidth: Int
        let storedHeight: Int
        /// As in Exif or TIFF, 1 to 8. Already applied.
        let orientation: Int
        let width: Int
        let height: Int
        let bitDepth: Int
        let colorModel: String
        let hasAlpha: Bool
        /// Each processed pixel stands for n × n stored ones.
        let scaleDenominator: Int
        /// Pages of the file, one of which is the photo.
        let pageCount: Int

        init(_ facts: PhotoFacts, name: String) {
            format = facts.format.rawValue
            self.name = name
            storedWidth = facts.storedWidth
            storedHeight = facts.storedHeight
            orientation = facts.orientation
            width = facts.uprightWidth
            height = facts.uprightHeight
            bitDepth = facts.bitDepth
            colorModel = facts.colourModel.rawValue
            hasAlpha = facts.hasAlpha
            scaleDenominator = facts.scaleDenominator
            pageCount = facts.pageCount
        }
    }

    /// As fractions of the picture's width and height.
    struct NormalizedBox: Codable {
        let x: Double
        let y: Double
        let width: Double
        let height: Double
    }

    /// A rectangle at any angle around an instance.
    struct RotatedBox: Codable {
        /// x, y.
        let center: [Double]
        let width: Double
        let height: Double
        /// Clockwise from upright.
        let degrees: Double
        /// Top left, top right, bottom right, bottom left in upright position.
        let corners: [[Double]]
    }

    /// As in pycocotools.
    struct Mask: Codable, Equatable {
        /// Height, width.
        let size: [Int]
        let counts: String

        init(_ mask: RunLengthMask) {
            size = [mask.height, mask.width]
            counts = mask.cocoString
        }
    }

    /// A line of text.
    struct TextLine: Codable {
        let text: String
        /// 0...1.
        let confidence: Double
        /// The corner where the line begins above, and on clockwise as it is read.
        let corners: [[Double]]
    }

    /// The text on an instance.
    struct Text: Codable {
        /// Of all lines; empty if none was found.
        let text: String
        /// 0...1, the mean over all characters; null without text.
        @Nullable var confidence: Double?
        /// How the upright crop was turned to read it.
        let turn: String
        /// In reading order.
        let lines: [TextLine]
    }

    /// An object in the photo.
    struct Instance: Codable {
        /// From 1, in reading order.
        let id: Int
        /// From 1, from the top.
        let row: Int
        let `class`: String
        /// 0...1; null for a whole picture without detected instances.
        @Nullable var confidence: Double?
        let box: PixelBox
        let boxNormalized: NormalizedBox
        let rotatedBox: RotatedBox
        /// Pixels of the mask.
        let areaPixels: Int
        let mask: Mask
        let state: ItemPart.State
        /// Why it failed; null otherwise.
        @Nullable var reason: String?
        /// Files in the item's folder, as the next two; null where none was written.
        @Nullable var crop: String?
        @Nullable var uprightCrop: String?
        @Nullable var thumbnail: String?
        /// Nil without a package that reads text.
        let reading: Text?
    }

    let schemaVersion: Int
    let task: String
    /// Of a demonstration package; nil for others.
    let disclaimer: String?
    let item: String
    let fingerprint: String
    let source: Source
    let model: ResultModel
    let engine: ResultEngine
    /// The package that read the text; nil without one.
    let textModel: ResultModel?
    /// What ran its networks.
    let textEngine: ResultEngine?
    let options: [String: String]
    let rowCount: Int
    /// In reading order.
    let instances: [Instance]
    let files: [ItemFile]
    var notes: [String]
    var noteCodes: [Note.Code]?

    /// Rows for the batch's statistics table: number and confidence of each class.
    var statistics: [Statistic] {
        let classes = Set(instances.map(\.class)).sorted()
        let all = [Statistic(label: "", measure: "instances", value: Double(instances.count), unit: "1")]
        return all
            + classes.flatMap { name -> [Statistic] in
                let own = instances.filter { $0.class == name }
                let sure = own.compactMap(\.confidence)
                let mean = sure.isEmpty ? nil : (sure.reduce(0, +) / Double(sure.count)).inMillionths
                return [
                    Statistic(label: name, measure: "instances", value: Double(own.count), unit: "1"),
                    Statistic(label: name, measure: "confidenceMean", value: mean, unit: "1"),
                ]
            }
    }

    /// How many there are of each class.
    var objects: [String: Int] { Dictionary(grouping: instances, by: \.class).mapValues(\.count) }

    /// The entries of a review queue.
    var parts: [ItemPart] {
        instances.map { instance in
            var part = ItemPart(
                id: instance.id,
                kind: instance.class,
                state: instance.state,
                thumbnail: instance.thumbnail,
                reason: instance.reason
            )
            part.texts = instance.fields
            return part
        }
    }
}

extension PhotoInstancesResult.Instance {
    /// The text on it as the journal keeps it; nil if none was read.
    var fields: [ObjectText.Field]? {
        guard let text = reading?.text, !text.isEmpty else { return nil }
        return [ObjectText.Field(name: ObjectText.recognized, value: text)]
    }
}

/// `coco.json`: the annotation format of COCO's tools.
struct COCODocument: Codable {
    static let schema = JSONSchema(own: PackageResources.coco_schema_json)

    struct Info: Codable { let description: String }

    struct Image: Codable {
        let id: Int
        let file_name: String
        let width: Int
        let height: Int
    }

    struct Annotation: Codable {
        let id: Int
        let image_id: Int
        let category_id: Int
        /// x, y, width, height.
        let bbox: [Int]
        let area: Int
        let segmentation: PhotoInstancesResult.Mask
        let iscrowd: Int
        let score: Double?

        /// Of all pixels of an object in the only picture.
        init(id: Int, category: Int, box: PixelBox, area: Int, mask: PhotoInstancesResult.Mask, score: Double?) {
            (self.id, self.area, self.score) = (id, area, score)
            (image_id, category_id, iscrowd) = (1, category, 0)
            bbox = box.numbers
            segmentation = mask
        }
    }

    struct Category: Codable {
        let id: Int
        let name: String
    }

    let info: Info
    let images: [Image]
    let annotations: [Annotation]
    let categories: [Category]

    /// Annotations of one picture by a model.
    init(
        _ package: ModelPackage,
        _ name: String,
        of image: RGBImage,
        _ annotations: [Annotation],
        _ categories: [Category]
    ) {
        let model = "\(package.name) \(package.version)"
        info = Info(description: Disclaimer.marked(model, isDemonstration: package.isDemonstration))
        images = [Image(id: 1, file_name: name, width: image.width, height: image.height)]
        self.annotations = annotations
        self.categories = categories
    }

    /// That the picture does not have the size which `result.json` states; nil if it has.
    func sizeFault(_ source: PhotoInstancesResult.Source) -> String? {
        let image = images[0]
        guard (image.width, image.height) != (source.width, source.height) else { return nil }
        return "states that the picture has \(image.width)×\(image.height) pixels, result.json states "
            + "\(source.width)×\(source.height)"
    }
}

extension PixelBox {
    /// Left, top, width and height.
    var numbers: [Int] { [x, y, width, height] }
}

extension Double {
    /// With six decimal places: finer than any measure is meaningful, coarser than the effect of a float sum's order.
    var inMillionths: Double { (self * 1e6).rounded() / 1e6 }
}
