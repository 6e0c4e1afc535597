public import NocturneCore
import NocturneSystem

/// A decoded picture, upright, on white, in 8-bit RGB.
public struct Photo: Sendable {
    public let image: RGBImage
    public let facts: PhotoFacts
}

/// The kinds of file that are read; told by their first bytes.
public enum PhotoFormat: String, Hashable, Sendable, CaseIterable {
    case jpeg
    case png
    case tiff
    case dicom
}

/// How the file holds its colours.
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

/// What is known of a picture: from its header, and from decoding it.
///
/// Holds nothing of what a camera writes about people, places or times.
public struct PhotoFacts: Hashable, Sendable {
    public let format: PhotoFormat
    /// In pixels, as the file has them.
    public let storedWidth: Int
    public let storedHeight: Int
    /// By the orientation tag of Exif or TIFF, 1 to 8; 1 where there is none that makes sense. It has been applied.
    public let orientation: Int
    /// In pixels, of the picture that ``PhotoReader/read(at:limits:flag:)`` gives.
    public let uprightWidth: Int
    public let uprightHeight: Int
    /// Bits of a stored sample, or of a palette index.
    public let bitDepth: Int
    public let colourModel: PhotoColourModel
    public let hasAlpha: Bool
    /// 1, or n where each pixel of the result stands for n × n stored ones.
    public let scaleDenominator: Int
    /// More than one in some TIFFs and DICOM objects, of which the first is read.
    public let pageCount: Int
    /// What decoding holds at its peak, the result counted.
    public let predictedBytes: Int
    public internal(set) var notes: [PhotoNote]

    /// What ``PhotoReader/readBands(at:limits:flag:part:_:)`` holds at its peak: without the picture, where it need not be
    /// turned or reduced.
    public var predictedBandBytes: Int {
        guard orientation == 1, scaleDenominator == 1 else { return predictedBytes }
        return predictedBytes - 3 * uprightWidth * uprightHeight + 3 * storedWidth * PhotoReader.bandRows
    }
}

/// Something about a picture that its result should say.
public enum PhotoNote: Hashable, Sendable, CustomStringConvertible {
    /// A side is shorter than 100 pixels.
    case small(width: Int, height: Int)
    case reduced(denominator: Int)
    case firstOfPages(Int)
    /// The end marker is missing; no pixel is.
    case noEndMarker
    /// Bytes were skipped that belong to nothing.
    case strayBytes
    /// Something in the file was wrong and could be overcome.
    case odd(String)

    public var description: String {
        switch self {
        case .small(let width, let height): "the picture is small: \(width)×\(height) pixels"
        case .reduced(let denominator): "the picture was read at 1/\(denominator) of its size"
        case .firstOfPages(let count): "the first of \(count) pages was read"
        case .noEndMarker: "the file lacks its end marker, but no pixels"
        case .strayBytes: "the file has bytes that belong to nothing; they were skipped"
        case .odd(let words): words
        }
    }
}

/// What a picture may ask for.
public struct PhotoLimits: Hashable, Sendable {
    /// Most pixels a file may store.
    public var storedPixels: Int
    /// Longest side of the result; larger pictures are reduced to fit.
    public var side: Int
    /// Most bytes held at a time, the result counted.
    public var bytes: Int

    public init(storedPixels: Int = 400_000_000, side: Int = 8000, bytes: Int = 1 << 30) {
        self.storedPixels = storedPixels
        self.side = side
        self.bytes = bytes
    }
}
