import NocturneSystem

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
    /// The stored value, or one end of the values, of pixels that show nothing.
    public var paddingValue: Int?
    /// The other end.
    public var paddingRangeLimit: Int?
    /// Of PET: "BQML", "CNTS", …
    public var units: String?
    public var windowCenter: Double?
    public var windowWidth: Double?

    public var manufacturer: String?
    /// mm from slice to slice, as SpacingBetweenSlices states it; only a mosaic needs it.
    public var spacingBetweenSlices: Double?
    /// ms.
    public var echoTime: Double?
    /// ms.
    public var triggerTime: Double?
    /// Seconds of the day.
    public var contentTime: Double?
    /// Seconds of the day.
    public var acquisitionTime: Double?
    public var temporalPosition: Int?
    /// s/mm².
    public var diffusionBValue: Double?
    /// What the pixels are; nil when the header was read by other means, or there are none.
    public var pixelKind: PixelKind?
    /// The used tiles of a Siemens mosaic, as its scanner states them.
    public var mosaicTiles: Int?
    /// The direction in which the slices of a mosaic follow each other, LPS+.
    public var mosaicNormal: SIMD3<Double>?
    /// Items of PerFrameFunctionalGroupsSequence.
    public var frameGroupCount: Int

    /// The items themselves; emptied where the object is part of a slice.
    var frameGroups: [DICOMFrameGroups]

    public enum PixelKind: Sendable, Hashable {
        case integer, float, double
    }
}

extension DICOMObject {
    /// Facts of the header worth a line in the report, which hinder nothing.
    public var notes: [String] {
        var notes: [String] = []
        if let padding = paddingValue {
            let range = paddingRangeLimit.map { " to \($0)" } ?? ""
            notes.append("PixelPaddingValue (0028,0120) \(padding)\(range): such pixels keep their rescaled value")
        }
        if hasModalityTable { notes.append("stored values were mapped by ModalityLUTSequence (0028,3000)") }
        if modality == "PT" { notes.append("PET values are in units \"\(units ?? "not stated")\" (0054,1001)") }
        return notes
    }

    /// A name for messages: the last part of the path.
    var fileName: String { String(path.split(separator: "/", omittingEmptySubsequences: true).last ?? "") }

    /// The folder the file lies in; empty for a bare name.
    var folder: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }
}
