package import ArgumentParser
import NocturneCore
import NocturneFormats

extension PhotoInstances {
    /// In which format crops of instances are written, and the overlay and thumbnails with them.
    package enum CropFormat: Sendable, Hashable {
        /// On white, since JPEG has no transparency.
        /// - Parameter quality: 1 to 100, as libjpeg counts it.
        case jpeg(quality: Int)
        /// Transparent outside the instance, without loss.
        case png
        /// No crops.
        case none

        /// Beyond it, files grow and pictures do not get visibly better.
        package static let defaultQuality = 80
        /// JPEG with ``defaultQuality``.
        package static let standard = CropFormat.jpeg(quality: defaultQuality)

        /// Of pictures that are written whether there are crops or not.
        var pictures: CropFormat { self == .none ? .standard : self }

        var fileExtension: String { if case .jpeg = self { "jpg" } else { "png" } }
    }
}

extension PhotoInstances.CropFormat: ExpressibleByArgument {
    /// Nil for another text than ``defaultValueDescription`` gives.
    package init?(argument: String) {
        switch argument {
        case "jpeg": self = .standard
        case "png": self = .png
        case "none": self = .none
        default:
            guard argument.hasPrefix("jpeg:"), let quality = Int(argument.dropFirst(5)), (1...100).contains(quality)
            else { return nil }
            self = .jpeg(quality: quality)
        }
    }

    /// The text of the option: `jpeg`, `jpeg:90`, `png` or `none`.
    package var defaultValueDescription: String {
        switch self {
        case .jpeg(let quality): quality == Self.defaultQuality ? "jpeg" : "jpeg:\(quality)"
        case .png: "png"
        case .none: "none"
        }
    }

    /// For help and the refusal of other values.
    package static var allValueStrings: [String] { ["jpeg", "jpeg:QUALITY (1 to 100)", "png", "none"] }
    /// Without a quality, which no shell can guess.
    package static var defaultCompletionKind: CompletionKind { .list(["jpeg", "png", "none"]) }
}

extension PhotoInstances.CropFormat {
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
