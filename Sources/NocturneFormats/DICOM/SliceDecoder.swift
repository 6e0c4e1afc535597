internal import CDCMTK
internal import CDICOMParser
import NocturneCore

/// An open file whose slices are decoded one after the other; it belongs to one thread at a time.
final class SliceDecoder {
    private let object: DICOMObject
    private let decoder: OpaquePointer
    private let layout: cdcmtk_pixel_layout

    init(of object: DICOMObject) throws(DICOMReadError) {
        // Cells of real pixels have their own type: the numbers of bits are not used for them.
        let isReal = object.pixelKind == .float || object.pixelKind == .double
        let bits =
            isReal ? DICOMObject.BitLayout(allocated: 32, stored: 32, highBit: 31, isSigned: false) : object.bitLayout
        guard let rows = object.plane.rows, let columns = object.plane.columns, (1...65535).contains(rows),
            (1...65535).contains(columns), let bits
        else {
            throw object.error(.unsupportedPixels, "rows, columns or bits are missing or not supported")
        }
        var error = cdicom_error()
        var decoder: OpaquePointer?
        let code = cdcmtk_decoder_open(object.path, &decoder, &error)
        guard code == CDICOM_OK, let decoder else { throw DICOMReadError(code, error, path: object.path) }
        self.object = object
        self.decoder = decoder
        layout = cdcmtk_pixel_layout(
            rows: Int32(rows),
            columns: Int32(columns),
            bits_allocated: Int32(bits.allocated),
            bits_stored: Int32(bits.stored),
            high_bit: Int32(bits.highBit),
            is_signed: bits.isSigned ? 1 : 0
        )
    }

    deinit { cdcmtk_decoder_close(decoder) }

    /// Decodes a slice of this file into `place`, which has as many elements as the slice has pixels.
    func read(
        _ slice: DICOMSlice,
        rescales: Bool = true,
        into place: UnsafeMutableBufferPointer<Float>
    ) throws(DICOMReadError) {
        // The decoder keeps the frame that it decoded last: the tiles of a mosaic copy their parts of it.
        let tile = slice.tile ?? PixelBox(x: 0, y: 0, width: Int(layout.columns), height: Int(layout.rows))
        let part = cdcmtk_rectangle(
            x: Int32(clamping: tile.x),
            y: Int32(clamping: tile.y),
            width: Int32(clamping: tile.width),
            height: Int32(clamping: tile.height)
        )
        var asked = cdcmtk_slice(
            frame: UInt32(clamping: slice.frame),
            layout: layout,
            part: part,
            slope: rescales ? slice.plane.rescaleSlope ?? 1 : 1,
            intercept: rescales ? slice.plane.rescaleIntercept ?? 0 : 0,
            with_table: rescales && object.hasModalityTable ? 1 : 0
        )
        var error = cdicom_error()
        let code = cdcmtk_decoder_read(decoder, &asked, place.baseAddress, place.count, &error)
        guard code == CDICOM_OK else { throw DICOMReadError(code, error, path: slice.path) }
    }

    /// Irregularities of the pixel data that could be handled so far.
    var notes: [String] {
        String(cString: cdcmtk_decoder_notes(decoder)).split(separator: "\n").map(String.init)
    }

    /// Consecutive slices that are stored in one file.
    struct Run: Sendable {
        /// The maximum number of frames of a run: enough to make opening the file cheap, few enough to give every thread
        /// one.
        private static let maximumFrameCount = 16

        /// The index of the first slice among all slices.
        let first: Int
        let slices: [DICOMSlice]

        static func runs(of slices: [DICOMSlice]) -> [Run] {
            var runs: [Run] = []
            var start = 0
            for end in 1...max(slices.count, 1) where end <= slices.count {
                if end < slices.count, slices[end].path == slices[start].path,
                    slices[end].tile != nil
                        ? slices[end].frame == slices[start].frame : end - start < Self.maximumFrameCount
                {
                    continue
                }
                runs.append(Run(first: start, slices: Array(slices[start..<end])))
                start = end
            }
            return runs
        }
    }
}
