#ifndef CDCMTK_FRAMES_HPP
#define CDCMTK_FRAMES_HPP

#include "dataset.hpp"

namespace cdcmtk {

/// How the samples of every frame of an object lie, as its header says.
struct Layout {
    uint64_t rows = 0, columns = 0, samples = 1, frames = 1;
    unsigned allocated = 0, stored = 0, high = 0;
    bool is_signed = false, planar = false;
    std::string photometric;

    uint64_t pixels() const { return rows * columns; }
    bool is_halved() const { return photometric == "YBR_FULL_422" || photometric == "YBR_PARTIAL_422"; }
};

/// The samples of one frame, those of a pixel side by side.
struct Samples {
    enum Kind { none, u8, u16, u32, i32, f32, f64 };

    Kind kind = none;
    uint64_t per_pixel = 1;
    /// Whether YBR was made RGB by the decoder.
    bool is_rgb = false;
    std::vector<uint64_t> words;

    template <typename T>
    T *as() {
        return reinterpret_cast<T *>(words.data());
    }
    template <typename T>
    const T *as() const {
        return reinterpret_cast<const T *>(words.data());
    }
    void take(Kind made, uint64_t bytes) {
        kind = made;
        words.assign(static_cast<size_t>(bytes / 8 + 1), 0);
    }
};

cdcmtk_code read_layout(const Object &object, Layout &layout, cdcmtk_error *error);

/// Decodes one frame. What was overcome goes to `notes`.
cdcmtk_code decode_frame(Object &object, const Layout &layout, uint32_t frame, Samples &samples,
                         std::vector<std::string> &notes, cdcmtk_error *error);

/// The compressed bytes of one frame: by the order of the fragments, the offset table, or the starts of the streams.
cdcmtk_code gather(Object &object, const Layout &layout, uint32_t frame, std::vector<uint8_t> &stream,
                   std::vector<std::string> &notes, cdcmtk_error *error);

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

bool read_table(const Node &node, uint32_t descriptor, uint32_t data, bool is_signed, Table &table);

/// A stored value: the stored bits alone, the highest of them the sign.
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

}  // namespace cdcmtk

#endif
