#ifndef CDICOM_FRAMES_HPP
#define CDICOM_FRAMES_HPP

#include "dataset.hpp"

#include <algorithm>

namespace cdicom {

/// The layout of the samples of every frame of an object, according to its header.
struct Layout {
    uint64_t rows = 0, columns = 0, samples = 1, frames = 1;
    unsigned allocated = 0, stored = 0, high = 0;
    bool is_signed = false, planar = false;
    std::string photometric;

    uint64_t pixels() const { return rows * columns; }
    bool is_halved() const { return photometric == "YBR_FULL_422" || photometric == "YBR_PARTIAL_422"; }
};

/// The samples of one frame, with those of a pixel adjacent.
struct Samples {
    enum Kind { none, u8, u16, u32, i32, f32, f64 };

    Kind kind = none;
    uint64_t per_pixel = 1;
    /// Whether the decoder has converted YBR to RGB.
    bool is_rgb = false;
    /// Stored as words of eight bytes, so that cells of any type are aligned.
    std::vector<uint64_t> storage;

    template <typename T>
    T *as() {
        return reinterpret_cast<T *>(storage.data());
    }
    template <typename T>
    const T *as() const {
        return reinterpret_cast<const T *>(storage.data());
    }
    /// Allocates this number of bytes for cells, all zero.
    void allocate(Kind kind_of_cells, uint64_t bytes) {
        kind = kind_of_cells;
        storage.assign(static_cast<size_t>(bytes / 8 + 1), 0);
    }
};

/// The layout that the header states, checked.
cdicom_code read_layout(const Object &object, Layout &layout, cdicom_error *error);

/// Reads one frame of uncompressed pixels. Irregularities that could be handled are added to `notes`.
cdicom_code read_native_frame(Object &object, const Layout &layout, uint32_t frame, Samples &samples,
                              std::vector<std::string> &notes, cdicom_error *error);

/// The compressed bytes of one frame: by the order of the fragments, the offset table, or the starts of the streams.
cdicom_code read_stream(Object &object, const Layout &layout, uint32_t frame, std::vector<uint8_t> &stream,
                        std::vector<std::string> &notes, cdicom_error *error);

/// DCMTK's own RLE decoder accepts a truncated stream as an image whose remaining part is blank; here it is an error.
cdicom_code decode_rle(const std::vector<uint8_t> &stream, const Layout &layout, Samples &samples,
                       cdicom_error *error);

/// Adds a note unless it already exists.
void note_once(std::vector<std::string> &notes, const std::string &note);

/// A table of a header (modality or palette): the first stored value, and the entries.
struct Table {
    int64_t first = 0;
    unsigned bits = 16;
    std::vector<uint16_t> entries;

    uint16_t operator()(int64_t value) const {
        const int64_t last = static_cast<int64_t>(entries.size()) - 1;
        return entries[static_cast<size_t>(std::min(std::max<int64_t>(value - first, 0), last))];
    }
};

/// False when the table is missing or unusable. `descriptor` and `data` are the tags of its two elements.
bool read_table(const Node &node, uint32_t descriptor, uint32_t data, bool is_signed, Table &table);

/// A stored value: only the stored bits, the highest of which is the sign.
struct Bits {
    unsigned shift;
    uint32_t mask, sign;

    explicit Bits(const Layout &layout)
        : shift(layout.high + 1 - layout.stored),
          mask(layout.stored >= 32 ? 0xFFFFFFFFu : (1u << layout.stored) - 1),
          sign(layout.is_signed ? 1u << (layout.stored - 1) : 0) {}

    int64_t operator()(uint32_t cell) const {
        const uint32_t stored = (cell >> shift) & mask;
        return static_cast<int64_t>(stored ^ sign) - static_cast<int64_t>(sign);
    }
};

}  // namespace cdicom

#endif
