internal import CDCMTK
internal import CDICOMParser
internal import CPhoto
internal import Glibc
import NocturneSystem

/// The first frame of a DICOM object as a picture: colour and palettes unchanged, YBR converted, grey through the header's window or
/// table, or else as stored. Captured pictures of more than 8 bits, such as slices, are scaled from their smallest to their largest
/// value where they have neither.
///
/// The whole frame is decoded at the start, because DICOM stores it as a unit.
final class DICOMPhotoSource: PhotoSource {
    let format = PhotoFacts.Format.dicom
    let orientation = 1
    private(set) var header = cphoto_header()
    private(set) var message = ""
    private(set) var systemCode: Int32 = 0
    private(set) var notes: [Note] = []
    private let decoder: OpaquePointer
    private let picture: cdcmtk_picture
    private var samples: [UInt8] = []
    private var row = 0

    /// The picture of an object whose class is a picture class: Secondary Capture, and Visible Light except whole
    /// slides. A CT slice is an image too, but not a photo.
    /// - Parameter known: the header of the file, if it was read before.
    convenience init(photoAt path: String, _ known: DICOMObject?) throws(PhotoError) {
        let object: DICOMObject
        do throws(DICOMReadError) {
            if let known { object = known } else { object = try DICOMObject.readHeader(path: path) }
        } catch {
            throw PhotoError(.corrupt, path: path, PhotoError.damage(.dicom, error.detail))
        }
        let isPhoto = ["1.2.840.10008.5.1.4.1.1.7", "1.2.840.10008.5.1.4.1.1.77.1"].contains { family in
            object.sopClassUID == family || object.sopClassUID.hasPrefix(family + ".")
        }
        guard isPhoto, !object.sopClassUID.hasPrefix("1.2.840.10008.5.1.4.1.1.77.1.6") else {
            let name = object.sopClassName.isEmpty ? "a DICOM object" : object.sopClassName
            throw PhotoError(.notAPicture, path: path, "\(name) is not a photo")
        }
        try self.init(path: path)
    }

    init(path: String) throws(PhotoError) {
        var decoder: OpaquePointer?
        var error = cdicom_error()
        var picture = cdcmtk_picture()
        var code = cdcmtk_decoder_open(path, &decoder, &error)
        guard code == CDICOM_OK, let decoder else { throw Self.fault(code, error, path) }
        code = cdcmtk_decoder_picture(decoder, &picture, &error)
        guard code == CDICOM_OK else {
            cdcmtk_decoder_close(decoder)
            throw Self.fault(code, error, path)
        }
        self.decoder = decoder
        self.picture = picture
        // Palette before grey: an image of palette indices has one sample, too.
        let model =
            picture.is_palette != 0
            ? CPHOTO_PALETTE
            : picture.is_grey != 0 ? CPHOTO_GREY : picture.is_ybr != 0 ? CPHOTO_YCBCR : CPHOTO_RGB
        header.width = Int64(picture.columns)
        header.height = Int64(picture.rows)
        header.bits = picture.bits
        header.model = Int32(model.rawValue)
    }

    deinit { cdcmtk_decoder_close(decoder) }

    var pageCount: Int { Int(picture.frames) }

    func ownDenominator(of wanted: Int) -> Int { 1 }
    func keepColumns(_ columns: Range<Int>) -> Range<Int> { 0..<Int(header.width) }

    var workingBytes: Int {
        // The frame as bytes, and as the decoder holds it: compressed, and in cells of up to eight bytes.
        let pixels = Int(header.width) * Int(header.height)
        return pixels * (3 + 12 * Int(picture.samples)) + 1 << 20
    }

    func start(denominator: Int, memory: Int, flag: CancellationFlag) -> cphoto_code {
        if flag.isCancelled { return CPHOTO_STOPPED }
        samples = [UInt8](repeating: 0, count: Int(header.width) * Int(header.height) * 3)
        var error = cdicom_error()
        let code = cdcmtk_decoder_read_picture(decoder, &samples, samples.count, &error)
        row = 0
        guard code == CDICOM_OK else {
            message = text(error.text)
            return code == CDICOM_UNSUPPORTED_PIXELS
                ? CPHOTO_UNSUPPORTED : code == CDICOM_NO_MEMORY ? CPHOTO_NO_MEMORY : CPHOTO_CORRUPT
        }
        notes = picture.is_stretched != 0 ? [.stretched] : []
        notes += String(cString: cdcmtk_decoder_notes(decoder)).split(separator: "\n").map { .odd(String($0)) }
        return CPHOTO_OK
    }

    func read(_ count: Int, into rows: UnsafeMutablePointer<UInt8>) -> cphoto_code {
        let width = Int(header.width) * 3
        guard count >= 0, row + count <= Int(header.height), !samples.isEmpty else { return CPHOTO_CORRUPT }
        samples.withUnsafeBufferPointer { samples in
            if let start = samples.baseAddress { rows.update(from: start + row * width, count: count * width) }
        }
        row += count
        return CPHOTO_OK
    }

    private static func fault(_ code: cdicom_code, _ error: cdicom_error, _ path: String) -> PhotoError {
        let message = text(error.text)
        return switch code {
        case CDICOM_NOT_OPENED: PhotoError(.cannotOpen, path: path, "cannot be opened: \(message)")
        case CDICOM_NO_MEMORY: PhotoError(.outOfMemory, path: path, "no memory to decode the picture")
        case CDICOM_UNSUPPORTED_PIXELS, CDICOM_NO_PIXEL_DATA, CDICOM_NO_DICTIONARY:
            PhotoError(.unsupported, path: path, "the file is not supported (\(message))")
        default: PhotoError(.corrupt, path: path, PhotoError.damage(.dicom, message))
        }
    }
}
