#include "codecs.hpp"

using cdicom::Compression;

cdicom_code cdcmtk::decode_frame(cdicom::Object &object, const cdicom::Layout &layout, uint32_t frame,
                                 cdicom::Samples &samples, std::vector<std::string> &notes, cdicom_error *error) {
    if (frame >= layout.frames) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS, "there is no frame " + std::to_string(uint64_t(frame) + 1));
    }
    samples.kind = cdicom::Samples::none;
    samples.is_rgb = false;
    samples.per_pixel = layout.samples;
    if (!object.pixels.encapsulated) {
        if (object.syntax && object.syntax->is_encapsulated()) {
            return fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                        "the pixel data is not compressed, although transfer syntax " + object.syntax_uid + " is");
        }
        return cdicom::read_native_frame(object, layout, frame, samples, notes, error);
    }
    for (const std::string &note : object.pixels.notes) cdicom::note_once(notes, note);
    std::vector<uint8_t> stream;
    const cdicom_code code = cdicom::read_stream(object, layout, frame, stream, notes, error);
    if (code != CDICOM_OK) return code;
    if (object.pixels.kind != cdicom::PixelElement::cells) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS, "compressed float pixels are not decoded");
    }
    switch (object.syntax ? object.syntax->compression : Compression::other) {
        case Compression::rle: return cdicom::decode_rle(stream, layout, samples, error);
        case Compression::jpeg2000: return decode_jpeg2000(stream, layout, samples, error);
        case Compression::jpeg:
        case Compression::jpeg_ls:
            return decode_jpeg(stream, layout, DcmXfer(object.syntax->uid).getXfer(), samples, error);
        default:
            return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                        "no decoder for compressed pixels of transfer syntax \"" + object.syntax_uid + "\"");
    }
}
