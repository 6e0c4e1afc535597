/// An element with numbers that is read from headers, and what it means that its value cannot be used.
///
/// The page "Series and volumes" has the same list with what other readers do.
struct NumericElement: Sendable, Hashable {
    enum Use: Sendable, Hashable {
        /// Enters voxels or their positions: an unusable value is an error.
        case volume
        /// Enters the positions of tiles: an error in images that consist of tiles, otherwise as `slices`.
        case tiles
        /// Orders or divides slices, or is only shown: an unusable value counts as missing, with a note.
        case slices
        /// Enters uptake values of PET: with an unusable value there are none.
        case uptake
        /// The same; the value is not shown, because it is about the patient.
        case uptakeOfPatient
    }

    let tag: UInt32
    let name: String
    let use: Use
    /// What a usable value is.
    var expected = "a number"

    /// By tag.
    static let all = Dictionary(uniqueKeysWithValues: list.map { ($0.tag, $0) })

    /// The element of a tag that has a remark.
    static func of(_ tag: UInt32) -> NumericElement {
        if let known = all[tag] { return known }
        let digits = String(tag, radix: 16, uppercase: true)
        let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        return NumericElement(tag: tag, name: "(\(padded.prefix(4)),\(padded.suffix(4)))", use: .slices)
    }

    private static let list = voxels + places + slices + uptake

    private static let voxels = [
        NumericElement(tag: 0x0028_0002, name: "SamplesPerPixel (0028,0002)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0008, name: "NumberOfFrames (0028,0008)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0010, name: "Rows (0028,0010)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0011, name: "Columns (0028,0011)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0100, name: "BitsAllocated (0028,0100)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0101, name: "BitsStored (0028,0101)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0102, name: "HighBit (0028,0102)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_0103, name: "PixelRepresentation (0028,0103)", use: .volume, expected: whole),
        NumericElement(tag: 0x0028_1052, name: "RescaleIntercept (0028,1052)", use: .volume),
        NumericElement(tag: 0x0028_1053, name: "RescaleSlope (0028,1053)", use: .volume),
    ]

    private static let places = [
        NumericElement(tag: 0x0020_0032, name: "ImagePositionPatient (0020,0032)", use: .volume, expected: "3 numbers"),
        NumericElement(
            tag: 0x0020_0037,
            name: "ImageOrientationPatient (0020,0037)",
            use: .volume,
            expected: "6 numbers"
        ),
        NumericElement(tag: 0x0028_0030, name: "PixelSpacing (0028,0030)", use: .volume, expected: "2 numbers"),
        NumericElement(tag: 0x0018_0050, name: "SliceThickness (0018,0050)", use: .tiles),
        NumericElement(tag: 0x0018_0088, name: "SpacingBetweenSlices (0018,0088)", use: .tiles),
        NumericElement(tag: 0x0065_1050, name: "the number of tiles (0065,1050)", use: .volume, expected: whole),
        NumericElement(tag: 0x0019_100A, name: "NumberOfImagesInMosaic (0019,100A)", use: .slices, expected: whole),
    ]

    private static let slices = [
        NumericElement(tag: 0x0008_0032, name: "AcquisitionTime (0008,0032)", use: .slices, expected: time),
        NumericElement(tag: 0x0008_0033, name: "ContentTime (0008,0033)", use: .slices, expected: time),
        NumericElement(tag: 0x0018_0081, name: "EchoTime (0018,0081)", use: .slices),
        NumericElement(tag: 0x0018_0086, name: "EchoNumbers (0018,0086)", use: .slices, expected: whole),
        NumericElement(tag: 0x0018_1060, name: "TriggerTime (0018,1060)", use: .slices),
        NumericElement(tag: 0x0018_1120, name: "GantryDetectorTilt (0018,1120)", use: .slices),
        NumericElement(tag: 0x0018_9082, name: "EffectiveEchoTime (0018,9082)", use: .slices),
        NumericElement(tag: 0x0018_9087, name: "DiffusionBValue (0018,9087)", use: .slices),
        NumericElement(tag: 0x0020_0011, name: "SeriesNumber (0020,0011)", use: .slices, expected: whole),
        NumericElement(tag: 0x0020_0012, name: "AcquisitionNumber (0020,0012)", use: .slices, expected: whole),
        NumericElement(tag: 0x0020_0013, name: "InstanceNumber (0020,0013)", use: .slices, expected: whole),
        NumericElement(tag: 0x0020_0100, name: "TemporalPositionIdentifier (0020,0100)", use: .slices, expected: whole),
        NumericElement(tag: 0x0028_0120, name: "PixelPaddingValue (0028,0120)", use: .slices, expected: whole),
        NumericElement(tag: 0x0028_0121, name: "PixelPaddingRangeLimit (0028,0121)", use: .slices, expected: whole),
        NumericElement(tag: 0x0028_1050, name: "WindowCenter (0028,1050)", use: .slices),
        NumericElement(tag: 0x0028_1051, name: "WindowWidth (0028,1051)", use: .slices),
    ]

    private static let uptake = [
        NumericElement(tag: 0x0010_1030, name: "PatientWeight (0010,1030)", use: .uptakeOfPatient),
        NumericElement(tag: 0x0008_0021, name: "SeriesDate (0008,0021)", use: .uptakeOfPatient, expected: "a date"),
        NumericElement(
            tag: 0x0008_0022,
            name: "AcquisitionDate (0008,0022)",
            use: .uptakeOfPatient,
            expected: "a date"
        ),
        NumericElement(tag: 0x0008_0031, name: "SeriesTime (0008,0031)", use: .uptakeOfPatient, expected: time),
        NumericElement(
            tag: 0x0018_1072,
            name: "RadiopharmaceuticalStartTime (0018,1072)",
            use: .uptakeOfPatient,
            expected: time
        ),
        NumericElement(
            tag: 0x0018_1078,
            name: "RadiopharmaceuticalStartDateTime (0018,1078)",
            use: .uptakeOfPatient,
            expected: "a date and a time"
        ),
        NumericElement(tag: 0x0018_1074, name: "RadionuclideTotalDose (0018,1074)", use: .uptake),
        NumericElement(tag: 0x0018_1075, name: "RadionuclideHalfLife (0018,1075)", use: .uptake),
        NumericElement(tag: 0x7053_1000, name: "the SUV factor of Philips (7053,1000)", use: .uptake),
        NumericElement(tag: 0x7053_1009, name: "the activity factor of Philips (7053,1009)", use: .uptake),
    ]

    private static let (whole, time) = ("a whole number", "a time")
}
