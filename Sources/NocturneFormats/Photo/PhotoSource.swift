internal import CPhoto
internal import CTIFF
internal import NocturneConcurrency
import NocturneSystem

/// An open picture file of one type: its header has been read, its rows have not.
protocol PhotoSource: AnyObject {
    var format: PhotoFormat { get }
    var header: cphoto_header { get }
    /// 1 to 8.
    var orientation: Int { get }
    var pageCount: Int { get }
    /// Memory besides the requested rows, when decoded at 1/`denominator` of the size.
    func workingBytes(denominator: Int) -> Int
    /// The reduction that the decoder itself applies for the requested one: a factor of it, or 1.
    func ownDenominator(of wanted: Int) -> Int
    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code
    /// To be called after the start: only these columns of the rows are needed. Returns the columns that the rows will
    /// contain, which include the requested ones.
    func keepColumns(_ columns: Range<Int>) -> Range<Int>
    /// Reads the next rows, 3 bytes per pixel.
    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code
    /// The decoder's message about a failed call; empty otherwise.
    var message: String { get }
    /// The system's error number of a failed call; 0 otherwise.
    var systemCode: Int32 { get }
    /// Irregularities of the file, once all rows are read.
    var notes: [Note] { get }
}

extension PhotoSource {
    var pageCount: Int { 1 }
    var notes: [Note] { [] }
    func ownDenominator(of wanted: Int) -> Int { 1 }
    func keepColumns(_ columns: Range<Int>) -> Range<Int> { 0..<Int(header.width) }
}

/// Called by the C code between rows. The context is an unretained ``CancellationFlag``; its owner keeps it allocated
/// while the decoder is used.
let photoStop: @convention(c) (UnsafeRawPointer?) -> Int32 = { context in
    guard let context else { return 0 }
    return Unmanaged<CancellationFlag>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
}

func photoStopContext(_ flag: CancellationFlag) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(flag).toOpaque())
}

final class JPEGSource: PhotoSource {
    let format = PhotoFormat.jpeg
    private let decoder: OpaquePointer?
    private(set) var header = cphoto_header()
    private(set) var orientation = 1
    private var flag: CancellationFlag?

    init(path: String) throws(PhotoError) {
        var decoder: OpaquePointer?
        let code = cphoto_jpeg_open(path, &decoder, &header)
        self.decoder = decoder
        try PhotoError.check(code, path: path, message: message, systemCode: systemCode)
        var count = 0
        if let exif = cphoto_jpeg_exif(decoder, &count) {
            orientation = ExifOrientation.find(in: Array(UnsafeBufferPointer(start: exif, count: count))) ?? 1
        }
    }

    deinit { cphoto_jpeg_close(decoder) }

    var message: String { String(cString: cphoto_jpeg_message(decoder)) }
    var systemCode: Int32 { cphoto_jpeg_system_code(decoder) }

    func workingBytes(denominator: Int) -> Int {
        // Coefficients of the whole picture if it is stored in scans, some rows of every component, the Exif block.
        Int(header.layered_bytes) + Int(header.width) * 4 * 64 + 1 << 20
    }

    func ownDenominator(of wanted: Int) -> Int { [8, 4, 2].first { wanted % $0 == 0 } ?? 1 }

    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code {
        self.flag = flag
        return cphoto_jpeg_start(decoder, Int32(denominator), memory, photoStop, photoStopContext(flag))
    }

    func keepColumns(_ columns: Range<Int>) -> Range<Int> {
        var (first, count) = (columns.lowerBound, columns.count)
        cphoto_jpeg_keep_columns(decoder, &first, &count)
        return first..<first + count
    }

    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code {
        cphoto_jpeg_rows(decoder, rows, count)
    }

    var notes: [Note] {
        let irregularities = Int(cphoto_jpeg_irregularities(decoder))
        return (irregularities & CPHOTO_NO_END_MARKER != 0 ? [.noEndMarker] : [])
            + (irregularities & CPHOTO_STRAY_BYTES != 0 ? [.strayBytes] : [])
    }
}

final class PNGSource: PhotoSource {
    let format = PhotoFormat.png
    private let decoder: OpaquePointer?
    private(set) var header = cphoto_header()
    private(set) var orientation = 1
    private var flag: CancellationFlag?

    init(path: String) throws(PhotoError) {
        var decoder: OpaquePointer?
        let code = cphoto_png_open(path, &decoder, &header)
        self.decoder = decoder
        try PhotoError.check(code, path: path, message: message, systemCode: systemCode)
        var count = 0
        var isText: Int32 = 0
        if let exif = cphoto_png_exif(decoder, &count, &isText) {
            let stored = Array(UnsafeBufferPointer(start: exif, count: count))
            let block = isText != 0 ? ExifOrientation.block(fromHexadecimal: stored) : stored
            orientation = ExifOrientation.find(in: block) ?? 1
        }
    }

    deinit { cphoto_png_close(decoder) }

    var message: String { String(cString: cphoto_png_message(decoder)) }
    var systemCode: Int32 { cphoto_png_system_code(decoder) }

    func workingBytes(denominator: Int) -> Int {
        // The library's two rows of up to eight bytes per pixel, one with alpha, and its window.
        Int(header.layered_bytes) + Int(header.width) * 24 + 1 << 20
    }

    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code {
        self.flag = flag
        return cphoto_png_start(decoder, photoStop, photoStopContext(flag))
    }

    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code {
        cphoto_png_rows(decoder, rows, count)
    }
}

/// The first picture of a TIFF.
final class TIFFSource: PhotoSource {
    let format = PhotoFormat.tiff
    private let decoder: OpaquePointer?
    private(set) var header = cphoto_header()
    private var facts = ctiff_facts()
    private var flag: CancellationFlag?

    init(path: String, limits: PhotoLimits) throws(PhotoError) {
        var decoder: OpaquePointer?
        let code = ctiff_open(path, limits.bytes, &decoder, &header, &facts)
        self.decoder = decoder
        try PhotoError.check(code, path: path, message: message, systemCode: systemCode)
    }

    deinit { ctiff_close(decoder) }

    var orientation: Int { Int(facts.orientation) }
    var pageCount: Int { Int(facts.page_count) }
    var message: String { String(cString: ctiff_message(decoder)) }
    var systemCode: Int32 { ctiff_system_code(decoder) }

    func workingBytes(denominator: Int) -> Int {
        let (bytes, isTooLarge) = Int(facts.working_bytes).addingReportingOverflow(1 << 20)
        return isTooLarge ? .max : bytes
    }

    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code {
        self.flag = flag
        return ctiff_start(decoder, photoStop, photoStopContext(flag))
    }

    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code {
        ctiff_rows(decoder, rows, count)
    }
}

/// A picture that its library decodes as a whole: HEIC and WebP.
final class FrameSource: PhotoSource {
    let format: PhotoFormat
    private let decoder: OpaquePointer?
    private(set) var header = cphoto_header()
    private(set) var orientation = 1
    private var facts = cphoto_frame_facts()
    private var flag: CancellationFlag?

    init(heicAt path: String, limits: PhotoLimits) throws(PhotoError) {
        var decoder: OpaquePointer?
        format = .heic
        let code = cphoto_heif_open(path, Int64(limits.storedPixels), &decoder, &header, &facts)
        self.decoder = decoder
        try PhotoError.check(code, path: path, message: message, systemCode: systemCode)
    }

    init(webpAt path: String) throws(PhotoError) {
        var decoder: OpaquePointer?
        format = .webp
        let code = cphoto_webp_open(path, &decoder, &header, &facts)
        self.decoder = decoder
        try PhotoError.check(code, path: path, message: message, systemCode: systemCode)
        var count = 0
        if let exif = cphoto_frame_exif(decoder, &count) {
            orientation = ExifOrientation.find(in: Array(UnsafeBufferPointer(start: exif, count: count))) ?? 1
        }
    }

    deinit { cphoto_frame_close(decoder) }

    var pageCount: Int { Int(facts.picture_count) }
    var message: String { String(cString: cphoto_frame_message(decoder)) }
    var systemCode: Int32 { cphoto_frame_system_code(decoder) }

    func workingBytes(denominator: Int) -> Int { Int(header.layered_bytes) + 1 << 20 }

    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code {
        self.flag = flag
        return cphoto_frame_start(decoder, photoStop, photoStopContext(flag))
    }

    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code {
        cphoto_frame_rows(decoder, rows, count)
    }
}
