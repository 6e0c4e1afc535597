internal import CPhoto
internal import CTIFF
import NocturneSystem

/// An open picture file of one type: its header has been read, its rows have not.
protocol PhotoSource: AnyObject {
    var format: PhotoFacts.Format { get }
    var header: cphoto_header { get }
    /// 1 to 8.
    var orientation: Int { get }
    var pageCount: Int { get }
    /// Memory besides the requested rows.
    var workingBytes: Int { get }
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

/// Called by the C code between rows. The context is an unretained ``CancellationFlag``; its owner keeps it allocated
/// while the decoder is used.
let photoStop: @convention(c) (UnsafeRawPointer?) -> Int32 = { context in
    guard let context else { return 0 }
    return Unmanaged<CancellationFlag>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
}

func photoStopContext(_ flag: CancellationFlag) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(flag).toOpaque())
}

/// A picture that a C library decodes: libjpeg-turbo, libpng, libtiff, libheif or libwebp.
///
/// The interfaces of all five have the same calls, each for its own decoder, so that one class serves them all.
final class LibrarySource: PhotoSource {
    let format: PhotoFacts.Format
    private(set) var header = cphoto_header()
    private(set) var orientation = 1
    private(set) var pageCount = 1
    private(set) var workingBytes = 0
    private let library: Library
    private let decoder: OpaquePointer?
    private var flag: CancellationFlag?

    init(_ format: PhotoFacts.Format, path: String, limits: PhotoLimits) throws(PhotoError) {
        self.format = format
        library = Library.of(format)
        var decoder: OpaquePointer?
        var (pages, frames) = (ctiff_facts(), cphoto_frame_facts())
        let code =
            switch format {
            case .jpeg: cphoto_jpeg_open(path, &decoder, &header)
            case .png: cphoto_png_open(path, &decoder, &header, &frames)
            case .tiff: ctiff_open(path, limits.bytes, &decoder, &header, &pages)
            case .heic: cphoto_heif_open(path, Int64(limits.storedPixels), &decoder, &header, &frames)
            case .webp: cphoto_webp_open(path, &decoder, &header, &frames)
            case .dicom: preconditionFailure("DCMTK reads DICOM photos")
            }
        self.decoder = decoder
        try PhotoError.check(code, format, path: path, message: message, systemCode: systemCode)
        let width = Int(header.width)
        switch format {
        case .tiff:
            (orientation, pageCount) = (Int(pages.orientation), Int(pages.page_count))
            let (bytes, isTooLarge) = Int(pages.working_bytes).addingReportingOverflow(1 << 20)
            workingBytes = isTooLarge ? .max : bytes
        // Coefficients of the whole picture if it is stored in scans, some rows of every component, the Exif block.
        case .jpeg: workingBytes = Int(header.layered_bytes) + width * 4 * 64 + 1 << 20
        // The library's two rows of up to eight bytes per pixel, one with alpha, and its window.
        case .png:
            pageCount = Int(frames.picture_count)
            workingBytes = Int(header.layered_bytes) + width * 24 + 1 << 20
        default:
            pageCount = Int(frames.picture_count)
            workingBytes = Int(header.layered_bytes) + 1 << 20
        }
        readOrientation()
    }

    deinit { library.close(decoder) }

    /// By the Exif block of JPEG, PNG and WebP; libheif turns pictures itself.
    private func readOrientation() {
        var (count, isText) = (0, Int32(0))
        let exif: UnsafePointer<UInt8>? =
            switch format {
            case .jpeg: cphoto_jpeg_exif(decoder, &count)
            case .png: cphoto_png_exif(decoder, &count, &isText)
            case .webp: cphoto_frame_exif(decoder, &count)
            default: nil
            }
        guard let exif else { return }
        let stored = Array(UnsafeBufferPointer(start: exif, count: count))
        let block = isText != 0 ? PhotoReader.ExifOrientation.block(fromHexadecimal: stored) : stored
        orientation = PhotoReader.ExifOrientation.find(in: block) ?? 1
    }

    var message: String { String(cString: library.message(decoder)) }
    var systemCode: Int32 { library.systemCode(decoder) }

    func ownDenominator(of wanted: Int) -> Int {
        format == .jpeg ? [8, 4, 2].first { wanted % $0 == 0 } ?? 1 : 1
    }

    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code {
        self.flag = flag
        return library.start(decoder, denominator, memory, flag)
    }

    /// libjpeg-turbo skips what is left of and right of the columns; the others decode whole rows.
    func keepColumns(_ columns: Range<Int>) -> Range<Int> {
        guard format == .jpeg else { return 0..<Int(header.width) }
        var (first, count) = (columns.lowerBound, columns.count)
        cphoto_jpeg_keep_columns(decoder, &first, &count)
        return first..<first + count
    }

    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code {
        library.rows(decoder, rows, count)
    }

    var notes: [Note] {
        guard format == .jpeg else { return [] }
        let irregularities = Int(cphoto_jpeg_irregularities(decoder))
        return (irregularities & CPHOTO_NO_END_MARKER != 0 ? [.noEndMarker] : [])
            + (irregularities & CPHOTO_STRAY_BYTES != 0 ? [.strayBytes] : [])
    }

    /// The calls of one library after its file is open.
    private struct Library {
        let close: (OpaquePointer?) -> Void
        let message: (OpaquePointer?) -> UnsafePointer<CChar>
        let systemCode: (OpaquePointer?) -> Int32
        let start: (OpaquePointer?, _ denominator: Int, _ memory: Int, CancellationFlag) -> cphoto_code
        let rows: (OpaquePointer?, UnsafeMutablePointer<UInt8>, Int) -> cphoto_code

        static func of(_ format: PhotoFacts.Format) -> Library {
            switch format {
            case .jpeg:
                Library(
                    close: cphoto_jpeg_close,
                    message: { cphoto_jpeg_message($0) },
                    systemCode: cphoto_jpeg_system_code,
                    start: { cphoto_jpeg_start($0, Int32($1), $2, photoStop, photoStopContext($3)) },
                    rows: cphoto_jpeg_rows
                )
            case .png:
                Library(
                    close: cphoto_png_close,
                    message: { cphoto_png_message($0) },
                    systemCode: cphoto_png_system_code,
                    start: { decoder, _, _, flag in cphoto_png_start(decoder, photoStop, photoStopContext(flag)) },
                    rows: cphoto_png_rows
                )
            case .tiff:
                Library(
                    close: ctiff_close,
                    message: { ctiff_message($0) },
                    systemCode: ctiff_system_code,
                    start: { decoder, _, _, flag in ctiff_start(decoder, photoStop, photoStopContext(flag)) },
                    rows: ctiff_rows
                )
            default:
                Library(
                    close: cphoto_frame_close,
                    message: { cphoto_frame_message($0) },
                    systemCode: cphoto_frame_system_code,
                    start: { decoder, _, _, flag in cphoto_frame_start(decoder, photoStop, photoStopContext(flag)) },
                    rows: cphoto_frame_rows
                )
            }
        }
    }
}
