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
    /// With the tag, as in "Rows (0028,0010)".
    let name: String
    let use: Use
    /// What a usable value is.
    let expected: String

    private init(_ tag: UInt32, _ name: String, _ use: Use, expected: String) {
        let digits = String(tag, radix: 16, uppercase: true)
        let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        self.tag = tag
        self.name = (name.isEmpty ? "" : name + " ") + "(\(padded.prefix(4)),\(padded.suffix(4)))"
        self.use = use
        self.expected = expected
    }

    /// By tag.
    static let all: [UInt32: NumericElement] = {
        var all: [UInt32: NumericElement] = [:]
        for (use, elements) in table {
            for (tag, name, expected) in elements { all[tag] = NumericElement(tag, name, use, expected: expected) }
        }
        return all
    }()

    /// The element of a tag that has a remark.
    static func of(_ tag: UInt32) -> NumericElement {
        all[tag] ?? NumericElement(tag, "", .slices, expected: number)
    }

    private static let (number, whole, time) = ("a number", "a whole number", "a time")

    private static let table: [Use: [(tag: UInt32, name: String, expected: String)]] = [
        .volume: [
            (0x0028_0002, "SamplesPerPixel", whole),
            (0x0028_0008, "NumberOfFrames", whole),
            (0x0028_0010, "Rows", whole),
            (0x0028_0011, "Columns", whole),
            (0x0028_0100, "BitsAllocated", whole),
            (0x0028_0101, "BitsStored", whole),
            (0x0028_0102, "HighBit", whole),
            (0x0028_0103, "PixelRepresentation", whole),
            (0x0028_1052, "RescaleIntercept", number),
            (0x0028_1053, "RescaleSlope", number),
            (0x0020_0032, "ImagePositionPatient", "3 numbers"),
            (0x0020_0037, "ImageOrientationPatient", "6 numbers"),
            (0x0028_0030, "PixelSpacing", "2 numbers"),
            (0x0065_1050, "the number of tiles", whole),
        ],
        .tiles: [
            (0x0018_0050, "SliceThickness", number),
            (0x0018_0088, "SpacingBetweenSlices", number),
        ],
        .slices: [
            (0x0019_100A, "NumberOfImagesInMosaic", whole),
            (0x0008_0032, "AcquisitionTime", time),
            (0x0008_0033, "ContentTime", time),
            (0x0018_0060, "KVP", number),
            (0x0018_0080, "RepetitionTime", number),
            (0x0018_0081, "EchoTime", number),
            (0x0018_0082, "InversionTime", number),
            (0x0018_0086, "EchoNumbers", whole),
            (0x0018_1060, "TriggerTime", number),
            (0x0018_1120, "GantryDetectorTilt", number),
            (0x0018_1314, "FlipAngle", number),
            (0x0018_9082, "EffectiveEchoTime", number),
            (0x0018_9087, "DiffusionBValue", number),
            (0x0020_0011, "SeriesNumber", whole),
            (0x0020_0012, "AcquisitionNumber", whole),
            (0x0020_0013, "InstanceNumber", whole),
            (0x0020_0100, "TemporalPositionIdentifier", whole),
            (0x0020_9162, "InConcatenationNumber", whole),
            (0x0020_9163, "InConcatenationTotalNumber", whole),
            (0x0054_0081, "NumberOfSlices", whole),
            (0x0028_0120, "PixelPaddingValue", whole),
            (0x0028_0121, "PixelPaddingRangeLimit", whole),
            (0x0028_1050, "WindowCenter", number),
            (0x0028_1051, "WindowWidth", number),
        ],
        .uptake: [
            (0x0018_1074, "RadionuclideTotalDose", number),
            (0x0018_1075, "RadionuclideHalfLife", number),
            (0x0018_1242, "ActualFrameDuration", number),
            (0x0054_1300, "FrameReferenceTime", number),
            (0x7053_1000, "the SUV factor of Philips", number),
            (0x7053_1009, "the activity factor of Philips", number),
        ],
        .uptakeOfPatient: [
            (0x0010_1030, "PatientWeight", number),
            (0x0008_0201, "TimezoneOffsetFromUTC", "an offset such as +0100"),
            (0x0008_0021, "SeriesDate", "a date"),
            (0x0008_0022, "AcquisitionDate", "a date"),
            (0x0008_0031, "SeriesTime", time),
            (0x0018_1072, "RadiopharmaceuticalStartTime", time),
            (0x0018_1078, "RadiopharmaceuticalStartDateTime", "a date and a time"),
        ],
    ]
}
