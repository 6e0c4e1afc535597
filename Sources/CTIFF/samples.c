// Conversion of samples to bytes and of bytes to colours, and the chain of directories.
#include "internal.h"

#include <string.h>
#include <unistd.h>

static unsigned bits_at(const uint8_t *source, size_t place, unsigned bits)
{
    unsigned value = 0;
    for (unsigned i = 0; i < bits; i++, place++) value = value << 1 | (source[place >> 3] >> (7 - (place & 7)) & 1u);
    return value;
}

void ctiff_unpack(const uint8_t *source, size_t count, unsigned bits, int is_index, uint8_t *target, size_t step)
{
    if (bits == 8) {
        if (step == 1) {
            memcpy(target, source, count);
        } else {
            for (size_t i = 0; i < count; i++) target[i * step] = source[i];
        }
    } else if (bits == 16) {
        // The library returns numbers in the machine's byte order; the high byte is used, as in Pillow.
        for (size_t i = 0; i < count; i++) {
            uint16_t value;
            memcpy(&value, source + i * 2, 2);
            target[i * step] = (uint8_t)(value >> 8);
        }
    } else if (bits == 24 || bits == 32) {
        size_t size = bits / 8;
        size_t high = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? size - 1 : 0;
        for (size_t i = 0; i < count; i++) target[i * step] = source[i * size + high];
    } else {
        unsigned most = (1u << bits) - 1;
        for (size_t i = 0; i < count; i++) {
            unsigned value = bits_at(source, i * bits, bits);
            if (is_index) {
                target[i * step] = (uint8_t)value;
            } else {
                target[i * step] = (uint8_t)(bits > 8 ? value >> (bits - 8) : (value * 255 + most / 2) / most);
            }
        }
    }
}

static uint8_t blend_on_white(const ctiff_decoder *decoder, unsigned value, unsigned alpha)
{
    if (decoder->alpha == EXTRASAMPLE_ASSOCALPHA) {
        unsigned sum = value + 255 - alpha;
        return (uint8_t)(sum > 255 ? 255 : sum);
    }
    const uint8_t pixel[4] = {(uint8_t)value, 0, 0, (uint8_t)alpha};
    uint8_t rgb[3];
    cphoto_rgba_on_white(pixel, rgb, 1);
    return rgb[0];
}

void ctiff_convert(const ctiff_decoder *decoder, const uint8_t *samples, uint8_t *rgb)
{
    size_t step = decoder->samples;
    for (int64_t x = 0; x < decoder->width; x++, samples += step, rgb += 3) {
        switch (decoder->photometric) {
        case PHOTOMETRIC_PALETTE: memcpy(rgb, decoder->palette[samples[0]], 3); break;
        case PHOTOMETRIC_SEPARATED: cphoto_cmyk_to_rgb(samples, rgb, 1); break;
        case PHOTOMETRIC_MINISWHITE:
        case PHOTOMETRIC_MINISBLACK: {
            uint8_t value = decoder->photometric == PHOTOMETRIC_MINISWHITE ? (uint8_t)~samples[0] : samples[0];
            if (decoder->alpha) value = blend_on_white(decoder, value, samples[1]);
            memset(rgb, value, 3);
            break;
        }
        default:
            for (int c = 0; c < 3; c++) {
                rgb[c] = decoder->alpha ? blend_on_white(decoder, samples[c], samples[3]) : samples[c];
            }
        }
    }
}

static uint64_t number(const uint8_t *bytes, int size, int is_big_endian)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++) value = value << 8 | bytes[is_big_endian ? i : size - 1 - i];
    return value;
}

int32_t ctiff_count_pages(int descriptor, int32_t most, int *is_broken)
{
    uint8_t head[16];
    if (is_broken) *is_broken = 0;
    if (pread(descriptor, head, sizeof head, 0) < 8) return 1;
    int is_big_endian = head[0] == 'M';
    int is_bigtiff = number(head + 2, 2, is_big_endian) == 43;
    int count_size = is_bigtiff ? 8 : 2, entry_size = is_bigtiff ? 20 : 12, offset_size = is_bigtiff ? 8 : 4;
    uint64_t offset = number(head + (is_bigtiff ? 8 : 4), offset_size, is_big_endian);
    int32_t pages = 0;
    // A circular chain ends at the limit; a failed read also ends the chain.
    while (offset != 0 && pages < most) {
        uint8_t bytes[8];
        if (is_broken) *is_broken = 1;
        if (offset >= (uint64_t)INT64_MAX / 2) break;
        if (pread(descriptor, bytes, (size_t)count_size, (off_t)offset) != count_size) break;
        pages++;
        uint64_t entries = number(bytes, count_size, is_big_endian);
        if (entries > 65535) break;
        offset += (uint64_t)count_size + entries * (uint64_t)entry_size;
        if (pread(descriptor, bytes, (size_t)offset_size, (off_t)offset) != offset_size) break;
        offset = number(bytes, offset_size, is_big_endian);
        if (is_broken) *is_broken = 0;
    }
    return pages > 1 ? pages : 1;
}
