internal import Glibc
internal import NocturneCore

/// Checks whether one slice on its own can be part of a volume.
enum ObjectCheck {
    private static let imageClasses: Set<String> = enhancedClasses.union([
        "1.2.840.10008.5.1.4.1.1.2",  // CT
        "1.2.840.10008.5.1.4.1.1.4",  // MR
        "1.2.840.10008.5.1.4.1.1.128",  // PET
    ])
    fileprivate static let enhancedClasses: Set<String> = [
        "1.2.840.10008.5.1.4.1.1.2.1", "1.2.840.10008.5.1.4.1.1.2.2",  // Enhanced CT, and converted from single frames
        "1.2.840.10008.5.1.4.1.1.4.1", "1.2.840.10008.5.1.4.1.1.4.3", "1.2.840.10008.5.1.4.1.1.4.4",  // MR, MR colour
        "1.2.840.10008.5.1.4.1.1.130", "1.2.840.10008.5.1.4.1.1.128.1",  // PET
    ]

    /// The maximum number of pixels of a slice; the decoder has the same limit.
    private static let maximumSlicePixels = 1 << 28

    static func check(_ slice: DICOMSlice) throws(DICOMReadError) {
        try checkKind(slice.object)
        try checkValues(slice.object)
        try checkFrames(slice)
        try checkPixels(slice.object)
        try checkPlace(slice)
    }

    /// Checks whether a file of native pixels is as large as its rows, columns and frames require. Other reasons why an
    /// object cannot be a volume are not errors here.
    static func checkLength(_ object: DICOMObject) throws(DICOMReadError) {
        do throws(DICOMReadError) {
            try checkKind(object)
            try checkPixels(object)
        } catch {
            if error.code == .wrongPixelLength, object.frameGroupCount > 1 { throw error }
        }
    }

    private static func checkKind(_ object: DICOMObject) throws(DICOMReadError) {
        let name = object.sopClassName.isEmpty ? object.sopClassUID : object.sopClassName
        if !object.sopClassUID.isEmpty, !imageClasses.contains(object.sopClassUID) {
            throw object.error(.notAnImageClass, "\(name) is not a CT, MR or PET image")
        }
        if object.sopClassUID.isEmpty, !["CT", "MR", "PT"].contains(object.modality) {
            throw object.error(
                .notAnImageClass,
                "no SOPClassUID (0008,0016), and modality \"\(object.modality)\" is not CT, MR or PT"
            )
        }
        if object.plane.imageType.contains("LOCALIZER") {
            throw object.error(.localizer, "ImageType (0008,0008) is LOCALIZER: not a volume")
        }
    }

    /// Checks the numbers that are there but cannot be used, before what they lead to.
    private static func checkValues(_ object: DICOMObject) throws(DICOMReadError) {
        let isTiled = object.isMosaic || object.mosaicTiles != nil
        let fault = object.remarks.first {
            $0.isUnusable && ($0.element.use == .volume || $0.element.use == .tiles && isTiled)
        }
        if let fault { throw object.error(.unusableValue, fault.description) }
    }

    private static func checkFrames(_ slice: DICOMSlice) throws(DICOMReadError) {
        let object = slice.object
        let frames = object.numberOfFrames ?? 1
        // An object with several frames has an item of functional groups for each of them.
        guard frames >= 1, frames == 1 || frames == object.frameGroupCount else {
            let found = object.frameGroupCount == 0 ? "is missing" : "has \(object.frameGroupCount) items"
            throw object.error(
                .multiFrame,
                "NumberOfFrames (0028,0008) is \(frames), but PerFrameFunctionalGroupsSequence (5200,9230), "
                    + "which states the positions of the frames, \(found)"
            )
        }
        if object.isGrid, slice.tile == nil {
            throw object.error(
                .mosaic,
                "a United Imaging grid of \(object.mosaicTiles ?? 0) slices (0065,1050), but rows, columns and the "
                    + "\(object.frameGroupCount) positions (0065,1051) do not match"
            )
        }
        if object.isMosaic, slice.tile == nil, object.frameGroupCount == 0 {
            let fact =
                object.mosaicTiles.map { "its \($0) tiles do not match the rows, columns and directions of the image" }
                ?? "neither (0019,100A) nor the scanner's own header (0029,1010) states the number of its tiles"
            throw object.error(.mosaic, "ImageType (0008,0008) is MOSAIC (several slices in one image), but \(fact)")
        }
    }

    private static func checkPixels(_ object: DICOMObject) throws(DICOMReadError) {
        try require(object.plane.rows, "Rows (0028,0010)", object)
        try require(object.plane.columns, "Columns (0028,0011)", object)
        let isReal = object.pixelKind == .float || object.pixelKind == .double
        // Floating-point pixels have neither stored bits nor a sign (PS3.3 C.7.6.24 and C.7.6.25).
        if isReal { return try checkSize(object, cell: object.pixelKind == .float ? 4 : 8) }
        try require(object.bitsAllocated, "BitsAllocated (0028,0100)", object)
        try require(object.bitsStored, "BitsStored (0028,0101)", object)
        try require(object.pixelRepresentation, "PixelRepresentation (0028,0103)", object)
        let photometric = object.photometricInterpretation
        if photometric.isEmpty {
            try require(nil as Int?, "PhotometricInterpretation (0028,0004)", object)
        }
        let samples = object.samplesPerPixel ?? 1
        guard samples == 1, photometric == "MONOCHROME1" || photometric == "MONOCHROME2" else {
            throw object.error(.colour, "\(photometric) with \(samples) sample(s) per pixel is not a greyscale image")
        }
        guard let layout = object.bitLayout else {
            throw object.error(
                .unsupportedPixels,
                "\(object.bitsAllocated ?? 0) bits allocated, \(object.bitsStored ?? 0) stored, high bit "
                    + "\(object.highBit.map(String.init) ?? "missing") and pixel representation "
                    + "\(object.pixelRepresentation ?? 0) are inconsistent or not supported"
            )
        }
        try checkSize(object, cell: layout.allocated / 8)
    }

    private static func checkSize(_ object: DICOMObject, cell: Int) throws(DICOMReadError) {
        guard let rows = object.plane.rows, let columns = object.plane.columns, rows > 0, columns > 0,
            rows <= 65535, columns <= 65535, rows * columns <= maximumSlicePixels
        else {
            throw object.error(
                .badDimensions,
                "\(object.plane.rows ?? 0) rows and \(object.plane.columns ?? 0) columns are out of range"
            )
        }
        // A header may state any size; the bytes must exist before memory is allocated for them.
        let isNative = uncompressedSyntaxes.contains(object.transferSyntaxUID)
        guard isNative || compressedSyntaxes.contains(object.transferSyntaxUID) else {
            let known =
                object.transferSyntaxName.isEmpty ? owner(of: object.transferSyntaxUID) : object.transferSyntaxName
            let name = known.map { " (\($0))" } ?? ""
            throw object.error(
                .unsupportedPixels,
                "no decoder for transfer syntax \"\(object.transferSyntaxUID)\"\(name)"
            )
        }
        // A frame has at most 2²⁸ pixels of 8 bytes; only the number of frames may overflow the product.
        let (needed, isTooMuch) = (rows * columns * cell).multipliedReportingOverflow(by: object.numberOfFrames ?? 1)
        guard !isNative || (!isTooMuch && object.fileSize >= needed) else {
            throw object.error(
                .wrongPixelLength,
                "the file has \(object.fileSize) bytes, rows and columns need \(needed)"
            )
        }
    }

    /// Who assigned a private transfer syntax.
    private static func owner(of syntax: String) -> String? {
        let owners = [
            "1.2.840.113619.": "GE", "1.3.46.670589.": "Philips", "1.3.12.2.1107.": "Siemens", "1.2.752.24.": "Sectra",
            "1.2.392.200036.": "a Japanese manufacturer", "1.2.276.0.7230010.": "OFFIS",
        ]
        guard !syntax.isEmpty, !syntax.hasPrefix("1.2.840.10008.") else { return nil }
        return owners.first { syntax.hasPrefix($0.key) }.map { "a private one of \($0.value)" } ?? "a private one"
    }

    /// Syntaxes that store pixels uncompressed. Deflated is not included: its file may be smaller than its pixels.
    private static let uncompressedSyntaxes: Set<String> = [
        "1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2",
    ]
    private static let compressedSyntaxes: Set<String> = [
        "1.2.840.10008.1.2.1.99",  // deflated
        "1.2.840.10008.1.2.5",  // RLE
        "1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.53", "1.2.840.10008.1.2.4.55",  // JPEG
        "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70",  // JPEG lossless
        "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.81",  // JPEG-LS
        "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.4.91",  // JPEG 2000
    ]

    private static func checkPlace(_ slice: DICOMSlice) throws(DICOMReadError) {
        guard slice.plane.rescaleSlope != 0 else {
            throw slice.error(
                .unusableValue,
                "RescaleSlope (0028,1053) is 0, which makes all voxels equal: export the series again, or correct the element"
            )
        }
        try require(slice.plane.position, "ImagePositionPatient (0020,0032)", slice.object)
        try require(slice.plane.rowDirection, "ImageOrientationPatient (0020,0037)", slice.object)
        try require(slice.plane.rowSpacing, "PixelSpacing (0028,0030)", slice.object)
    }

    private static func require<T>(_ value: T?, _ name: String, _ object: DICOMObject) throws(DICOMReadError) {
        guard value == nil else { return }
        throw object.error(.missingElement, "\(name) is missing or empty")
    }
}

extension DICOMObject {
    /// The layout of stored values in their cells.
    struct BitLayout: Hashable, Sendable {
        let allocated: Int
        let stored: Int
        let highBit: Int
        let isSigned: Bool
    }

    /// Whether it is of a class with functional groups.
    var isEnhanced: Bool { ObjectCheck.enhancedClasses.contains(sopClassUID) }

    /// Nil when the numbers contradict each other or cells of that size are not supported. A missing HighBit is assumed
    /// to be BitsStored - 1, which the standard has since made the only value.
    var bitLayout: BitLayout? {
        guard let allocated = bitsAllocated, let stored = bitsStored, let sign = pixelRepresentation else { return nil }
        let high = highBit ?? stored - 1
        guard [8, 16, 32].contains(allocated), (1...allocated).contains(stored),
            (stored - 1..<allocated).contains(high),
            sign == 0 || sign == 1
        else { return nil }
        return BitLayout(allocated: allocated, stored: stored, highBit: high, isSigned: sign == 1)
    }
}

extension ObjectCheck {
    /// More slices in one plane are not needed for planning.
    private static let mostSlices = 20
    /// The largest deviation from a right angle, in radians.
    private static let rightAngleTolerance = 15.0 * Double.pi / 180

    /// Recognises localizers whose ImageType does not state it, as those of GE and Toshiba: one series with a few slices in
    /// each of three perpendicular planes.
    /// - Returns: the reason why `slices`, those of one series, are not a volume; nil for other series.
    static func threePlaneLocalizer(_ slices: [DICOMSlice]) -> DICOMReadError? {
        guard (3...3 * mostSlices).contains(slices.count) else { return nil }
        var planes: [(normal: SIMD3<Double>, count: Int)] = []
        for slice in slices {
            guard let row = slice.plane.rowDirection, let column = slice.plane.columnDirection else { return nil }
            let normal = StackFrame.unit(cross(row, column))
            if let known = planes.firstIndex(where: { abs(dot($0.normal, normal)) > cos(rightAngleTolerance) }) {
                planes[known].count += 1
            } else {
                planes.append((normal, 1))
            }
            guard planes.count <= 3 else { return nil }
        }
        guard planes.count == 3, planes.allSatisfy({ $0.count <= mostSlices }) else { return nil }
        let most = sin(rightAngleTolerance)
        let pairs = [(0, 1), (0, 2), (1, 2)]
        guard pairs.allSatisfy({ abs(dot(planes[$0.0].normal, planes[$0.1].normal)) <= most }) else { return nil }
        let counts = planes.map(\.count)
        let text = Set(counts) == [1] ? "one slice each" : counts.map { "\($0)" }.joined(separator: ", ") + " slices"
        return slices[0].error(.localizer, "a localizer: three perpendicular planes with \(text)")
    }
}
