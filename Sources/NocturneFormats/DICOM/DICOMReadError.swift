public import NocturneSystem

/// Why a DICOM object or series was not read.
public struct DICOMReadError: CodedError, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: String, Hashable, Sendable {
        /// The system cannot open or read the file.
        case notOpened
        /// The file can be opened, but its structure is invalid.
        case notReadable
        /// Sequences are nested more deeply than in any real object.
        case nestedTooDeep
        /// DCMTK's data dictionary is not installed.
        case missingDictionary
        /// A media directory (DICOMDIR): it lists files and is not an image.
        case mediaDirectory
        /// A media directory (DICOMDIR) lists files that are missing.
        case listedFilesMissing
        /// An element that a volume needs is missing or empty.
        case missingElement
        /// An element that enters voxels or their positions is there, but its value cannot be used.
        case unusableValue
        /// Slices of one series whose values do not mean the same: scaling, type or unit are stated by some only, or differ.
        case valuesDiffer
        /// Not a CT, MR or PET image.
        case notAnImageClass
        /// Several frames in one object.
        case multiFrame
        /// Several slices tiled into one image.
        case mosaic
        /// A localizer image for planning other scans.
        case localizer
        /// Colour, a palette, or more than one sample per pixel.
        case colour
        /// The bit depth or the transfer syntax is not supported by the decoders.
        case unsupportedPixels
        /// A single slice, for which the slice distance is undefined.
        case singleSlice
        /// Several slices at one position.
        case duplicateSlices
        /// A gap of whole steps between slices, or another sign of missing ones.
        case missingSlices
        /// Slice distances that differ by amounts other than whole slices.
        case spacingNotUniform
        /// The slices do not all have the same orientation.
        case orientationsDiffer
        /// Direction cosines that are not two perpendicular unit vectors.
        case orientationInvalid
        /// Positions of slices that define no grid: out of numeric range, or all identical.
        case positionsInvalid
        /// The number of rows or columns is 0, or larger than that of any image.
        case badDimensions
        /// The number of rows or columns differs between slices.
        case matricesDiffer
        /// PixelSpacing differs between slices, is not positive, or is not a plausible pixel size.
        case pixelSpacingsDiffer
        /// The stack is tilted (gantry tilt), or single slices are shifted sideways.
        case sheared
        /// The object has no pixel data.
        case missingPixelData
        /// The length of the pixel data does not match rows and columns.
        case wrongPixelLength
        /// The pixel data cannot be decompressed.
        case decoderFailed
        /// The series is larger than a volume may be, or there is not enough memory.
        case tooLarge
        /// An error of the reader itself.
        case internalFault
        /// An image computed from others, such as a projection or a map, that does not hold the measured values.
        case derived
        /// The file is an object of another type than the reader expects.
        case otherObject
        /// The object has more parts than the limits allow.
        case overLimit
        /// The voxels are not on the requested grid.
        case gridDiffers
    }

    /// By which programs decide; results name it as `dicom.` and this word.
    public let code: Code
    /// The file, or the first file of the series.
    public let path: String
    /// A short description of the error, with figures.
    public let detail: String
    /// The error code of DCMTK, if it reported one.
    public let condition: Condition?
    /// In the domain `dicom`.
    public var faultCode: FaultCode { FaultCode("dicom", code.rawValue) }

    /// - Parameters:
    ///   - code: the kind of error.
    ///   - path: the file, or the first file of the series.
    ///   - detail: the fact, with figures and without a patient's data.
    ///   - condition: of DCMTK; nil where another part has found the error.
    public init(_ code: Code, path: String, detail: String, condition: Condition? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.condition = condition
    }

    /// With the code of DCMTK, by which its sources can be searched.
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
        /// As DCMTK's `OFCondition` has it.
        public let rawValue: UInt32
        /// Any number: codes of later versions of DCMTK are shown as they are.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// DCMTK's number of the library that reports it.
        public var module: Int { Int(rawValue >> 16) }
        /// The number within the module.
        public var code: Int { Int(rawValue & 0xFFFF) }
        /// "DCMTK MODULE:CODE".
        public var description: String { "DCMTK \(module):\(code)" }
    }
}
