/// Why a DICOM object or series was not read.
public struct DICOMReadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of fault. New kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The system does not open or read the file.
        public static let notOpened = Code(rawValue: "notOpened")
        /// The file opens, but its structure is broken.
        public static let notReadable = Code(rawValue: "notReadable")
        /// Sequences lie in sequences beyond any real object.
        public static let nestedTooDeep = Code(rawValue: "nestedTooDeep")
        /// DCMTK's data dictionary is not installed.
        public static let missingDictionary = Code(rawValue: "missingDictionary")
        /// A directory of a medium (DICOMDIR): it names files, and is no image.
        public static let mediaDirectory = Code(rawValue: "mediaDirectory")
        /// An element a volume needs is missing or holds no usable value.
        public static let missingElement = Code(rawValue: "missingElement")
        /// Not a CT, MR or PET image.
        public static let notAnImageClass = Code(rawValue: "notAnImageClass")
        /// Several frames in one object.
        public static let multiFrame = Code(rawValue: "multiFrame")
        /// Several slices tiled into one picture.
        public static let mosaic = Code(rawValue: "mosaic")
        /// A scout for planning other scans.
        public static let localizer = Code(rawValue: "localizer")
        /// Colour, a palette, or more than one sample a pixel.
        public static let colour = Code(rawValue: "colour")
        /// Bits, or a transfer syntax, which are not decoded.
        public static let unsupportedPixels = Code(rawValue: "unsupportedPixels")
        /// One slice has no step to the next.
        public static let singleSlice = Code(rawValue: "singleSlice")
        /// Several slices at one position.
        public static let duplicateSlices = Code(rawValue: "duplicateSlices")
        /// A gap of whole steps between slices.
        public static let missingSlices = Code(rawValue: "missingSlices")
        /// Steps that differ, not by whole slices.
        public static let spacingNotUniform = Code(rawValue: "spacingNotUniform")
        /// The slices do not all look the same way.
        public static let orientationsDiffer = Code(rawValue: "orientationsDiffer")
        /// Direction cosines that are not two perpendicular unit vectors.
        public static let orientationInvalid = Code(rawValue: "orientationInvalid")
        /// Positions of slices that span no grid: too far apart for numbers, or all in one place.
        public static let positionsInvalid = Code(rawValue: "positionsInvalid")
        /// Rows or columns differ between slices.
        public static let matricesDiffer = Code(rawValue: "matricesDiffer")
        /// PixelSpacing differs between slices, or is not positive, or no size a pixel can have.
        public static let pixelSpacingsDiffer = Code(rawValue: "pixelSpacingsDiffer")
        /// The stack leans (gantry tilt), or single slices are shifted sideways.
        public static let sheared = Code(rawValue: "sheared")
        /// The object holds no pixel data.
        public static let missingPixelData = Code(rawValue: "missingPixelData")
        /// The pixel data has not the length that rows and columns need.
        public static let wrongPixelLength = Code(rawValue: "wrongPixelLength")
        /// The pixel data cannot be decompressed.
        public static let decoderFailed = Code(rawValue: "decoderFailed")
        /// The series is larger than a volume may be, or memory is short.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// A fault of the reader itself.
        public static let internalFault = Code(rawValue: "internalFault")
    }

    public let code: Code
    /// The file, or the first file of the series.
    public let path: String
    /// The fact in a few words, with figures.
    public let detail: String
    /// What DCMTK called it, if it spoke.
    public let condition: DCMTKCondition?

    public init(_ code: Code, path: String, detail: String, condition: DCMTKCondition? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.condition = condition
    }

    public var description: String {
        condition.map { "\(path): \(detail) (\($0))" } ?? "\(path): \(detail)"
    }
}

/// A result code of DCMTK: the module in the upper 16 bits, the code in the lower.
public struct DCMTKCondition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public var module: Int { Int(rawValue >> 16) }
    public var code: Int { Int(rawValue & 0xFFFF) }
    public var description: String { "DCMTK \(module):\(code)" }
}
