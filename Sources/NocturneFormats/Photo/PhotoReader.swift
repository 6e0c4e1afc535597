internal import CPhoto
internal import NocturneCore
public import NocturneSystem

/// Reads photos: JPEG, PNG, TIFF, HEIC, WebP and DICOM, whatever their names, upright and in 8-bit RGB.
///
/// - JPEG (libjpeg-turbo): baseline, progressive, arithmetic; grey, RGB, YCbCr, CMYK and YCCK of 8 bits.
/// - PNG (libpng): all colour types and depths, interlaced too; of an animation the picture that is shown without it.
/// - TIFF (libtiff): the first picture; strips or tiles, planes or pixels, whole numbers of 1 to 32 bits, grey, RGB,
///   palette, CMYK, and what the library converts; every compression it was built with.
/// - HEIC (libheif, if it is installed): the primary picture of a file, turned as the container states, whatever Exif states.
/// - WebP (libwebp): with and without loss; of an animation the first frame.
/// - DICOM (DCMTK, OpenJPEG): the first frame; RGB, YBR, palette and grey, the last through the header's window
///   or table, or as stored.
///
/// Transparent pixels are placed on white, and grey is copied to all three channels. Of samples with more than 8 bits
/// the highest eight are used, and CMYK is converted by channel × (255 − K) / 255, both as in Pillow, except for 16-bit
/// grey, which Pillow clamps to 255. Colour profiles are not applied, as in training code that does not request it.
///
/// A picture whose pixels the decoder finds missing or damaged is an error; a partial picture is never returned. Most of
/// these formats have no checksums: changed bits in their pixels can give another whole picture, here as with every reader.
public enum PhotoReader {
    /// Reads the header and predicts the cost of decoding; no pixel is decoded and little is allocated.
    /// - Parameter object: the header of the file, if it is DICOM and was read before.
    /// - Throws: ``PhotoError``, `tooLarge` included.
    public static func readHeader(
        at path: String,
        limits: PhotoLimits = PhotoLimits(),
        object: DICOMObject? = nil
    ) throws(PhotoError) -> PhotoFacts {
        try checkedFacts(of: open(path, limits, object), path: path, limits: limits)
    }

    /// Decodes a picture and rotates it upright.
    ///
    /// A picture whose longer side is above `limits.side` is reduced by an integer factor: JPEG by 2, 4 or 8 in the
    /// decoder; the remaining factor, and all other formats, by averaging the stored pixels. Checks the flag every few
    /// rows, and between the scans of a progressive JPEG. Needs at most ``PhotoFacts/predictedBytes``.
    /// - Throws: ``PhotoError``; `tooLarge` before anything is allocated. `CancelledError`.
    public static func read(
        at path: String,
        limits: PhotoLimits = PhotoLimits(),
        flag: CancellationFlag = CancellationFlag()
    ) throws -> Photo {
        let source = try open(path, limits)
        var facts = try checkedFacts(of: source, path: path, limits: limits)
        try flag.check()
        let own = source.ownDenominator(of: facts.scaleDenominator)
        try check(source.start(denominator: own, memory: limits.bytes, flag: flag), source, path)
        var image = RGBImage(width: facts.uprightWidth, height: facts.uprightHeight)
        let plan = RowPlan(facts: facts, own: own)
        let code = image.samples.withUnsafeMutableBufferPointer { samples in
            withExtendedLifetime(flag) { plan.decode(source, into: samples, flag: flag) }
        }
        try check(code, source, path)
        facts.notes += source.notes
        return Photo(image: image, facts: facts)
    }

    static func open(
        _ path: String,
        _ limits: PhotoLimits,
        _ object: DICOMObject? = nil
    ) throws(PhotoError) -> any PhotoSource {
        let format = try format(of: path, isDICOM: object != nil)
        return format == .dicom
            ? try DICOMPhotoSource(photoAt: path, object) : try LibrarySource(format, path: path, limits: limits)
    }

    /// The format, recognised by the first bytes.
    /// - Parameter isDICOM: whether the file was read as DICOM before; otherwise that is found out.
    private static func format(of path: String, isDICOM: Bool) throws(PhotoError) -> PhotoFacts.Format {
        let head: [UInt8]
        do throws(FileSystemError) {
            head = try FileDescriptor(reading: path, points: .inputHead).read(count: 18, at: 0)
        } catch {
            throw PhotoError(.cannotOpen, reading: error)
        }
        // The marker SOI, and the first byte of the next one.
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if head.starts(with: PNGWriter.File.signature) { return .png }
        if TIFFStackReader.heads.contains(where: head.starts(with:)) { return .tiff }
        if head.starts(with: Array("RIFF".utf8)), head.dropFirst(8).starts(with: Array("WEBP".utf8)) { return .webp }
        // The major brand of an ISO base media file: HEIC images, and images of the family in general.
        let brands = ["heic", "heix", "heim", "heis", "mif1"]
        if head.dropFirst(4).starts(with: Array("ftyp".utf8)),
            brands.contains(where: { head.dropFirst(8).starts(with: Array($0.utf8)) })
        {
            return .heic
        }
        if isDICOM || DICOMScanner.looksLikeDICOM(path) { return .dicom }
        if let type = otherType(head, path) {
            throw PhotoError(.unsupported, path: path, "a picture of the type \(type), which is not read")
        }
        guard head.isEmpty else {
            throw PhotoError(.notAPicture, path: path, "not a JPEG, PNG, TIFF, HEIC, WebP or DICOM file")
        }
        // By the name of a picture, an interrupted copy; otherwise perhaps a mark that has no content.
        let isPicture = endings.contains { path.lowercased().hasSuffix($0) }
        throw PhotoError(isPicture ? .corrupt : .notAPicture, path: path, "the file is empty")
    }

    /// The type of a picture that no decoder here reads; nil for everything else.
    private static func otherType(_ head: [UInt8], _ path: String) -> String? {
        func has(_ text: String, at place: Int = 0) -> Bool { head.dropFirst(place).starts(with: Array(text.utf8)) }
        if has("GIF87a") || has("GIF89a") { return "GIF" }
        if has("ftypavif", at: 4) || has("ftypavis", at: 4) { return "AVIF" }
        // Texts, too, may begin with these letters: the size of the second header follows.
        let sizes: [[UInt8]] = [12, 40, 52, 56, 64, 108, 124].map { [$0, 0, 0, 0] }
        if has("BM"), sizes.contains(Array(head.dropFirst(14))) { return "BMP" }
        let isBare = head.starts(with: [0xFF, 0x0A]) && path.lowercased().hasSuffix(".jxl")
        return isBare || has("JXL \r\n", at: 4) ? "JPEG XL" : nil
    }

    private static let endings = [
        ".jpg", ".jpeg", ".png", ".tif", ".tiff", ".heic", ".heif", ".webp", ".dcm", ".dicom",
    ]

    static func checkedFacts(
        of source: any PhotoSource,
        path: String,
        limits: PhotoLimits
    ) throws(PhotoError) -> PhotoFacts {
        let facts = try PhotoFacts(of: source, path: path, limits: limits)
        guard facts.predictedBytes <= limits.bytes else {
            throw PhotoError(
                .tooLarge,
                path: path,
                "\(facts.storedWidth)×\(facts.storedHeight) pixels need \(facts.predictedBytes) bytes to be decoded, "
                    + "\(limits.bytes) are allowed"
            )
        }
        return facts
    }
}

extension PhotoFacts {
    fileprivate init(of source: any PhotoSource, path: String, limits: PhotoLimits) throws(PhotoError) {
        let header = source.header
        let width = Int(header.width)
        let height = Int(header.height)
        // Whatever the limits are, the sums below cannot overflow.
        guard width > 0, height > 0, width <= min(limits.storedPixels, 1 << 40) / height else {
            throw PhotoError(
                .tooLarge,
                path: path,
                "\(width)×\(height) pixels, more than the \(limits.storedPixels) that are allowed"
            )
        }
        let wanted = (max(width, height) - 1) / max(limits.side, 1) + 1
        // The next factor that the decoder can apply partly or completely.
        let denominator =
            switch source.format {
            case .jpeg where wanted <= 2: wanted
            case .jpeg where wanted <= 4: 4
            case .jpeg: (wanted + 7) / 8 * 8
            default: wanted
            }
        let upright = PhotoFacts.turned(
            (width + denominator - 1) / denominator,
            (height + denominator - 1) / denominator,
            source.orientation
        )
        let result = upright.width * upright.height * 3 + PhotoReader.RowPlan.bytes(width: width)
        let (bytes, isTooMuch) = source.workingBytes.addingReportingOverflow(result)
        var notes: [Note] = []
        if min(width, height) < 100 { notes.append(.small(width: width, height: height)) }
        if denominator > 1 { notes.append(.reduced(denominator: denominator)) }
        if header.has_alpha != 0 { notes.append(.transparent) }
        if source.pageCount > 1 {
            let count = source.pageCount
            notes.append(source.format == .heic ? .primaryOfPictures(count) : .firstOfPages(count))
        }
        self.init(
            format: source.format,
            storedWidth: width,
            storedHeight: height,
            orientation: source.orientation,
            uprightWidth: upright.width,
            uprightHeight: upright.height,
            bitDepth: Int(header.bits),
            colourModel: ColourModel(header.model),
            hasAlpha: header.has_alpha != 0,
            scaleDenominator: denominator,
            pageCount: source.pageCount,
            predictedBytes: isTooMuch ? .max : bytes,
            notes: notes
        )
    }

    private static func turned(_ width: Int, _ height: Int, _ orientation: Int) -> (width: Int, height: Int) {
        orientation >= 5 ? (height, width) : (width, height)
    }
}

extension PhotoFacts.ColourModel {
    fileprivate init(_ model: Int32) {
        let models: [PhotoFacts.ColourModel] = [.grey, .greyAlpha, .rgb, .rgba, .palette, .yCbCr, .cmyk, .ycck]
        self = models.indices.contains(Int(model)) ? models[Int(model)] : .rgb
    }
}

extension PhotoError {
    /// The text about a file that ends too early, or does not keep to its format.
    /// - Parameter message: the decoder's own.
    static func damage(_ format: PhotoFacts.Format, _ message: String) -> String {
        let name = format == .webp ? "WebP" : format.rawValue.uppercased()
        return "the file is damaged: it is not a complete \(name) picture (\(message))"
    }

    static func check(
        _ code: cphoto_code,
        _ format: PhotoFacts.Format,
        path: String,
        message: String,
        systemCode: Int32
    ) throws(PhotoError) {
        switch code {
        case CPHOTO_OK: return
        case CPHOTO_NOT_OPENED:
            throw PhotoError(.cannotOpen, path: path, "cannot be opened: \(message)", systemCode: systemCode)
        case CPHOTO_NOT_READ:
            throw PhotoError(.cannotRead, path: path, "cannot be read: \(message)", systemCode: systemCode)
        case CPHOTO_UNSUPPORTED: throw PhotoError(.unsupported, path: path, "the file is not supported (\(message))")
        case CPHOTO_TOO_LARGE: throw PhotoError(.tooLarge, path: path, "needs more memory than allowed: \(message)")
        case CPHOTO_NO_MEMORY: throw PhotoError(.outOfMemory, path: path, "no memory to decode the picture")
        default: throw PhotoError(.corrupt, path: path, damage(format, message))
        }
    }
}
