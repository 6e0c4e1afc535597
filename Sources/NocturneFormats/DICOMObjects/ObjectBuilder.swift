internal import CDCMTK
internal import CDICOMParser
internal import NocturneCore
public import NocturneSystem

/// Why a segmentation or a structure set was not written. The path is that of the source image that caused the error,
/// or else that of the file to be written.
public typealias DICOMWriteError = FileFormatError<DICOMWriteErrorCode>

/// The kind of a ``DICOMWriteError``.
public enum DICOMWriteErrorCode: String, FormatErrorCode, CaseIterable {
    /// The errors of objects that are written; those of objects that are read are `dicom`.
    public static let domain = "dicomObject"

    /// A source image cannot be read again.
    case sourceNotReadable
    /// A source image has no UID to refer to.
    case missingElement
    /// The source images do not all belong to one study and one frame of reference.
    case sourcesDiffer
    /// The voxels are not on the grid of the source images.
    case gridDiffers
    /// The data exceeds the capacity of one object.
    case tooLarge
    /// The system cannot write the file.
    case notWritten
    /// An error of the writer itself.
    case internalFault
}

extension DICOMWriteError {
    /// Creates an error from the shim's code and message.
    init(_ code: cdicom_code, _ error: cdicom_error, path: String) {
        let kind: DICOMWriteErrorCode =
            switch code {
            case CDCMTK_MISSING_ELEMENT: .missingElement
            case CDCMTK_SOURCES_DIFFER: .sourcesDiffer
            case CDCMTK_GRID_DIFFERS: .gridDiffers
            case CDCMTK_TOO_MANY, CDICOM_NO_MEMORY: .tooLarge
            case CDCMTK_NOT_WRITTEN: .notWritten
            case CDICOM_INTERNAL: .internalFault
            default: .sourceNotReadable
            }
        let systemCode = kind == .notWritten && error.condition != 0 ? Int32(clamping: error.condition) : nil
        self.init(kind, path: path, text(error.text), systemCode: systemCode)
    }
}

/// An object that the shim is building. Freed at the end of its lifetime.
struct ObjectBuilder: ~Copyable {
    enum Kind: String { case segmentation, structureSet }

    let object: OpaquePointer
    let path: String

    /// - Parameter path: the file that will be written, for errors.
    init(
        _ kind: Kind,
        geometry: VolumeGeometry,
        origin: DICOMObjectOrigin,
        path: String
    ) throws(DICOMWriteError) {
        let (maker, fingerprint) = (origin.maker, origin.fingerprint)
        let shape = geometry.shape
        guard shape.x <= 65535, shape.y <= 65535 else {
            throw DICOMWriteError(.tooLarge, path: path, "\(shape) voxels exceed the limit of an object")
        }
        let lps = geometry.affine.flippedBetweenRASAndLPS
        let spacing = geometry.spacing
        guard geometry.affine.isFinite, spacing.min() > 0 else {
            throw DICOMWriteError(.internalFault, path: path, "the grid is flat or not finite")
        }
        let row = lps.columnI / spacing.x
        let column = lps.columnJ / spacing.y
        var plan = cdcmtk_object_plan()
        plan.rows = Int32(shape.y)
        plan.columns = Int32(shape.x)
        plan.orientation = (row.x, row.y, row.z, column.x, column.y, column.z)
        plan.pixel_spacing = (spacing.y, spacing.x)
        plan.slice_step = spacing.z
        plan.maker_number = Int32(maker.number)
        // The tolerance that ``SliceStack`` allows: a tenth of a step or of a pixel, or a few hundredths of a
        // millimetre.
        plan.tolerance = max(0.15 * spacing.max(), 0.1)
        let texts = [
            fingerprint.uid(of: "\(kind.rawValue) series"),
            fingerprint.uid(of: "\(kind.rawValue) instance"),
            fingerprint.uid(of: "dimensions"),
            fingerprint.uid(of: "frame of reference"),
            "Nocturne",
            dicomText(maker.software, limit: 64),
            dicomText(maker.algorithm, limit: 64),
            dicomText(maker.description, limit: 64),
            maker.isEdited ? "SEMIAUTOMATIC" : "AUTOMATIC",
        ]
        var made: OpaquePointer?
        var error = cdicom_error()
        let code = withCStrings(texts) { pointers in
            plan.series_uid = pointers[0]
            plan.instance_uid = pointers[1]
            plan.dimension_uid = pointers[2]
            plan.frame_of_reference_uid = pointers[3]
            plan.model_name = pointers[4]
            plan.software = pointers[5]
            plan.algorithm = pointers[6]
            plan.description = pointers[7]
            plan.algorithm_type = pointers[8]
            return kind == .segmentation
                ? cdcmtk_segmentation_begin(&plan, &made, &error) : cdcmtk_structure_begin(&plan, &made, &error)
        }
        guard code == CDICOM_OK, let made else { throw DICOMWriteError(code, error, path: path) }
        object = made
        self.path = path
    }

    deinit { cdcmtk_object_free(object) }

    /// Reads the headers of the source images, in the order of k.
    func add(
        _ sources: [DICOMSlice.Name],
        of geometry: VolumeGeometry,
        flag: CancellationFlag
    ) throws {
        guard sources.count == geometry.shape.z else {
            throw DICOMWriteError(
                .gridDiffers,
                path: path,
                "\(geometry.shape.z) slices of voxels, but \(sources.count) source images"
            )
        }
        let lps = geometry.affine.flippedBetweenRASAndLPS
        for (k, source) in sources.enumerated() {
            try flag.check()
            guard let frame = UInt32(exactly: source.frame) else {
                throw DICOMWriteError(.internalFault, path: source.path, "no frame \(source.frame)")
            }
            // The shim compares it with the position in the file: slices of another order would be written under wrong images.
            let place = lps(SIMD3(0, 0, Double(k)))
            let position = [place.x, place.y, place.z]
            var error = cdicom_error()
            let code = cdcmtk_object_add_source(object, source.path, frame, position, &error)
            guard code == CDICOM_OK else { throw DICOMWriteError(code, error, path: source.path) }
        }
    }

    func save() throws(DICOMWriteError) {
        var error = cdicom_error()
        let code = cdcmtk_object_save(object, path, &error)
        guard code == CDICOM_OK else { throw DICOMWriteError(code, error, path: path) }
    }
}

/// Calls `body` with C strings that stay valid until it returns.
func withCStrings<Result>(_ texts: [String], _ body: ([UnsafePointer<CChar>]) -> Result) -> Result {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for text in texts {
        starts.append(bytes.count)
        bytes += text.utf8CString
    }
    return bytes.withUnsafeBufferPointer { buffer in
        let base = buffer.baseAddress!
        return body(starts.map { base + $0 })
    }
}
