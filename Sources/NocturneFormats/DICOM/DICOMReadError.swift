public import NocturneSystem

/// Why a DICOM object or series was not read.
public struct DICOMReadError: CodedError, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error. New kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The system cannot open or read the file.
        public static let notOpened = Code(rawValue: "notOpened")
        /// The file can be opened, but its structure is invalid.
        public static let notReadable = Code(rawValue: "notReadable")
        /// Sequences are nested more deeply than in any real object.
        public static let nestedTooDeep = Code(rawValue: "nestedTooDeep")
        /// DCMTK's data dictionary is not installed.
        public static let missingDictionary = Code(rawValue: "missingDictionary")
        /// A media directory (DICOMDIR): it lists files and is not an image.
        public static let mediaDirectory = Code(rawValue: "mediaDirectory")
        /// An element that a volume needs is missing or empty.
        public static let missingElement = Code(rawValue: "missingElement")
        /// An element that enters voxels or their positions is there, but its value cannot be used.
        public static let unusableValue = Code(rawValue: "unusableValue")
        /// Slices of one series whose values do not mean the same: scaling, type or unit are stated by some only, or differ.
        public static let valuesDiffer = Code(rawValue: "valuesDiffer")
        /// Not a CT, MR or PET image.
        public static let notAnImageClass = Code(rawValue: "notAnImageClass")
        /// Several frames in one object.
        public static let multiFrame = Code(rawValue: "multiFrame")
        /// Several slices tiled into one image.
        public static let mosaic = Code(rawValue: "mosaic")
        /// A localizer image for planning other scans.
        public static let localizer = Code(rawValue: "localizer")
        /// Colour, a palette, or more than one sample per pixel.
        public static let colour = Code(rawValue: "colour")
        /// The bit depth or the transfer syntax is not supported by the decoders.
        public static let unsupportedPixels = Code(rawValue: "unsupportedPixels")
        /// A single slice, for which the slice distance is undefined.
        public static let singleSlice = Code(rawValue: "singleSlice")
        /// Several slices at one position.
        public static let duplicateSlices = Code(rawValue: "duplicateSlices")
        /// A gap of whole steps between slices.
        public static let missingSlices = Code(rawValue: "missingSlices")
        /// Slice distances that differ by amounts other than whole slices.
        public static let spacingNotUniform = Code(rawValue: "spacingNotUniform")
        /// The slices do not all have the same orientation.
        public static let orientationsDiffer = Code(rawValue: "orientationsDiffer")
        /// Direction cosines that are not two perpendicular unit vectors.
        public static let orientationInvalid = Code(rawValue: "orientationInvalid")
        /// Positions of slices that define no grid: out of numeric range, or all identical.
        public static let positionsInvalid = Code(rawValue: "positionsInvalid")
        /// The number of rows or columns differs between slices.
        public static let matricesDiffer = Code(rawValue: "matricesDiffer")
        /// PixelSpacing differs between slices, is not positive, or is not a plausible pixel size.
        public static let pixelSpacingsDiffer = Code(rawValue: "pixelSpacingsDiffer")
        /// The stack is tilted (gantry tilt), or single slices are shifted sideways.
        public static let sheared = Code(rawValue: "sheared")
        /// The object has no pixel data.
        public static let missingPixelData = Code(rawValue: "missingPixelData")
        /// The length of the pixel data does not match rows and columns.
        public static let wrongPixelLength = Code(rawValue: "wrongPixelLength")
        /// The pixel data cannot be decompressed.
        public static let decoderFailed = Code(rawValue: "decoderFailed")
        /// The series is larger than a volume may be, or there is not enough memory.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// An error of the reader itself.
        public static let internalFault = Code(rawValue: "internalFault")
    }

    public let code: Code
    /// The file, or the first file of the series.
    public let path: String
    /// A short description of the error, with figures.
    public let detail: String
    /// The error code of DCMTK, if it reported one.
    public let condition: Condition?
    public var faultCode: FaultCode { FaultCode("dicom", code.rawValue) }

    public init(_ code: Code, path: String, detail: String, condition: Condition? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.condition = condition
    }

    public var description: String {
        condition.map { "\(path): \(detail) (\($0))" } ?? "\(path): \(detail)"
    }
}

extension DICOMObject {
    /// An error about the file of this object.
    func error(_ code: DICOMReadError.Code, _ detail: String) -> DICOMReadError {
        DICOMReadError(code, path: path, detail: detail)
    }
}

extension DICOMSlice {
    /// An error about the file of this slice.
    func error(_ code: DICOMReadError.Code, _ detail: String) -> DICOMReadError { object.error(code, detail) }
}

extension DICOMReadError {
    /// A result code of DCMTK: the module in the upper 16 bits, the code in the lower.
    public struct Condition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public var module: Int { Int(rawValue >> 16) }
        public var code: Int { Int(rawValue & 0xFFFF) }
        public var description: String { "DCMTK \(module):\(code)" }
    }
}
