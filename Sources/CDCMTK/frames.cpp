#include "codecs.hpp"

#include <cstring>

namespace {

using cdcmtk::fail;
using cdcmtk::Layout;
using cdcmtk::Object;
using cdcmtk::PixelElement;
using cdcmtk::Samples;

/// More pixels than any slice has; keeps what one frame can ask for under a few GiB.
const uint64_t largest_frame = 1u << 28;

void note_once(std::vector<std::string> &notes, const std::string &words) {
    if (std::find(notes.begin(), notes.end(), words) == notes.end()) notes.push_back(words);
}

/// The bits of all samples of a native frame.
uint64_t native_bits(const Object &object, const Layout &layout) {
    switch (object.pixels.kind) {
        case PixelElement::floats: return layout.pixels() * 32;
        case PixelElement::doubles: return layout.pixels() * 64;
        default: break;
    }
    // Two pixels share their colour.
    if (layout.is_halved() && layout.samples == 3) return layout.pixels() * 2 * layout.allocated;
    return layout.pixels() * layout.samples * layout.allocated;
}

cdcmtk_code check_native(Object &object, const Layout &layout, std::vector<std::string> &notes, cdcmtk_error *error) {
    const uint64_t bits = native_bits(object, layout);
    const uint64_t all = (bits * layout.frames + 7) / 8, one = (bits + 7) / 8;
    const uint64_t stated = object.pixels.native.length;
    const uint64_t there = std::min(stated, object.bytes->left(object.pixels.native.at));
    if (there < all || (stated >= all + one && stated > all + 1 && there == stated)) {
        return fail(error, CDCMTK_WRONG_PIXEL_LENGTH,
                    "the pixel data holds " + std::to_string(there) + " bytes, "
                        + (layout.frames > 1 ? std::to_string(layout.frames) + " frames of these rows and columns need "
                                             : std::string("rows and columns need "))
                        + std::to_string(all));
    }
    if (there < stated) {
        note_once(notes, "the pixel data claims " + std::to_string(stated) + " bytes, the file ends after "
                             + std::to_string(there) + ", which suffice");
    } else if (there > all + 1) {
        note_once(notes, std::to_string(there - all) + " bytes behind the last pixel were skipped");
    }
    return CDCMTK_OK;
}

/// Turns the bytes of big-endian cells.
void turn(uint8_t *bytes, size_t count, size_t cell) {
    for (size_t at = 0; at + cell <= count; at += cell) std::reverse(bytes + at, bytes + at + cell);
}

/// Pixels whose colour two share: Y Y Cb Cr.
void spread(const std::vector<uint8_t> &halved, uint8_t *full, size_t pixels) {
    for (size_t pair = 0; pair < pixels / 2; pair += 1) {
        const uint8_t *from = &halved[pair * 4];
        for (size_t side = 0; side < 2; side += 1) {
            uint8_t *to = full + (pair * 2 + side) * 3;
            to[0] = from[side];
            to[1] = from[2];
            to[2] = from[3];
        }
    }
}

/// Puts the planes of a frame together, pixel by pixel.
template <typename T>
void interleave(Samples &samples, size_t pixels, size_t planes) {
    std::vector<T> apart(samples.as<T>(), samples.as<T>() + pixels * planes);
    T *together = samples.as<T>();
    for (size_t plane = 0; plane < planes; plane += 1) {
        for (size_t pixel = 0; pixel < pixels; pixel += 1) {
            together[pixel * planes + plane] = apart[plane * pixels + pixel];
        }
    }
}

cdcmtk_code read_bits(Object &object, const Layout &layout, uint32_t frame, Samples &samples, cdcmtk_error *error) {
    const uint64_t count = layout.pixels() * layout.samples, start = count * frame;
    std::vector<uint8_t> packed(static_cast<size_t>((start % 8 + count + 7) / 8));
    if (!object.bytes->copy(object.pixels.native.at + start / 8, packed.size(), packed.data())) {
        return fail(error, CDCMTK_WRONG_PIXEL_LENGTH, std::string("the pixel data cannot be read"));
    }
    samples.take(Samples::u8, count);
    uint8_t *cells = samples.as<uint8_t>();
    for (uint64_t index = 0; index < count; index += 1) {
        const uint64_t bit = start % 8 + index;
        cells[index] = packed[static_cast<size_t>(bit / 8)] >> (bit % 8) & 1;
    }
    return CDCMTK_OK;
}

cdcmtk_code read_native(Object &object, const Layout &layout, uint32_t frame, Samples &samples, cdcmtk_error *error) {
    const PixelElement &pixels = object.pixels;
    if (pixels.kind == PixelElement::cells && layout.allocated == 1) {
        return read_bits(object, layout, frame, samples, error);
    }
    const size_t bytes = static_cast<size_t>(native_bits(object, layout) / 8);
    const uint64_t start = pixels.native.at + static_cast<uint64_t>(bytes) * frame;
    const size_t count = static_cast<size_t>(layout.pixels() * layout.samples);
    const auto unread = [error]() {
        return fail(error, CDCMTK_WRONG_PIXEL_LENGTH, std::string("the pixel data cannot be read"));
    };
    if (layout.is_halved() && layout.samples == 3) {
        std::vector<uint8_t> halved(bytes);
        if (!object.bytes->copy(start, bytes, halved.data())) return unread();
        samples.take(Samples::u8, count);
        spread(halved, samples.as<uint8_t>(), static_cast<size_t>(layout.pixels()));
        return CDCMTK_OK;
    }
    const bool real = pixels.kind != PixelElement::cells;
    const size_t cell = real ? (pixels.kind == PixelElement::floats ? 4 : 8) : layout.allocated / 8;
    samples.take(real ? (cell == 4 ? Samples::f32 : Samples::f64)
                      : (cell == 1 ? Samples::u8 : cell == 2 ? Samples::u16 : Samples::u32),
                 bytes);
    if (cell == 1 && pixels.big && pixels.in_words) {
        // Words of two cells, which may begin in the frame before.
        const uint64_t odd = (start - pixels.native.at) % 2;
        std::vector<uint8_t> words(static_cast<size_t>((odd + bytes + 1) / 2 * 2));
        const uint64_t there = std::min<uint64_t>(words.size(), object.bytes->left(start - odd));
        if (!object.bytes->copy(start - odd, static_cast<size_t>(there), words.data())) return unread();
        turn(words.data(), words.size(), 2);
        std::memcpy(samples.words.data(), words.data() + odd, bytes);
    } else {
        if (!object.bytes->copy(start, bytes, samples.words.data())) return unread();
        if (pixels.big && cell > 1) turn(samples.as<uint8_t>(), bytes, cell);
    }
    if (layout.samples > 1 && layout.planar) {
        const size_t pixel_count = static_cast<size_t>(layout.pixels()), planes = static_cast<size_t>(layout.samples);
        if (cell == 1) interleave<uint8_t>(samples, pixel_count, planes);
        if (cell == 2) interleave<uint16_t>(samples, pixel_count, planes);
        if (cell == 4) interleave<uint32_t>(samples, pixel_count, planes);
    }
    return CDCMTK_OK;
}

}  // namespace

cdcmtk_code cdcmtk::read_layout(const Object &object, Layout &layout, cdcmtk_error *error) {
    const Node &set = object.set;
    int64_t rows = 0, columns = 0, samples = 1, frames = 1, allocated = 0, stored = 0, sign = 0, planar = 0;
    const bool real = object.pixels.kind == PixelElement::floats || object.pixels.kind == PixelElement::doubles;
    if (object.pixels.kind == PixelElement::none) {
        return fail(error, CDCMTK_NO_PIXEL_DATA, std::string("there is no element PixelData (7FE0,0010)"));
    }
    const bool whole = set.integer(0x00280010, rows) && set.integer(0x00280011, columns);
    set.integer(0x00280002, samples);
    if (!set.integer(0x00280008, frames)) frames = 1;
    set.integer(0x00280006, planar);
    bool sane = whole && rows > 0 && columns > 0 && rows <= 65535 && columns <= 65535 && samples >= 1 && samples <= 4
        && frames >= 1 && static_cast<uint64_t>(rows * columns) <= largest_frame;
    if (real) {
        allocated = stored = object.pixels.kind == PixelElement::floats ? 32 : 64;
        sane = sane && samples == 1;
    } else {
        sane = sane && set.integer(0x00280100, allocated) && set.integer(0x00280101, stored)
            && set.integer(0x00280103, sign)
            && (allocated == 1 || allocated == 8 || allocated == 16 || allocated == 32) && stored >= 1
            && stored <= allocated && (sign == 0 || sign == 1);
    }
    int64_t high = stored - 1;
    if (!real && set.integer(0x00280102, high) && (high < stored - 1 || high >= allocated)) sane = false;
    if (!sane) {
        return fail(error, CDCMTK_UNSUPPORTED_PIXELS, std::string("rows, columns or bits are missing or out of range"));
    }
    layout.rows = static_cast<uint64_t>(rows);
    layout.columns = static_cast<uint64_t>(columns);
    layout.samples = static_cast<uint64_t>(samples);
    layout.frames = static_cast<uint64_t>(frames);
    layout.allocated = static_cast<unsigned>(allocated);
    layout.stored = static_cast<unsigned>(stored);
    layout.high = static_cast<unsigned>(high);
    layout.is_signed = sign == 1;
    layout.planar = planar == 1;
    layout.photometric = set.text(0x00280004);
    if (layout.is_halved() && layout.samples == 3 && (layout.allocated != 8 || layout.columns % 2 != 0)
        && !object.pixels.encapsulated) {
        return fail(error, CDCMTK_UNSUPPORTED_PIXELS,
                    layout.photometric + " is read with 8 bits and an even number of columns only");
    }
    return CDCMTK_OK;
}

cdcmtk_code cdcmtk::decode_frame(Object &object, const Layout &layout, uint32_t frame, Samples &samples,
                                 std::vector<std::string> &notes, cdcmtk_error *error) {
    if (frame >= layout.frames) {
        return fail(error, CDCMTK_UNSUPPORTED_PIXELS, "there is no frame " + std::to_string(uint64_t(frame) + 1));
    }
    samples.kind = Samples::none;
    samples.is_rgb = false;
    samples.per_pixel = layout.samples;
    const DcmXfer syntax(object.syntax);
    cdcmtk_code code = CDCMTK_OK;
    if (!object.pixels.encapsulated) {
        if (syntax.isEncapsulated()) {
            return fail(error, CDCMTK_WRONG_PIXEL_LENGTH,
                        "the pixel data is not compressed, as transfer syntax " + object.syntax_uid + " says");
        }
        code = check_native(object, layout, notes, error);
        return code == CDCMTK_OK ? read_native(object, layout, frame, samples, error) : code;
    }
    for (const std::string &words : object.pixels.notes) note_once(notes, words);
    std::vector<uint8_t> stream;
    code = gather(object, layout, frame, stream, notes, error);
    if (code != CDCMTK_OK) return code;
    if (object.pixels.kind != PixelElement::cells) {
        return fail(error, CDCMTK_UNSUPPORTED_PIXELS, std::string("compressed float pixels are not decoded"));
    }
    switch (object.syntax) {
        case EXS_RLELossless: return decode_rle(stream, layout, samples, error);
        case EXS_JPEG2000LosslessOnly:
        case EXS_JPEG2000: return decode_jpeg2000(stream, layout, samples, error);
        case EXS_JPEGProcess1:
        case EXS_JPEGProcess2_4:
        case EXS_JPEGProcess6_8:
        case EXS_JPEGProcess10_12:
        case EXS_JPEGProcess14:
        case EXS_JPEGProcess14SV1:
        case EXS_JPEGLSLossless:
        case EXS_JPEGLSLossy: return decode_jpeg(stream, layout, object.syntax, samples, error);
        default:
            return fail(error, CDCMTK_UNSUPPORTED_PIXELS,
                        "no decoder for compressed pixels of transfer syntax \"" + object.syntax_uid + "\"");
    }
}
