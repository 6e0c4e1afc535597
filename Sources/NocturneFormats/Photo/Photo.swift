public import NocturneCore
import NocturneSystem

/// A decoded picture, upright, on a white background, in 8-bit RGB.
public struct Photo: Sendable {
    public let image: RGBImage
    public let facts: PhotoFacts
}

/// The supported file types, recognised by their first bytes.
public enum PhotoFormat: String, Hashable, Sendable, CaseIterable {
    case jpeg
    case png
    case tiff
    case dicom
}

/// How the file stores its colours.
public enum PhotoColourModel: String, Hashable, Sendable, CaseIterable {
    case grey
    case greyAlpha
    case rgb
    case rgba
    case palette
    case yCbCr
    case cmyk
    case ycck
}

/// Information about a picture, from its header and from decoding it.
///
/// Contains nothing of what a camera stores about people, places or times.
public struct PhotoFacts: Hashable, Sendable {
    public let format: PhotoFormat
    /// In pixels, as stored in the file.
    public let storedWidth: Int
    public let storedHeight: Int
    /// From the orientation tag of Exif or TIFF, 1 to 8; 1 if there is no valid value. It has been applied.
    public let orientation: Int
    /// In pixels, of the picture that ``PhotoReader/read(at:limits:flag:)`` returns.
    public let uprightWidth: Int
    public let uprightHeight: Int
    /// Bits of a stored sample, or of a palette index.
    public let bitDepth: Int
    public let colourModel: PhotoColourModel
    public let hasAlpha: Bool
    /// 1, or n where each pixel of the result stands for n × n stored ones.
    public let scaleDenominator: Int
    /// More than one in some TIFFs and DICOM objects; only the first is read.
    public let pageCount: Int
    /// The peak memory in bytes while decoding, including the result.
    public let predictedBytes: Int
    public internal(set) var notes: [PhotoNote]

    /// The peak memory in bytes of ``PhotoReader/readBands(at:limits:flag:part:_:)``: without the whole picture, unless
    /// it must be rotated or reduced.
    public var predictedBandBytes: Int {
        guard orientation == 1, scaleDenominator == 1 else { return predictedBytes }
        return predictedBytes - 3 * uprightWidth * uprightHeight + 3 * storedWidth * PhotoReader.bandRows
    }
}

/// A remark about a picture for its result.
public enum PhotoNote: Hashable, Sendable, CustomStringConvertible {
    /// A side is shorter than 100 pixels.
    case small(width: Int, height: Int)
    case reduced(denominator: Int)
    case firstOfPages(Int)
    /// The end marker is missing; all pixels are present.
    case noEndMarker
    /// Bytes were skipped that belong to no part of the format.
    case strayBytes
    /// Something in the file was invalid but could be handled.
    case odd(String)

    public var description: String {
        switch self {
        case .small(let width, let height): "the picture is small: \(width)×\(height) pixels"
        case .reduced(let denominator): "the picture was read at 1/\(denominator) of its size"
        case .firstOfPages(let count): "the first of \(count) pages was read"
        case .noEndMarker: "the end marker is missing, but all pixels are present"
        case .strayBytes: "unexpected bytes in the file were skipped"
        case .odd(let text): text
        }
    }
}

/// The limits for a picture.
public struct PhotoLimits: Hashable, Sendable {
    /// Maximum number of pixels stored in a file.
    public var storedPixels: Int
    /// Longest side of the result; larger pictures are reduced to fit.
    public var side: Int
    /// Maximum memory in bytes, including the result.
    public var bytes: Int

    public init(storedPixels: Int = 400_000_000, side: Int = 8000, bytes: Int = 1 << 30) {
        self.storedPixels = storedPixels
        self.side = side
        self.bytes = bytes
    }
}
