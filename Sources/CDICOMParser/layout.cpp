#include "cdicom/frames.hpp"

#include "cdicom/tags.hpp"

namespace {

/// More pixels than any slice has; limits the memory for one frame to a few GiB.
const uint64_t maximum_frame_pixels = 1u << 28;

/// The numbers of a header as stated, with defaults for missing ones.
struct StatedLayout {
    int64_t rows = 0, columns = 0, samples = 1, frames = 1, planar = 0;
    int64_t allocated = 0, stored = 0, high = 0, sign = 0;
};

/// False when the element is there and its value cannot be used; an empty one counts as missing.
bool read_optional(const cdicom::Node &set, uint32_t tag, int64_t &value) {
    const cdicom::Reading reading = set.read(tag, value);
    return reading != cdicom::Reading::unusable && reading != cdicom::Reading::twice;
}

/// False when something is missing or out of range.
bool read_bits(const cdicom::Node &set, StatedLayout &stated) {
    namespace tag = cdicom::tag;
    if (!set.integer(tag::BitsAllocated, stated.allocated) || !set.integer(tag::BitsStored, stated.stored)
        || !set.integer(tag::PixelRepresentation, stated.sign)) {
        return false;
    }
    const int64_t allocated = stated.allocated, stored = stated.stored;
    stated.high = stored - 1;
    return read_optional(set, tag::HighBit, stated.high)
        && (allocated == 1 || allocated == 8 || allocated == 16 || allocated == 32) && stored >= 1
        && stored <= allocated && (stated.sign == 0 || stated.sign == 1) && stated.high >= stored - 1
        && stated.high < allocated;
}

/// False when something is missing or out of range.
bool read_sizes(const cdicom::Node &set, StatedLayout &stated) {
    namespace tag = cdicom::tag;
    const bool has_both = set.integer(tag::Rows, stated.rows) && set.integer(tag::Columns, stated.columns);
    return read_optional(set, tag::SamplesPerPixel, stated.samples)
        && read_optional(set, tag::NumberOfFrames, stated.frames)
        && read_optional(set, tag::PlanarConfiguration, stated.planar) && has_both && stated.rows > 0
        && stated.columns > 0 && stated.rows <= 65535 && stated.columns <= 65535 && stated.samples >= 1
        && stated.samples <= 4 && stated.frames >= 1
        && static_cast<uint64_t>(stated.rows * stated.columns) <= maximum_frame_pixels;
}

}  // namespace

cdicom_code cdicom::read_layout(const Object &object, Layout &layout, cdicom_error *error) {
    const PixelElement::Kind kind = object.pixels.kind;
    if (kind == PixelElement::none) {
        return fail(error, CDICOM_NO_PIXEL_DATA, "there is no element PixelData (7FE0,0010)");
    }
    const bool is_floating_point = kind == PixelElement::floats || kind == PixelElement::doubles;
    StatedLayout stated;
    bool is_valid = read_sizes(object.set, stated);
    if (is_floating_point) {
        stated.allocated = stated.stored = kind == PixelElement::floats ? 32 : 64;
        stated.high = stated.stored - 1;
        is_valid = is_valid && stated.samples == 1;
    } else {
        is_valid = is_valid && read_bits(object.set, stated);
    }
    if (!is_valid) return fail(error, CDICOM_UNSUPPORTED_PIXELS, "rows, columns or bits are missing or out of range");
    layout.rows = static_cast<uint64_t>(stated.rows);
    layout.columns = static_cast<uint64_t>(stated.columns);
    layout.samples = static_cast<uint64_t>(stated.samples);
    layout.frames = static_cast<uint64_t>(stated.frames);
    layout.allocated = static_cast<unsigned>(stated.allocated);
    layout.stored = static_cast<unsigned>(stated.stored);
    layout.high = static_cast<unsigned>(stated.high);
    layout.is_signed = stated.sign == 1;
    layout.planar = stated.planar == 1;
    layout.photometric = object.set.text(tag::PhotometricInterpretation);
    if (layout.is_halved() && layout.samples == 3 && (layout.allocated != 8 || layout.columns % 2 != 0)
        && !object.pixels.encapsulated) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                    layout.photometric + " is read with 8 bits and an even number of columns only");
    }
    return CDICOM_OK;
}
