internal import CPhoto
internal import CTIFF
internal import NocturneConcurrency
import NocturneSystem

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
