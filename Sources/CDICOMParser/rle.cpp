#include "cdicom/frames.hpp"

#include <cstring>

namespace {

uint32_t little_endian(const uint8_t *bytes) {
    return static_cast<uint32_t>(bytes[0] | bytes[1] << 8 | bytes[2] << 16) | static_cast<uint32_t>(bytes[3]) << 24;
}

/// Unpacks one segment (DICOM PS3.5 G.3.2) to every `stride`-th byte of `cells`. False when it ends before `count`
/// bytes.
bool unpack(const uint8_t *bytes, size_t size, uint8_t *cells, size_t stride, size_t count) {
    size_t at = 0, made = 0;
    while (made < count) {
        if (at >= size) return false;
        const uint8_t control = bytes[at];
        at += 1;
        if (control == 128) continue;
        const size_t length = control < 128 ? control + 1u : 257u - control;
        const size_t wanted = std::min(length, count - made);
        if (control < 128) {
            if (wanted > size - at) return false;
            for (size_t index = 0; index < wanted; index += 1) cells[(made + index) * stride] = bytes[at + index];
            at += length;
        } else {
            if (at >= size) return false;
            for (size_t index = 0; index < wanted; index += 1) cells[(made + index) * stride] = bytes[at];
            at += 1;
        }
        made += wanted;
    }
    return true;
}

}  // namespace

cdicom_code cdicom::decode_rle(const std::vector<uint8_t> &stream, const Layout &layout, Samples &samples,
                               cdicom_error *error) {
    const size_t cell = layout.allocated / 8;
    const size_t pixel = cell * static_cast<size_t>(layout.samples);
    const size_t count = static_cast<size_t>(layout.pixels());
    const size_t segments = stream.size() < 64 ? 0 : little_endian(stream.data());
    if (cell == 0 || segments != pixel || segments > 15) {
        return fail(error, CDICOM_DECODER_FAILED,
                    "the RLE stream has " + std::to_string(segments) + " segments, " + std::to_string(layout.samples)
                        + " sample(s) of " + std::to_string(layout.allocated) + " bits need " + std::to_string(pixel));
    }
    // Two bytes of a run expand to at most 128: no memory is allocated for an image that the stream cannot contain.
    if (count * pixel > stream.size() * 64) {
        return fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                    std::to_string(stream.size()) + " bytes of RLE cannot hold " + std::to_string(count) + " pixels");
    }
    samples.allocate(cell == 1 ? Samples::u8 : cell == 2 ? Samples::u16 : Samples::u32, count * pixel);
    uint8_t *bytes = samples.as<uint8_t>();
    for (size_t segment = 0; segment < segments; segment += 1) {
        const size_t start = little_endian(stream.data() + 4 + 4 * segment);
        const size_t end = segment + 1 < segments ? little_endian(stream.data() + 8 + 4 * segment) : stream.size();
        // The first segment of a sample contains the most significant bytes, which come last in memory.
        const size_t place = segment / cell * cell + (cell - 1 - segment % cell);
        if (start < 64 || start > end || end > stream.size()
            || !unpack(stream.data() + start, end - start, bytes + place, pixel, count)) {
            return fail(error, CDICOM_DECODER_FAILED,
                        "RLE segment " + std::to_string(segment + 1) + " of " + std::to_string(segments)
                            + " ends before the picture does");
        }
    }
    return CDICOM_OK;
}
