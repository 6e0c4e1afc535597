internal import CDCMTK
internal import CDICOMParser
import NocturneCore
public import NocturneSystem

/// Why a segmentation or a structure set was not written.
public struct DICOMWriteError: SystemCallError, Sendable, Hashable, CustomStringConvertible {
    /// The kind of fault. New kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// A source image cannot be read again.
        public static let sourceNotReadable = Code(rawValue: "sourceNotReadable")
        /// A source image has no UID that something could refer to.
        public static let missingElement = Code(rawValue: "missingElement")
        /// The source images are not of one study and one frame of reference.
        public static let sourcesDiffer = Code(rawValue: "sourcesDiffer")
        /// The voxels do not lie on the source images.
        public static let gridDiffers = Code(rawValue: "gridDiffers")
        /// More than one object may hold.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The system does not write the file.
        public static let notWritten = Code(rawValue: "notWritten")
        /// The work was stopped from outside.
        public static let cancelled = Code(rawValue: "cancelled")
        /// A fault of the writer itself.
        public static let internalFault = Code(rawValue: "internalFault")
    }

    public let code: Code
    /// The source image at fault, otherwise the file that was to be written.
    public let path: String
    /// The fact in a few words. Never a patient's data.
    public let detail: String
    /// The system's code where it did not write, e.g. of a full disk.
    public let systemCode: Int32?

    public init(_ code: Code, path: String, detail: String, systemCode: Int32? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.systemCode = systemCode
    }

    public var description: String { "\(path): \(detail)" }

    /// The shim's code and words.
    init(_ code: Int32, _ error: cdicom_error, path: String) {
        let kind: Code =
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
        self.init(kind, path: path, detail: shimText(error.text), systemCode: systemCode)
    }
}

/// The text in a C character array, fit for a line of a report.
///
/// Bytes that are not UTF-8 are taken for Latin-1; control characters are dropped.
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
