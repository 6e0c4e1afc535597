internal import CDCMTK
internal import CDICOMParser
internal import Glibc

extension DICOMObject {
    /// Reads the header of one file, up to its pixel data, and the functional groups of its frames.
    ///
    /// Safe for hostile files. The time depends on the number of elements before the pixel data, not on their size.
    /// - Throws: ``DICOMReadError`` when the file cannot be opened or parsed.
    public static func readHeader(path: String) throws(DICOMReadError) -> DICOMObject {
        guard let object = try readHeader(ifDICOM: path) else {
            throw DICOMReadError(.notReadable, path: path, detail: "not a file that starts like a DICOM object")
        }
        return object
    }

    /// The same, and nil for a file that does not start like a DICOM object.
    public static func readHeader(ifDICOM path: String) throws(DICOMReadError) -> DICOMObject? {
        var header = cdicom_header()
        var names = cdcmtk_names()
        var error = cdicom_error()
        var groups: UnsafeMutablePointer<cdicom_plane>?
        var count = 0
        let code = cdcmtk_read_object(path, &header, &names, &groups, &count, &error)
        // The shim allocates one entry for each frame; they are copied below.
        defer { free(groups) }
        guard code != CDICOM_NOT_DICOM else { return nil }
        guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: path) }
        let frames = UnsafeBufferPointer(start: groups, count: groups == nil ? 0 : count)
        return DICOMObject(header, names, frames: frames.map(DICOMPlane.init), path: path)
    }

    private init(_ header: cdicom_header, _ names: cdcmtk_names, frames: [DICOMPlane], path: String) {
        let words = (text(header.patient_name), text(header.patient_id), text(header.birth_date))
        self.init(
            path: path,
            fileSize: Int(header.file_size),
            sopClassUID: text(header.sop_class_uid),
            sopClassName: text(names.sop_class),
            sopInstanceUID: text(header.sop_instance_uid),
            studyInstanceUID: text(header.study_uid),
            seriesInstanceUID: text(header.series_uid),
            frameOfReferenceUID: text(header.frame_of_reference_uid),
            transferSyntaxUID: text(header.transfer_syntax_uid),
            transferSyntaxName: text(names.transfer_syntax),
            isMisstated: Int(header.misstated) != CDICOM_AS_STATED,
            plane: DICOMPlane(header.plane),
            modality: text(header.modality),
            photometricInterpretation: text(header.photometric),
            hasModalityTable: header.plane.present & UInt32(CDICOM_HAS_MODALITY_LUT) != 0,
            patient: PatientIdentity(
                name: words.0,
                identifier: words.1,
                birthDate: words.2,
                isRemoved: header.identity_removed != 0
            ),
            patientDigests: PatientIdentity.Digests(header),
            studyDate: text(header.study_date),
            studyTime: Self.wholeSeconds(text(header.study_time)),
            seriesDate: text(header.series_date),
            remarks: ValueRemark.all(header.remarks),
            frameGroupCount: frames.count,
            frameGroups: frames
        )
        readTexts(header)
        // One bit for each element that is stated, since every number can be a value.
        let numbers = StatedNumbers(present: header.plane.present)
        readPixels(header, numbers)
        readGeometry(header, numbers)
        seriesNumber = numbers.integer(header.series_number, CDICOM_HAS_SERIES_NUMBER)
        concatenation = Concatenation(header)
        statedSlices = header.stated_slices > 0 ? Int(header.stated_slices) : nil
    }

    private mutating func readTexts(_ header: cdicom_header) {
        func nonEmpty(_ text: String) -> String? { text.isEmpty ? nil : text }
        seriesDescription = nonEmpty(text(header.series_description))
        units = nonEmpty(text(header.units))
        manufacturer = nonEmpty(text(header.manufacturer))
    }

    private mutating func readPixels(_ header: cdicom_header, _ numbers: StatedNumbers) {
        samplesPerPixel = numbers.integer(header.samples, CDICOM_HAS_SAMPLES)
        numberOfFrames = numbers.integer(header.frames, CDICOM_HAS_FRAMES)
        bitsAllocated = numbers.integer(header.bits_allocated, CDICOM_HAS_BITS_ALLOCATED)
        bitsStored = numbers.integer(header.bits_stored, CDICOM_HAS_BITS_STORED)
        highBit = numbers.integer(header.high_bit, CDICOM_HAS_HIGH_BIT)
        pixelRepresentation = numbers.integer(header.pixel_representation, CDICOM_HAS_PIXEL_REPRESENTATION)
        paddingValue = numbers.integer(header.padding_value, CDICOM_HAS_PADDING)
        paddingRangeLimit = numbers.integer(header.padding_limit, CDICOM_HAS_PADDING_LIMIT)
        // The order of the constants of the C interface, 0 for none; anything else would be a fault of the shim.
        pixelKind = [nil, .integer, .float, .double][Int(min(max(header.pixel_kind, 0), 3))]
    }

    private mutating func readGeometry(_ header: cdicom_header, _ numbers: StatedNumbers) {
        spacingBetweenSlices = numbers.real(header.plane.slice_spacing, CDICOM_HAS_SLICE_SPACING)
        gantryTilt = numbers.real(header.gantry_tilt, CDICOM_HAS_GANTRY_TILT)
        mosaicTiles = header.mosaic_tiles > 0 ? Int(header.mosaic_tiles) : nil
        if numbers.has(CDICOM_HAS_MOSAIC_NORMAL) {
            mosaicNormal = SIMD3(header.mosaic_normal.0, header.mosaic_normal.1, header.mosaic_normal.2)
        }
    }

    /// Hours, minutes and seconds of a time, as "HHMMSS", since tools drop fractions and zeros, or write colons. Empty for another
    /// text.
    private static func wholeSeconds(_ time: String) -> String {
        let digits = time.utf8.prefix { $0 != UInt8(ascii: ".") }.filter { $0 != UInt8(ascii: ":") }
        let isTime = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isTime, [2, 4, 6].contains(digits.count) else { return "" }
        return String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: 6 - digits.count)
    }

    /// Which numbers of a header or of the functional groups of a frame can be used; the others become nil.
    struct StatedNumbers {
        /// A bit for each element that has a usable value.
        let present: UInt32

        func has(_ bit: some BinaryInteger) -> Bool { present & UInt32(truncatingIfNeeded: bit) != 0 }
        func integer(_ value: Int64, _ bit: some BinaryInteger) -> Int? { has(bit) ? Int(value) : nil }
        func real(_ value: Double, _ bit: some BinaryInteger) -> Double? { has(bit) ? value : nil }
    }
}

extension DICOMReadError {
    /// Converts a code and text of the C interface to an error about `path`.
    init(_ code: cdicom_code, _ error: cdicom_error, path: String) {
        let kind: Code =
            switch code {
            case CDICOM_NOT_OPENED: .notOpened
            case CDICOM_NOT_READABLE, CDICOM_NOT_DICOM: .notReadable
            case CDICOM_NESTED_TOO_DEEP: .nestedTooDeep
            case CDICOM_NO_DICTIONARY: .missingDictionary
            case CDICOM_NO_PIXEL_DATA: .missingPixelData
            case CDICOM_WRONG_PIXEL_LENGTH: .wrongPixelLength
            case CDICOM_UNSUPPORTED_PIXELS: .unsupportedPixels
            case CDICOM_DECODER_FAILED: .decoderFailed
            case CDICOM_NO_MEMORY: .tooLarge
            case CDCMTK_MISSING_ELEMENT: .missingElement
            case CDCMTK_TOO_MANY: .overLimit
            case CDCMTK_OTHER_OBJECT: .otherObject
            default: .internalFault
            }
        self.init(
            kind,
            path: path,
            detail: text(error.text),
            condition: error.condition == 0 ? nil : Condition(rawValue: error.condition)
        )
    }
}

/// The text in a C character array.
///
/// Bytes that are not UTF-8, of elements that may have only ASCII, are read as Latin-1. Control characters are removed, so that the
/// text fits on one line of a report.
func text<Characters>(_ field: Characters) -> String {
    withUnsafeBytes(of: field) { bytes in
        let used = UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 != 0 })
        // Nearly all texts are printable ASCII.
        if used.allSatisfy({ (32..<127).contains($0) }) { return String(decoding: used, as: UTF8.self) }
        let decoded =
            String(validating: used, as: UTF8.self) ?? String(String.UnicodeScalarView(used.map { Unicode.Scalar($0) }))
        return String(
            String.UnicodeScalarView(
                decoded.unicodeScalars.filter { $0.value >= 32 && !(127..<160).contains($0.value) }
            )
        )
    }
}

/// The text without leading and trailing spaces.
func trimmed(_ part: Substring) -> String {
    var part = part
    while part.first == " " { part.removeFirst() }
    while part.last == " " { part.removeLast() }
    return String(part)
}
