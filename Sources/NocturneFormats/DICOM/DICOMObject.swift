public import NocturneSystem

/// The header values of one DICOM file that determine how it becomes part of a volume.
///
/// Contains no pixels. Name, identifier and birth date of the patient are only compared, with paths and those of other objects: see
/// ``PatientIdentity``.
///
/// An optional is nil when the element is missing, empty, or holds no usable number; ``SeriesTriage`` refuses objects with unusable
/// numbers that enter voxels or positions.
public struct DICOMObject: Sendable, Hashable {
    /// By which the file was read.
    public var path: String
    /// The size of the file in bytes.
    public var fileSize: Int

    /// SOPClassUID (0008,0016): what kind of object it is. Empty when missing.
    public var sopClassUID: String
    /// The class by name, e.g. "CTImageStorage"; empty when the data dictionary does not know it.
    public var sopClassName: String
    /// Empty when missing, as are the other UIDs.
    public var sopInstanceUID: String
    /// StudyInstanceUID (0020,000D).
    public var studyInstanceUID: String
    /// SeriesInstanceUID (0020,000E).
    public var seriesInstanceUID: String
    /// FrameOfReferenceUID (0020,0052): objects with equal ones have positions in one coordinate system.
    public var frameOfReferenceUID: String
    /// As stated in the file, or as detected by the parser if not stated.
    public var transferSyntaxUID: String
    /// Empty when DCMTK does not know the syntax.
    public var transferSyntaxName: String

    /// Whether the data set is implicit where the transfer syntax states explicit, or the reverse; it was then read as it
    /// is.
    public var isMisstated: Bool

    /// What its frames may state for themselves.
    public var plane: DICOMPlane

    /// "CT", "MR", "PT", …; empty when missing.
    public var modality: String
    /// SeriesDescription (0008,103E); may contain names.
    public var seriesDescription: String?
    /// SeriesNumber (0020,0011).
    public var seriesNumber: Int?

    /// Where it is one of several objects that are one image.
    var concatenation: Concatenation?

    /// SamplesPerPixel (0028,0002): 1 for grey images.
    public var samplesPerPixel: Int?
    /// NumberOfFrames (0028,0008); nil for an object of a class without frames, which has one.
    public var numberOfFrames: Int?
    /// "MONOCHROME2", …; empty when missing.
    public var photometricInterpretation: String
    /// BitsAllocated (0028,0100): the size of a cell.
    public var bitsAllocated: Int?
    /// BitsStored (0028,0101): how many bits of the cell hold the value.
    public var bitsStored: Int?
    /// HighBit (0028,0102): the place of the highest of them, from 0.
    public var highBit: Int?
    /// 0 unsigned, 1 two's complement.
    public var pixelRepresentation: Int?

    /// Degrees, as the scanner states it.
    public var gantryTilt: Double?

    /// Whether stored values are converted to output values by a table instead of a slope.
    public var hasModalityTable: Bool
    /// The stored value of pixels without image content, or one end of the range of such values.
    public var paddingValue: Int?
    /// The other end of that range.
    public var paddingRangeLimit: Int?
    /// The unit of PET values: "BQML", "CNTS", …
    public var units: String?
    /// NumberOfSlices (0054,0081) of a PET series: the most that it has at one time.
    public var statedSlices: Int?

    /// Manufacturer (0008,0070), by which private elements are understood.
    public var manufacturer: String?
    /// Distance in mm from slice to slice, from SpacingBetweenSlices; only used for a mosaic.
    public var spacingBetweenSlices: Double?
    /// The type of the pixels; nil when the header was read in another way, or there are no pixels.
    public var pixelKind: PixelKind?
    /// The number of used tiles of a Siemens mosaic or United Imaging grid, as the scanner states it.
    public var mosaicTiles: Int?
    /// The direction in which the slices of a mosaic follow each other, LPS+.
    public var mosaicNormal: SIMD3<Double>?
    /// Nil where the header has none.
    @SharedValue public internal(set) var patient: PatientIdentity?
    /// To compare objects.
    var patientDigests: PatientIdentity.Digests
    /// "YYYYMMDD"; empty when missing. Only compared, as the next two.
    var studyDate: String
    /// "HHMMSS".
    var studyTime: String
    var seriesDate: String
    /// On the numbers of the data set, and of the functional groups of all frames.
    var remarks: [ValueRemark]
    /// Items of PerFrameFunctionalGroupsSequence, or of the positions of a United Imaging grid.
    public var frameGroupCount: Int

    /// The items themselves; removed when the object is part of a slice.
    var frameGroups: [DICOMPlane]

    /// By the element that has the pixels: PixelData, FloatPixelData or DoubleFloatPixelData (PS3.3 C.7.6.24 and C.7.6.25).
    public enum PixelKind: Sendable, Hashable {
        case integer, float, double
    }
}

extension DICOMObject {
    /// Lets objects of one patient share what is known of him.
    mutating func sharePatient(_ known: inout [PatientIdentity: SharedValue<PatientIdentity?>]) {
        guard let patient else { return }
        if let shared = known[patient] { _patient = shared } else { known[patient] = _patient }
    }

    /// Remarks about the header for the report that do not prevent reading.
    public var notes: [Note] {
        var notes: [Note] = []
        if isMisstated {
            let (stated, found) =
                transferSyntaxUID == Self.implicitSyntax ? ("implicit", "explicit") : ("explicit", "implicit")
            notes.append(
                Note(
                    "dicom.transferSyntaxMisstated",
                    "TransferSyntaxUID (0002,0010) states \(own: stated) value representations, but the data set has "
                        + "\(own: found) ones: read as it is"
                )
            )
        }
        if let padding = paddingValue {
            let range: Sentence = paddingRangeLimit.map { " to \($0)" } ?? ""
            notes.append(
                Note(
                    "dicom.padding",
                    "PixelPaddingValue (0028,0120) \(padding)\(range): such pixels keep their rescaled value"
                )
            )
        }
        if hasModalityTable {
            notes.append(
                Note("dicom.modalityTable", "stored values were mapped by ModalityLUTSequence (0028,3000)")
            )
        }
        if modality == "PT" {
            notes.append(
                Note(
                    "dicom.petUnits",
                    "PET values are stored in units \"\(units ?? "not stated")\" (0054,1001)"
                )
            )
        }
        return notes
    }

    private static let implicitSyntax = "1.2.840.10008.1.2"

    /// The file name for messages: the last component of the path.
    var fileName: String { String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? "") }

    /// The folder that contains the file; empty for a path without a folder.
    public var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }
}

/// The names of the folder and the file, for messages about several files that may have one name.
func shortPath(_ path: String) -> String { path.split(separator: "/").suffix(2).joined(separator: "/") }
