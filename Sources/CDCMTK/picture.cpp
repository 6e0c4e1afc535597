#include "decoder.hpp"

#include "cdicom/tags.hpp"

#include <cmath>

namespace {

using cdicom::Bits;
using cdcmtk::fail;
using cdicom::Layout;
using cdicom::Node;
using cdicom::Samples;
using cdicom::Table;
namespace tag = cdicom::tag;

uint8_t clamped(double value) { return static_cast<uint8_t>(std::min(std::max(value + 0.5, 0.0), 255.0)); }

bool starts_with(const std::string &text, const char *beginning) { return text.rfind(beginning, 0) == 0; }

/// A stored value of any cell type.
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

/// Which values of a grey picture are black and white.
struct Shading {
    double low = 0, high = 0;
    /// Without entries for a linear one.
    Table table;
    /// Whether the limits are those of the bits, or of the values that the picture has.
    bool is_of_bits = false, is_stretched = false;
};

/// By the standard's linear window (PS3.3 C.11.2.1.2.1) or by its table. Without both, values are shown as they are stored, as DCMTK
/// and pydicom do. Of more than 8 bits other pictures than photos use few values, such as captured slices: they are stretched.
Shading shading_of(const cdcmtk_decoder &decoder) {
    const Layout &layout = decoder.layout;
    const Node &set = decoder.object.set;
    Shading shading;
    double centre = 0, width = 0;
    if (set.numbers(tag::WindowCenter, &centre, 1, true) && set.numbers(tag::WindowWidth, &width, 1, true)
        && width >= 1) {
        shading.low = centre - 0.5 - (width - 1) / 2;
        shading.high = centre - 0.5 + (width - 1) / 2;
        return shading;
    }
    const bool is_integer = decoder.object.pixels.kind == cdicom::PixelElement::cells;
    const Node *given = set.item(tag::VOILUTSequence);
    if (given && is_integer
        && cdicom::read_table(*given, tag::LUTDescriptor, tag::LUTData, layout.is_signed, shading.table)) {
        shading.high = (1u << shading.table.bits) - 1;
        return shading;
    }
    const bool is_photo = starts_with(set.text(tag::SOPClassUID), "1.2.840.10008.5.1.4.1.1.77.1");
    shading.is_of_bits = is_integer && (layout.stored <= 8 || is_photo);
    shading.is_stretched = !shading.is_of_bits;
    return shading;
}

void draw_grey(const cdcmtk_decoder &decoder, uint8_t *pixels) {
    const Layout &layout = decoder.layout;
    const Node &set = decoder.object.set;
    Layout safe = layout;
    if (safe.stored > 32) safe.stored = safe.allocated = 32, safe.high = 31;
    const Bits bits(safe);
    const size_t count = static_cast<size_t>(layout.pixels());
    double slope = 1, intercept = 0;
    if (!set.numbers(tag::RescaleSlope, &slope, 1) || slope == 0) slope = 1;
    set.numbers(tag::RescaleIntercept, &intercept, 1);
    Table table;
    const Node *given = set.item(tag::ModalityLUTSequence);
    const bool is_integer = decoder.samples.kind != Samples::f32 && decoder.samples.kind != Samples::f64;
    const bool tabled =
        given && is_integer
        && cdicom::read_table(*given, tag::LUTDescriptor, tag::LUTData, layout.is_signed, table);
    Shading shading = shading_of(decoder);
    const auto output = [&](size_t index) {
        if (tabled) return static_cast<double>(table(value_at(decoder.samples, bits, index)));
        return slope * number_at(decoder.samples, bits, index) + intercept;
    };
    double &low = shading.low, &high = shading.high;
    if (shading.is_of_bits && tabled) high = (1u << table.bits) - 1;
    if (shading.is_of_bits && !tabled) {
        const double count_of_values = std::exp2(safe.stored), least = safe.is_signed ? -count_of_values / 2 : 0;
        const double ends[] = {slope * least + intercept, slope * (least + count_of_values - 1) + intercept};
        low = std::min(ends[0], ends[1]);
        high = std::max(ends[0], ends[1]);
    }
    if (shading.is_stretched) {
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
        double value = output(index);
        if (!shading.table.entries.empty()) value = shading.table(std::llround(value));
        double shade = !(value > low) ? 0 : value >= high ? 255 : (value - low) / (high - low) * 255;
        if (inverted) shade = 255 - shade;
        pixels[index * 3] = pixels[index * 3 + 1] = pixels[index * 3 + 2] = clamped(shade);
    }
}

cdicom_code draw_palette(const cdcmtk_decoder &decoder, uint8_t *pixels, cdicom_error *error) {
    const size_t count = static_cast<size_t>(decoder.layout.pixels());
    const Bits bits(decoder.layout);
    const uint32_t descriptors[] = {tag::RedPaletteColorLookupTableDescriptor,
                                    tag::GreenPaletteColorLookupTableDescriptor,
                                    tag::BluePaletteColorLookupTableDescriptor};
    const uint32_t entries[] = {tag::RedPaletteColorLookupTableData, tag::GreenPaletteColorLookupTableData,
                                tag::BluePaletteColorLookupTableData};
    for (size_t channel = 0; channel < 3; channel += 1) {
        Table table;
        if (!cdicom::read_table(decoder.object.set, descriptors[channel], entries[channel], decoder.layout.is_signed,
                                table)) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                        "the palette (0028,1101)… is missing, segmented or not usable");
        }
        // Some writers state 16 bits but store 8.
        const uint16_t largest = *std::max_element(table.entries.begin(), table.entries.end());
        const unsigned shift = table.bits > 8 && largest > 255 ? table.bits - 8 : 0;
        for (size_t index = 0; index < count; index += 1) {
            pixels[index * 3 + channel] =
                static_cast<uint8_t>(table(value_at(decoder.samples, bits, index)) >> shift);
        }
    }
    return CDICOM_OK;
}

/// Colour of 8 bits, converted from YBR if necessary.
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

/// The element that decides how a grey picture looks and whose value cannot be used; null if there is none.
const char *unusable_element(const Node &set) {
    static const struct {
        uint32_t tag;
        const char *name;
    } elements[] = {
        {tag::RescaleSlope, "RescaleSlope (0028,1053)"},
        {tag::RescaleIntercept, "RescaleIntercept (0028,1052)"},
        {tag::WindowCenter, "WindowCenter (0028,1050)"},
        {tag::WindowWidth, "WindowWidth (0028,1051)"},
    };
    for (const auto &element : elements) {
        double value = 0;
        const bool more_allowed = element.tag == tag::WindowCenter || element.tag == tag::WindowWidth;
        const cdicom::Reading reading = set.read(element.tag, &value, 1, more_allowed);
        if (reading == cdicom::Reading::unusable || reading == cdicom::Reading::twice) return element.name;
    }
    return nullptr;
}

}  // namespace

extern "C" cdicom_code cdcmtk_decoder_picture(cdcmtk_decoder *decoder, cdcmtk_picture *picture, cdicom_error *error) {
    return cdicom::guarded(error, [=]() -> cdicom_code {
        const Layout &layout = decoder->layout;
        const bool grey = starts_with(layout.photometric, "MONOCHROME");
        const bool palette = starts_with(layout.photometric, "PALETTE");
        const bool colour = layout.photometric == "RGB" || starts_with(layout.photometric, "YBR");
        if (!(layout.samples == 1 && (grey || palette)) && !(layout.samples == 3 && colour)) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                        "PhotometricInterpretation (0028,0004) \"" + layout.photometric + "\" with "
                            + std::to_string(layout.samples) + " sample(s) per pixel is not supported");
        }
        const bool real = decoder->object.pixels.kind != cdicom::PixelElement::cells;
        if (real && !grey) return fail(error, CDICOM_UNSUPPORTED_PIXELS, "float pixels are grey only");
        const char *unusable = grey ? unusable_element(decoder->object.set) : nullptr;
        if (unusable) {
            return fail(error, CDICOM_UNSUPPORTED_PIXELS, std::string("the value of ") + unusable + " cannot be used");
        }
        picture->rows = static_cast<int32_t>(layout.rows);
        picture->columns = static_cast<int32_t>(layout.columns);
        picture->bits = static_cast<int32_t>(layout.stored);
        picture->samples = static_cast<int32_t>(layout.samples);
        picture->frames = static_cast<int32_t>(std::min<uint64_t>(layout.frames, INT32_MAX));
        picture->is_palette = palette;
        picture->is_ybr = starts_with(layout.photometric, "YBR");
        picture->is_grey = grey;
        picture->is_stretched = grey && shading_of(*decoder).is_stretched;
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_decoder_read_picture(cdcmtk_decoder *decoder, uint8_t *pixels, size_t count,
                                                   cdicom_error *error) {
    cdcmtk_picture picture;
    const cdicom_code code = cdcmtk_decoder_picture(decoder, &picture, error);
    if (code != CDICOM_OK) return code;
    return cdicom::guarded(error, [=]() -> cdicom_code {
        if (count != decoder->layout.pixels() * 3) {
            return fail(error, CDICOM_INTERNAL, "a picture of another size");
        }
        const cdicom_code decoded = decoder->decode(0, error);
        if (decoded != CDICOM_OK) return decoded;
        if (picture.is_grey) draw_grey(*decoder, pixels);
        if (picture.is_palette) return draw_palette(*decoder, pixels, error);
        if (!picture.is_grey) draw_colour(*decoder, pixels);
        return CDICOM_OK;
    });
}
