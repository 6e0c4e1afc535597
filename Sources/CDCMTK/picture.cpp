#include "decoder.hpp"

#include <cmath>

namespace {

using cdcmtk::Bits;
using cdcmtk::fail;
using cdcmtk::Layout;
using cdcmtk::Node;
using cdcmtk::Samples;
using cdcmtk::Table;

uint8_t clamped(double value) { return static_cast<uint8_t>(std::min(std::max(value + 0.5, 0.0), 255.0)); }

bool starts_with(const std::string &text, const char *beginning) { return text.rfind(beginning, 0) == 0; }

/// A stored value of any cell.
int64_t value_at(const Samples &samples, const Bits &bits, size_t index) {
    switch (samples.kind) {
        case Samples::u8: return bits(samples.as<uint8_t>()[index]);
        case Samples::u16: return bits(samples.as<uint16_t>()[index]);
        case Samples::u32: return bits(samples.as<uint32_t>()[index]);
        default: return samples.as<int32_t>()[index];
    }
}

double number_at(const Samples &samples, const Bits &bits, size_t index) {
    if (samples.kind == Samples::f32) return samples.as<float>()[index];
    if (samples.kind == Samples::f64) return samples.as<double>()[index];
    return static_cast<double>(value_at(samples, bits, index));
}

/// The standard's linear window (PS3.3 C.11.2.1.2.1), or the whole range.
void draw_grey(const cdcmtk_decoder &decoder, uint8_t *pixels) {
    const Layout &layout = decoder.layout;
    const Node &set = decoder.object.set;
    Layout safe = layout;
    if (safe.stored > 32) safe.stored = safe.allocated = 32, safe.high = 31;
    const Bits bits(safe);
    const size_t count = static_cast<size_t>(layout.pixels());
    double slope = 1, intercept = 0, centre = 0, width = 0;
    if (!set.numbers(0x00281053, &slope, 1) || slope == 0) slope = 1;
    set.numbers(0x00281052, &intercept, 1);
    Table table;
    const Node *given = set.item(0x00283000);
    const bool is_integer = decoder.samples.kind != Samples::f32 && decoder.samples.kind != Samples::f64;
    const bool tabled =
        given && is_integer && cdcmtk::read_table(*given, 0x00283002, 0x00283006, layout.is_signed, table);
    const auto output = [&](size_t index) {
        if (tabled) return static_cast<double>(table(value_at(decoder.samples, bits, index)));
        return slope * number_at(decoder.samples, bits, index) + intercept;
    };
    double low = 0, high = 0;
    if (set.numbers(0x00281050, &centre, 1, true) && set.numbers(0x00281051, &width, 1, true) && width >= 1) {
        low = centre - 0.5 - (width - 1) / 2;
        high = centre - 0.5 + (width - 1) / 2;
    } else {
        bool first = true;
        for (size_t index = 0; index < count; index += 1) {
            const double value = output(index);
            if (!std::isfinite(value)) continue;
            low = first ? value : std::min(low, value);
            high = first ? value : std::max(high, value);
            first = false;
        }
    }
    const bool inverted = starts_with(layout.photometric, "MONOCHROME1");
    for (size_t index = 0; index < count; index += 1) {
        const double value = output(index);
        double shade = !(value > low) ? 0 : value >= high ? 255 : (value - low) / (high - low) * 255;
        if (inverted) shade = 255 - shade;
        pixels[index * 3] = pixels[index * 3 + 1] = pixels[index * 3 + 2] = clamped(shade);
    }
}

cdcmtk_code draw_palette(const cdcmtk_decoder &decoder, uint8_t *pixels, cdcmtk_error *error) {
    const size_t count = static_cast<size_t>(decoder.layout.pixels());
    const Bits bits(decoder.layout);
    for (uint32_t channel = 0; channel < 3; channel += 1) {
        Table table;
        if (!cdcmtk::read_table(decoder.object.set, 0x00281101 + channel, 0x00281201 + channel,
                                decoder.layout.is_signed, table)) {
            return fail(error, CDCMTK_UNSUPPORTED_PIXELS,
                        std::string("the palette (0028,1101)… is missing, segmented or not usable"));
        }
        // Some writers say 16 bits and mean 8.
        const uint16_t largest = *std::max_element(table.entries.begin(), table.entries.end());
        const unsigned shift = table.bits > 8 && largest > 255 ? table.bits - 8 : 0;
        for (size_t index = 0; index < count; index += 1) {
            pixels[index * 3 + channel] =
                static_cast<uint8_t>(table(value_at(decoder.samples, bits, index)) >> shift);
        }
    }
    return CDCMTK_OK;
}

/// Colour of 8 bits, from YBR where it is that.
void draw_colour(const cdcmtk_decoder &decoder, uint8_t *pixels) {
    const Layout &layout = decoder.layout;
    const Bits bits(layout);
    const size_t count = static_cast<size_t>(layout.pixels());
    const unsigned shift = layout.stored > 8 ? layout.stored - 8 : 0;
    const bool ybr = starts_with(layout.photometric, "YBR") && !decoder.samples.is_rgb;
    const bool partial = starts_with(layout.photometric, "YBR_PARTIAL");
    for (size_t index = 0; index < count; index += 1) {
        double channels[3];
        for (size_t channel = 0; channel < 3; channel += 1) {
            channels[channel] = static_cast<double>(value_at(decoder.samples, bits, index * 3 + channel) >> shift);
        }
        uint8_t *to = pixels + index * 3;
        if (!ybr) {
            for (size_t channel = 0; channel < 3; channel += 1) to[channel] = clamped(channels[channel]);
            continue;
        }
        // PS3.3 C.7.6.3.1.2: the coefficients of CCIR 601.
        const double y = partial ? 1.1644 * (channels[0] - 16) : channels[0];
        const double range = partial ? 1.1384 : 1;
        const double b = (channels[1] - 128) * range, r = (channels[2] - 128) * range;
        to[0] = clamped(y + 1.402 * r);
        to[1] = clamped(y - 0.344136 * b - 0.714136 * r);
        to[2] = clamped(y + 1.772 * b);
    }
}

}  // namespace

extern "C" cdcmtk_code cdcmtk_decoder_picture(cdcmtk_decoder *decoder, cdcmtk_picture *picture, cdcmtk_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        const Layout &layout = decoder->layout;
        const bool grey = starts_with(layout.photometric, "MONOCHROME");
        const bool palette = starts_with(layout.photometric, "PALETTE");
        const bool colour = layout.photometric == "RGB" || starts_with(layout.photometric, "YBR");
        if (!(layout.samples == 1 && (grey || palette)) && !(layout.samples == 3 && colour)) {
            return fail(error, CDCMTK_UNSUPPORTED_PIXELS,
                        "PhotometricInterpretation (0028,0004) \"" + layout.photometric + "\" with "
                            + std::to_string(layout.samples) + " sample(s) a pixel is not a picture that is read");
        }
        const bool real = decoder->object.pixels.kind != cdcmtk::PixelElement::cells;
        if (real && !grey) return fail(error, CDCMTK_UNSUPPORTED_PIXELS, std::string("float pixels are grey only"));
        picture->rows = static_cast<int32_t>(layout.rows);
        picture->columns = static_cast<int32_t>(layout.columns);
        picture->bits = static_cast<int32_t>(layout.stored);
        picture->samples = static_cast<int32_t>(layout.samples);
        picture->frames = static_cast<int32_t>(std::min<uint64_t>(layout.frames, INT32_MAX));
        picture->is_palette = palette;
        picture->is_ybr = starts_with(layout.photometric, "YBR");
        picture->is_grey = grey;
        return CDCMTK_OK;
    });
}

extern "C" cdcmtk_code cdcmtk_decoder_read_picture(cdcmtk_decoder *decoder, uint8_t *pixels, size_t count,
                                                   cdcmtk_error *error) {
    cdcmtk_picture picture;
    const cdcmtk_code code = cdcmtk_decoder_picture(decoder, &picture, error);
    if (code != CDCMTK_OK) return code;
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        if (count != decoder->layout.pixels() * 3) {
            return fail(error, CDCMTK_INTERNAL, std::string("a picture of another size"));
        }
        const cdcmtk_code decoded = decoder->decode(0, error);
        if (decoded != CDCMTK_OK) return decoded;
        if (picture.is_grey) draw_grey(*decoder, pixels);
        if (picture.is_palette) return draw_palette(*decoder, pixels, error);
        if (!picture.is_grey) draw_colour(*decoder, pixels);
        return CDCMTK_OK;
    });
}
