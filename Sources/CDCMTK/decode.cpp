#include "decoder.hpp"

#include "cdicom/tags.hpp"

#include <cmath>

namespace {

using cdicom::Bits;
using cdcmtk::fail;
using cdicom::Layout;
using cdicom::PixelElement;
using cdicom::Samples;
using cdicom::Table;

/// Passes the samples of `part`, one per pixel, to `convert`, which returns floats.
template <typename Cell, typename Convert>
void each(const Samples &samples, const Layout &layout, const cdcmtk_rectangle &part, float *pixels, Convert convert) {
    const size_t width = static_cast<size_t>(part.width);
    for (size_t row = 0; row < static_cast<size_t>(part.height); row += 1) {
        const Cell *from = samples.as<Cell>() + (static_cast<size_t>(part.y) + row) * layout.columns + part.x;
        for (size_t column = 0; column < width; column += 1) pixels[row * width + column] = convert(from[column]);
    }
}

template <typename Convert>
void each_integer(const Samples &samples, const Layout &layout, const cdcmtk_rectangle &part, float *pixels,
                  Convert convert) {
    const Bits bits(layout);
    const auto from_cell = [&](uint32_t cell) { return convert(bits(cell)); };
    switch (samples.kind) {
        case Samples::u8: each<uint8_t>(samples, layout, part, pixels, from_cell); break;
        case Samples::u16: each<uint16_t>(samples, layout, part, pixels, from_cell); break;
        case Samples::u32: each<uint32_t>(samples, layout, part, pixels, from_cell); break;
        default: each<int32_t>(samples, layout, part, pixels, [&](int32_t value) { return convert(value); }); break;
    }
}

bool matches(const Layout &layout, const cdcmtk_pixel_layout &asked, bool real) {
    const bool sizes = layout.rows == static_cast<uint64_t>(asked.rows)
        && layout.columns == static_cast<uint64_t>(asked.columns);
    return sizes
        && (real
            || (layout.allocated == static_cast<unsigned>(asked.bits_allocated)
                && layout.stored == static_cast<unsigned>(asked.bits_stored)
                && layout.high == static_cast<unsigned>(asked.high_bit)
                && layout.is_signed == (asked.is_signed != 0)));
}

}  // namespace

cdicom_code cdcmtk_decoder::decode(uint32_t frame, cdicom_error *error) {
    if (kept_frame == frame && samples.kind != Samples::none) return CDICOM_OK;
    const cdicom_code code = cdcmtk::decode_frame(object, layout, frame, samples, notes, error);
    kept_frame = frame;
    if (code != CDICOM_OK) samples.kind = Samples::none;
    return code;
}

extern "C" cdicom_code cdcmtk_decoder_open(const char *path, cdcmtk_decoder **decoder, cdicom_error *error) {
    *decoder = nullptr;
    return cdicom::guarded(error, [=]() -> cdicom_code {
        std::unique_ptr<cdcmtk_decoder> made(new cdcmtk_decoder);
        cdicom_code code = cdcmtk::prepare(error);
        if (code == CDICOM_OK) code = cdcmtk::read_object(path, false, made->object, error);
        if (code == CDICOM_OK) code = cdicom::read_layout(made->object, made->layout, error);
        if (code == CDICOM_OK) *decoder = made.release();
        return code;
    });
}

extern "C" void cdcmtk_decoder_close(cdcmtk_decoder *decoder) { delete decoder; }

extern "C" const char *cdcmtk_decoder_notes(cdcmtk_decoder *decoder) {
    cdicom::guarded(nullptr, [=]() -> cdicom_code {
        decoder->joined_notes.clear();
        for (const std::string &note : decoder->notes) decoder->joined_notes += note + "\n";
        return CDICOM_OK;
    });
    return decoder->joined_notes.c_str();
}

extern "C" cdicom_code cdcmtk_decoder_read(cdcmtk_decoder *decoder, const cdcmtk_slice *slice, float *pixels,
                                           size_t count, cdicom_error *error) {
    return cdicom::guarded(error, [=]() -> cdicom_code {
        const cdcmtk_pixel_layout &asked = slice->layout;
        const cdcmtk_rectangle &area = slice->part;
        const Layout &layout = decoder->layout;
        const bool real = decoder->object.pixels.kind != PixelElement::cells;
        if (!matches(layout, asked, real)) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                        "rows, columns or bits are not those of the scan: did the file change?");
        }
        if (layout.samples != 1) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS, "colour images are not volumes");
        }
        if (area.x < 0 || area.y < 0 || area.width < 1 || area.height < 1 || area.width > asked.columns - area.x
            || area.height > asked.rows - area.y || count != static_cast<size_t>(area.width) * area.height) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS, "a part outside the frame");
        }
        Table table;
        const cdicom::Node *given = slice->with_table ? decoder->object.set.item(cdicom::tag::ModalityLUTSequence) : nullptr;
        if (given
            && (real || !cdicom::read_table(*given, cdicom::tag::LUTDescriptor, cdicom::tag::LUTData,
                                            layout.is_signed, table))) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                        "the table in ModalityLUTSequence (0028,3000) is not usable");
        }
        const cdicom_code code = decoder->decode(slice->frame, error);
        if (code != CDICOM_OK) return code;
        const Samples &samples = decoder->samples;
        const auto rescale = [slope = slice->slope, intercept = slice->intercept](double value) {
            return static_cast<float>(slope * value + intercept);
        };
        if (samples.kind == Samples::f32) {
            each<float>(samples, layout, area, pixels, rescale);
        } else if (samples.kind == Samples::f64) {
            each<double>(samples, layout, area, pixels, rescale);
        } else if (given) {
            each_integer(samples, layout, area, pixels,
                         [&](int64_t value) { return static_cast<float>(table(value)); });
        } else {
            each_integer(samples, layout, area, pixels,
                         [&](int64_t value) { return rescale(static_cast<double>(value)); });
        }
        return CDICOM_OK;
    });
}
