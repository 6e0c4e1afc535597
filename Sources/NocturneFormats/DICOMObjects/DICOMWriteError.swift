internal import CDCMTK
internal import CDICOMParser
public import NocturneSystem

/// Why a segmentation or a structure set was not written. The path is that of the source image that caused the error,
/// or else that of the file to be written.
public typealias DICOMWriteError = FileFormatError<DICOMWriteErrorCode>

/// The kind of a ``DICOMWriteError``. New kinds may be added.
public struct DICOMWriteErrorCode: FormatErrorCode, CustomStringConvertible {
    public static let domain = "dicomObject"
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A source image cannot be read again.
    public static let sourceNotReadable = DICOMWriteErrorCode(rawValue: "sourceNotReadable")
    /// A source image has no UID to refer to.
    public static let missingElement = DICOMWriteErrorCode(rawValue: "missingElement")
    /// The source images do not all belong to one study and one frame of reference.
    public static let sourcesDiffer = DICOMWriteErrorCode(rawValue: "sourcesDiffer")
    /// The voxels are not on the grid of the source images.
    public static let gridDiffers = DICOMWriteErrorCode(rawValue: "gridDiffers")
    /// The data exceeds the capacity of one object.
    public static let tooLarge = DICOMWriteErrorCode(rawValue: "tooLarge")
    /// The system cannot write the file.
    public static let notWritten = DICOMWriteErrorCode(rawValue: "notWritten")
    /// An error of the writer itself.
    public static let internalFault = DICOMWriteErrorCode(rawValue: "internalFault")
}

extension DICOMWriteError {
    /// Creates an error from the shim's code and message.
    init(_ code: Int32, _ error: cdicom_error, path: String) {
        let kind: DICOMWriteErrorCode =
            switch Int(code) {
            case Int(CDCMTK_MISSING_ELEMENT): .missingElement
            case Int(CDCMTK_SOURCES_DIFFER): .sourcesDiffer
            case Int(CDCMTK_GRID_DIFFERS): .gridDiffers
            case Int(CDCMTK_TOO_MANY), Int(CDICOM_NO_MEMORY.rawValue): .tooLarge
            case Int(CDCMTK_NOT_WRITTEN): .notWritten
            case Int(CDICOM_INTERNAL.rawValue): .internalFault
            default: .sourceNotReadable
            }
        let systemCode = kind == .notWritten && error.condition != 0 ? Int32(clamping: error.condition) : nil
        self.init(kind, path: path, shimText(error.text), systemCode: systemCode)
    }
}

/// The text in a C character array, suitable for one line of a report.
///
/// Bytes that are not UTF-8 are read as Latin-1; control characters are removed.
func shimText<Characters>(_ field: Characters) -> String {
    withUnsafeBytes(of: field) { bytes in
        let used = bytes.prefix { $0 != 0 }
        let decoded =
            String(validating: used, as: UTF8.self) ?? String(String.UnicodeScalarView(used.map { Unicode.Scalar($0) }))
        return String(
            String.UnicodeScalarView(
                decoded.unicodeScalars.filter { $0.value >= 32 && !(127..<160).contains($0.value) }
            )
        )
    }
}
