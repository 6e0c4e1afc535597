public import NocturneCore
public import NocturneSystem

/// A decoded picture, upright, on a white background, in 8-bit RGB.
public struct Photo: Sendable {
    /// The pixels.
    public let image: RGBImage
    /// What the header and decoding have shown.
    public let facts: PhotoFacts
}

extension PhotoFacts {
    /// The supported file types, recognised by their first bytes.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        case jpeg
        case png
        case tiff
        case heic
        case webp
        case dicom
    }

    /// How the file stores its colours.
    public enum ColourModel: String, Hashable, Sendable, CaseIterable {
        case grey
        case greyAlpha
        case rgb
        case rgba
        case palette
        case yCbCr
        case cmyk
        case ycck
    }
}

/// Information about a picture, from its header and from decoding it.
///
/// Contains nothing of what a camera stores about people, places or times.
public struct PhotoFacts: Hashable, Sendable {
    /// The file type.
    public let format: Format
    /// In pixels, as stored in the file.
    public let storedWidth: Int
    /// In pixels, as stored in the file.
    public let storedHeight: Int
    /// From the orientation tag of Exif or TIFF, 1 to 8; 1 if there is no valid value, and for HEIC, which states it otherwise. It has
    /// been applied.
    public let orientation: Int
    /// In pixels, of the picture that ``PhotoReader/read(at:limits:flag:)`` returns.
    public let uprightWidth: Int
    /// In pixels, after the orientation was applied.
    public let uprightHeight: Int
    /// Bits of a stored sample, or of a palette index.
    public let bitDepth: Int
    /// How the file stores its colours.
    public let colourModel: ColourModel
    /// Whether the file has transparency, which is placed on white.
    public let hasAlpha: Bool
    /// 1, or n where each pixel of the result stands for n × n stored ones.
    public let scaleDenominator: Int
    /// More than one in some TIFFs, DICOM objects, HEIC files and animations; only the first is read, of HEIC the primary one.
    /// Further pictures behind a JPEG (MPO) are not counted: most are gain maps or small copies of the same picture.
    public let pageCount: Int
    /// The peak memory in bytes while decoding, including the result.
    public let predictedBytes: Int
    /// Remarks for the result, in the order of decoding.
    public internal(set) var notes: [Note]

    /// The peak memory in bytes of ``PhotoReader/readBands(at:limits:flag:part:_:)``: without the whole picture, unless
    /// it must be rotated or reduced.
    public var predictedBandBytes: Int {
        guard orientation == 1, scaleDenominator == 1 else { return predictedBytes }
        return predictedBytes - 3 * uprightWidth * uprightHeight + 3 * storedWidth * PhotoReader.bandRows
    }
}

/// Remarks about a picture for its result.
extension Note {
    /// A side is shorter than 100 pixels.
    public static func small(width: Int, height: Int) -> Note {
        Note("photo.small", "the picture is small: \(width)×\(height) pixels")
    }

    /// The picture was larger than the limit; `denominator` stored pixels along each side became one.
    public static func reduced(denominator: Int) -> Note {
        Note("photo.reduced", "the picture was read at 1/\(denominator) of its size")
    }

    /// The others were not read: a photo is one picture.
    public static func firstOfPages(_ count: Int) -> Note {
        Note("photo.firstOfPages", "the first of \(count) pages was read")
    }

    /// Of a HEIC file, which names one of its pictures as the primary one.
    public static func primaryOfPictures(_ count: Int) -> Note {
        Note("photo.primaryOfPictures", "the primary one of \(count) pictures was read")
    }

    /// The file has an alpha channel or transparent colours.
    public static let transparent = Note(
        "photo.transparent",
        "the file has an alpha channel: transparent pixels were placed on white, which may change the result"
    )
    /// The end marker is missing; all pixels are present.
    public static let noEndMarker = Note("photo.noEndMarker", "the end marker is missing, but all pixels are present")
    /// Bytes were skipped that belong to no part of the format.
    public static let strayBytes = Note("photo.strayBytes", "unexpected bytes in the file were skipped")

    /// Grey values of a DICOM object that need a window and have none.
    public static let stretched = Note(
        "photo.stretched",
        "the DICOM file states no window for its grey values: the smallest one is black, the largest one white"
    )

    /// Something in the file was invalid but could be handled.
    static func odd(_ text: String) -> Note { Note("photo.repaired", "\(text)") }
}

/// The limits for a picture.
public struct PhotoLimits: Hashable, Sendable {
    /// Maximum number of pixels stored in a file.
    public var storedPixels: Int
    /// Longest side of the result; larger pictures are reduced to fit.
    public var side: Int
    /// Maximum memory in bytes, including the result.
    public var bytes: Int

    /// - Parameters:
    ///   - storedPixels: 400 million by default, above every camera.
    ///   - side: 8000 pixels by default.
    ///   - bytes: 1 GiB by default.
    public init(storedPixels: Int = 400_000_000, side: Int = 8000, bytes: Int = 1 << 30) {
        self.storedPixels = storedPixels
        self.side = side
        self.bytes = bytes
    }
}

/// Why a picture could not be read; the detail is the decoder's message where it gave one.
public typealias PhotoError = FileFormatError<PhotoErrorCode>

/// The kind of a ``PhotoError``, with a description.
public enum PhotoErrorCode: String, FormatErrorCode, CaseIterable {
    /// Of all formats of photos together: a code does not name one.
    public static let domain = "photo"

    /// The system could not open or read the file.
    case cannotOpen
    /// A read error occurred in the middle of the file.
    case cannotRead
    /// The content is neither JPEG nor PNG, TIFF, HEIC, WebP or DICOM, whatever the file name.
    case notAPicture
    /// Refused before anything was allocated: more pixels or bytes than the limits allow.
    case tooLarge
    /// Damaged or truncated.
    case corrupt
    /// A type of picture that is not supported.
    case unsupported
    /// There is not enough memory to decode the picture.
    case outOfMemory
}
