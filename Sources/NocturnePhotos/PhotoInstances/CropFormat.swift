import NocturneCore
import NocturneFormats
import NocturneRecipeSupport

/// In which format crops of instances are written, and the overlay and thumbnails with them.
public enum CropFormat: Sendable, Hashable {
    /// On white, since JPEG has no transparency.
    /// - Parameter quality: 1 to 100, as libjpeg counts it.
    case jpeg(quality: Int)
    /// Transparent outside the instance, without loss.
    case png
    /// No crops.
    case none

    /// Beyond it, files grow and pictures do not get visibly better.
    public static let defaultQuality = 80
    public static let standard = CropFormat.jpeg(quality: defaultQuality)

    /// The text of the option: `jpeg`, `jpeg:90`, `png` or `none`.
    public var text: String {
        switch self {
        case .jpeg(let quality): quality == Self.defaultQuality ? "jpeg" : "jpeg:\(quality)"
        case .png: "png"
        case .none: "none"
        }
    }

    public init?(_ text: String) {
        switch text {
        case "jpeg": self = .standard
        case "png": self = .png
        case "none": self = .none
        default:
            guard text.hasPrefix("jpeg:"), let quality = Int(text.dropFirst(5)), (1...100).contains(quality) else {
                return nil
            }
            self = .jpeg(quality: quality)
        }
    }

    /// Of pictures that are written whether there are crops or not.
    var pictures: CropFormat { self == .none ? .standard : self }

    var fileExtension: String { if case .jpeg = self { "jpg" } else { "png" } }
}

extension CropFormat: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let format = CropFormat(text) else {
            throw OptionValueError(option: "crops", value: text, allowed: "jpeg, jpeg:QUALITY, png, none")
        }
        self = format
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension CropFormat {
    /// - Throws: ``PictureError``.
    func write(_ image: RGBImage, to path: String) throws(PictureError) {
        if case .jpeg(let quality) = self {
            try JPEGWriter.write(image, quality: quality, to: path)
        } else {
            try PNGWriter.write(image, to: path)
        }
    }

    /// - Throws: ``PictureError``.
    func write(_ crop: CropDrawing.Crop, to path: String) throws(PictureError) {
        if case .jpeg = self {
            try write(CropDrawing.onWhite(crop), to: path)
        } else {
            try PNGWriter.write(crop.image, alpha: crop.alpha, to: path)
        }
    }
}
