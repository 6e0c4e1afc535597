import NocturneCore
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// `result.json` of a photo's label map: a function of photo, model and options only. It contains no times and no locations.
///
/// Pixel coordinates are those of the upright picture, from its upper left corner.
struct PhotoSegmentationResult: ItemResult {
    struct LabelMap: Codable {
        let file: String
        /// Of a sample, 8 or 16.
        let bitDepth: Int
    }

    struct Cleaning: Codable {
        let componentsFound: Int
        let componentsRemoved: Int
        let pixelsRemoved: Int
        let pixelsFilled: Int

        init(_ cleaning: LabelCleaning) {
            componentsFound = cleaning.componentsFound
            componentsRemoved = cleaning.componentsRemoved
            pixelsRemoved = cleaning.voxelsRemoved
            pixelsFilled = cleaning.voxelsFilled
        }
    }

    struct Label: Codable {
        let value: Int
        let name: String
        let color: String
        @Nullable var code: CodedConcept?
        let status: String
        let pixels: Int
        /// Of all pixels of the photo.
        let share: Double
        let components: Int
        /// Of the label's pixels; null for a label that is absent, as the following.
        @Nullable var largestComponentShare: Double?
        @Nullable var box: PixelBox?
        /// Column and row; the centre of the upper left pixel is (0.5, 0.5).
        @Nullable var centroid: [Double]?
        /// Red, green and blue, 0 to 255.
        @Nullable var meanColor: [Double]?
        @Nullable var confidence: LabelConfidence?
        /// Null without rules for the label.
        @Nullable var cleaning: Cleaning?
    }

    let schemaVersion: Int
    let task: String
    let disclaimer: String
    let item: String
    let fingerprint: String
    let source: PhotoInstancesResult.Source
    let model: ResultModel
    let engine: ResultEngine
    let options: [String: String]
    let labelMap: LabelMap
    /// All labels of the model, in its order.
    let labels: [Label]
    let files: [ItemFile]
    var notes: [String]
    var noteCodes: [Note.Code]?

    /// Rows for the batch's statistics table.
    var statistics: [Statistic] { labels.flatMap(\.statistics) }
}

extension PhotoSegmentationResult.Label {
    fileprivate var statistics: [Statistic] {
        func row(_ measure: String, _ value: Double?, _ unit: String = "1") -> Statistic {
            Statistic(label: name, measure: measure, value: value, unit: unit)
        }
        let isPresent = pixels > 0
        return [
            row("pixels", Double(pixels)),
            row("share", share),
            row("components", Double(components)),
            row("largestComponentShare", largestComponentShare),
            row("touchesBorder", isPresent ? (status == LabelMeasurement.Status.touchesBorder.rawValue ? 1 : 0) : nil),
            row("centroidX", centroid?[0], "px"),
            row("centroidY", centroid?[1], "px"),
            row("meanRed", meanColor?[0]),
            row("meanGreen", meanColor?[1]),
            row("meanBlue", meanColor?[2]),
            row("meanProbability", confidence?.meanProbability),
            row("uncertainBoundaryShare", confidence?.uncertainBoundaryShare),
        ] + [confidence?.passAgreement].compactMap(\.self).map { row("passAgreement", $0) }
    }
}
