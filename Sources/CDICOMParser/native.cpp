#include "cdicom/frames.hpp"

#include <cstring>

namespace {

using namespace cdicom;

bool is_floating_point(const PixelElement &pixels) {
    return pixels.kind == PixelElement::floats || pixels.kind == PixelElement::doubles;
}

/// Whether two pixels share their colour: Y Y Cb Cr.
bool has_shared_colour(const Layout &layout) { return layout.is_halved() && layout.samples == 3; }

/// The bits of all samples of a frame.
uint64_t bits_of_frame(const Object &object, const Layout &layout) {
    switch (object.pixels.kind) {
        case PixelElement::floats: return layout.pixels() * 32;
        case PixelElement::doubles: return layout.pixels() * 64;
        default: break;
    }
    if (has_shared_colour(layout)) return layout.pixels() * 2 * layout.allocated;
    return layout.pixels() * layout.samples * layout.allocated;
}

/// Compares the length of the pixel data with the size of all frames.
cdicom_code check_length(Object &object, const Layout &layout, std::vector<std::string> &notes, cdicom_error *error) {
    const uint64_t bits = bits_of_frame(object, layout);
    const uint64_t all = (bits * layout.frames + 7) / 8, one = (bits + 7) / 8;
    const uint64_t stated = object.pixels.native.length;
    const uint64_t there = std::min(stated, object.bytes->left(object.pixels.native.at));
    if (there < all || (stated >= all + one && stated > all + 1 && there == stated)) {
        return fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                    "the pixel data holds " + std::to_string(there) + " bytes, "
                        + (layout.frames > 1 ? std::to_string(layout.frames) + " frames of these rows and columns need "
                                             : std::string("rows and columns need "))
                        + std::to_string(all));
    }
    if (there < stated) {
        note_once(notes, "the stated length of the pixel data is " + std::to_string(stated)
                             + " bytes, the file ends after " + std::to_string(there) + ", which suffice");
    } else if (there > all + 1) {
        note_once(notes, std::to_string(there - all) + " bytes after the last pixel were skipped");
    }
    return CDICOM_OK;
}

/// Reverses the bytes of each cell.
void swap_bytes(uint8_t *bytes, size_t count, size_t cell) {
    for (size_t at = 0; at + cell <= count; at += cell) std::reverse(bytes + at, bytes + at + cell);
}

/// Copies the shared colour to each of two pixels.
void spread(const std::vector<uint8_t> &shared, uint8_t *full, size_t pixels) {
    for (size_t pair = 0; pair < pixels / 2; pair += 1) {
        const uint8_t *from = &shared[pair * 4];
        for (size_t side = 0; side < 2; side += 1) {
            uint8_t *to = full + (pair * 2 + side) * 3;
            to[0] = from[side];
            to[1] = from[2];
            to[2] = from[3];
        }
    }
}

/// Interleaves the planes of a frame, pixel by pixel.
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

/// One bit per pixel, packed across frames.
bool read_bits(Object &object, const Layout &layout, uint32_t frame, Samples &samples) {
    const uint64_t count = layout.pixels() * layout.samples, start = count * frame;
    std::vector<uint8_t> packed(static_cast<size_t>((start % 8 + count + 7) / 8));
    if (!object.bytes->copy(object.pixels.native.at + start / 8, packed.size(), packed.data())) return false;
    samples.allocate(Samples::u8, count);
    uint8_t *cells = samples.as<uint8_t>();
    for (uint64_t index = 0; index < count; index += 1) {
        const uint64_t bit = start % 8 + index;
        cells[index] = packed[static_cast<size_t>(bit / 8)] >> (bit % 8) & 1;
    }
    return true;
}

bool read_shared_colour(Object &object, const Layout &layout, uint64_t start, size_t bytes, Samples &samples) {
    std::vector<uint8_t> shared(bytes);
    if (!object.bytes->copy(start, bytes, shared.data())) return false;
    samples.allocate(Samples::u8, layout.pixels() * layout.samples);
    spread(shared, samples.as<uint8_t>(), static_cast<size_t>(layout.pixels()));
    return true;
}

Samples::Kind kind_of_cells(const PixelElement &pixels, size_t cell) {
    if (is_floating_point(pixels)) return cell == 4 ? Samples::f32 : Samples::f64;
    return cell == 1 ? Samples::u8 : cell == 2 ? Samples::u16 : Samples::u32;
}

/// Cells of one, two, four or eight bytes in the byte order of this machine, in file order.
bool read_cells(Object &object, uint64_t start, size_t bytes, size_t cell, Samples &samples) {
    const PixelElement &pixels = object.pixels;
    samples.allocate(kind_of_cells(pixels, cell), bytes);
    uint8_t *target = samples.as<uint8_t>();
    if (cell == 1 && pixels.big && pixels.in_words) {
        // Words of two cells, which may start in the preceding frame.
        const uint64_t odd = (start - pixels.native.at) % 2;
        std::vector<uint8_t> words(static_cast<size_t>((odd + bytes + 1) / 2 * 2));
        const uint64_t there = std::min<uint64_t>(words.size(), object.bytes->left(start - odd));
        if (!object.bytes->copy(start - odd, static_cast<size_t>(there), words.data())) return false;
        swap_bytes(words.data(), words.size(), 2);
        std::memcpy(target, words.data() + odd, bytes);
        return true;
    }
    if (!object.bytes->copy(start, bytes, target)) return false;
    if (pixels.big && cell > 1) swap_bytes(target, bytes, cell);
    return true;
}

bool read_frame(Object &object, const Layout &layout, uint32_t frame, Samples &samples) {
    const PixelElement &pixels = object.pixels;
    if (pixels.kind == PixelElement::cells && layout.allocated == 1) return read_bits(object, layout, frame, samples);
    const size_t bytes = static_cast<size_t>(bits_of_frame(object, layout) / 8);
    const uint64_t start = pixels.native.at + static_cast<uint64_t>(bytes) * frame;
    if (has_shared_colour(layout)) return read_shared_colour(object, layout, start, bytes, samples);
    const size_t cell =
        is_floating_point(pixels) ? (pixels.kind == PixelElement::floats ? 4 : 8) : layout.allocated / 8;
    if (!read_cells(object, start, bytes, cell, samples)) return false;
    if (layout.samples > 1 && layout.planar) {
        const size_t pixel_count = static_cast<size_t>(layout.pixels()), planes = static_cast<size_t>(layout.samples);
        if (cell == 1) interleave<uint8_t>(samples, pixel_count, planes);
        if (cell == 2) interleave<uint16_t>(samples, pixel_count, planes);
        if (cell == 4) interleave<uint32_t>(samples, pixel_count, planes);
    }
    return true;
}

}  // namespace

void cdicom::note_once(std::vector<std::string> &notes, const std::string &note) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

cdicom_code cdicom::read_native_frame(Object &object, const Layout &layout, uint32_t frame, Samples &samples,
                                      std::vector<std::string> &notes, cdicom_error *error) {
    const cdicom_code code = check_length(object, layout, notes, error);
    if (code != CDICOM_OK) return code;
    if (read_frame(object, layout, frame, samples)) return CDICOM_OK;
    return fail(error, CDICOM_WRONG_PIXEL_LENGTH, "the pixel data cannot be read");
}
