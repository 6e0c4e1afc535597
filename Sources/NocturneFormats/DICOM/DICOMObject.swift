/// The header facts of one DICOM file that decide how it becomes part of a volume.
///
/// No pixels, and nothing that names the patient: name, identifier and birth date are never read.
///
/// An optional is nil when the element is missing, empty, or holds no usable number.
public struct DICOMObject: Sendable, Hashable {
    public var path: String
    /// Bytes of the file.
    public var fileSize: Int

    public var sopClassUID: String
    /// The class by name, e.g. "CTImageStorage"; empty when the data dictionary does not know it.
    public var sopClassName: String
    /// Empty when missing, as with the other UIDs.
    public var sopInstanceUID: String
    public var studyInstanceUID: String
    public var seriesInstanceUID: String
    public var frameOfReferenceUID: String
    /// As the file states it, or as found by the parser when it does not.
    public var transferSyntaxUID: String
    /// Empty when DCMTK does not know the syntax.
    public var transferSyntaxName: String

    /// "CT", "MR", "PT", …; empty when missing.
    public var modality: String
    public var seriesDescription: String?
    public var imageType: [String]
    public var seriesNumber: Int?
    public var instanceNumber: Int?
    public var acquisitionNumber: Int?
    public var echoNumber: Int?

    public var rows: Int?
    public var columns: Int?
    public var samplesPerPixel: Int?
    public var numberOfFrames: Int?
    /// "MONOCHROME2", …; empty when missing.
    public var photometricInterpretation: String
    public var bitsAllocated: Int?
    public var bitsStored: Int?
    public var highBit: Int?
    /// 0 unsigned, 1 two's complement.
    public var pixelRepresentation: Int?

    /// The centre of the first pixel in mm, LPS+.
    public var position: SIMD3<Double>?
    /// The direction in which the column index grows (along a row), LPS+.
    public var rowDirection: SIMD3<Double>?
    /// The direction in which the row index grows (down a column), LPS+.
    public var columnDirection: SIMD3<Double>?
    /// mm from one row to the next: the first value of PixelSpacing.
    public var rowSpacing: Double?
    /// mm from one column to the next: the second value of PixelSpacing.
    public var columnSpacing: Double?
    /// mm. Not the distance between slices.
    public var sliceThickness: Double?
    /// Degrees, as the scanner states it.
    public var gantryTilt: Double?

    /// The pair that turns stored values into output; nil when missing, which means 1 and 0.
    public var rescaleSlope: Double?
    public var rescaleIntercept: Double?
    /// Whether a table, not a slope, turns stored values into output.
    public var hasModalityTable: Bool
    public var windowCenter: Double?
    public var windowWidth: Double?
}

extension DICOMObject {
    /// A name for messages: the last part of the path.
    var fileName: String { String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? "") }

    /// The folder the file lies in; empty for a bare name.
    var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }
}
