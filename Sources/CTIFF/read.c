// The pixels of a TIFF, in bands of rows.
#include "internal.h"

#include <errno.h>
#include <stdlib.h>

void ctiff_close(ctiff_decoder *decoder)
{
    if (!decoder) return;
    ctiff_listen(NULL);
    if (decoder->tiff) TIFFClose(decoder->tiff);
    free(decoder->band);
    free(decoder->raw);
    free(decoder->raster);
    free(decoder->description);
    free(decoder);
}

const char *ctiff_message(const ctiff_decoder *decoder) { return decoder ? decoder->message : ""; }

int ctiff_system_code(const ctiff_decoder *decoder) { return decoder ? decoder->system_code : 0; }

static cphoto_code fault(ctiff_decoder *decoder)
{
    if (!decoder->has_message) return ctiff_refuse(decoder, CPHOTO_CORRUPT, "the pixels cannot be read");
    return ctiff_library_failure(decoder);
}

static cphoto_code start_library(ctiff_decoder *decoder)
{
    size_t count = (size_t)(decoder->width * decoder->height);
    char why[1024] = "";
    TIFFRGBAImage image;
    decoder->raster = calloc(count, sizeof(uint32_t));
    if (!decoder->raster) return CPHOTO_NO_MEMORY;
    if (!TIFFRGBAImageBegin(&image, decoder->tiff, 1, why)) return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "%s", why);
    // The caller applies the orientation.
    image.req_orientation = image.orientation;
    int is_read = TIFFRGBAImageGet(&image, decoder->raster, (uint32_t)decoder->width, (uint32_t)decoder->height);
    TIFFRGBAImageEnd(&image);
    return is_read && !decoder->has_message ? CPHOTO_OK : fault(decoder);
}

cphoto_code ctiff_start(ctiff_decoder *decoder, cphoto_stop stop, const void *context)
{
    decoder->stop = stop;
    decoder->context = context;
    decoder->has_message = 0;
    ctiff_listen(decoder);
    errno = 0;
    if (decoder->way == ctiff_by_library) return start_library(decoder);
    decoder->raw = calloc(1, (size_t)decoder->raw_size);
    decoder->band = calloc((size_t)(decoder->width * decoder->samples), (size_t)decoder->band_rows);
    return decoder->raw && decoder->band ? CPHOTO_OK : CPHOTO_NO_MEMORY;
}

static int is_stopped(const ctiff_decoder *decoder) { return decoder->stop && decoder->stop(decoder->context); }

// Unpacks one tile or strip into the band: `width` × `rows` pixels from column `left`, stored with `bytes` per row.
static void unpack_block(ctiff_decoder *decoder, int plane, int64_t left, int64_t width, int64_t rows, int64_t bytes)
{
    int is_index = decoder->photometric == PHOTOMETRIC_PALETTE;
    size_t samples = decoder->samples;
    int is_apart = plane >= 0;
    unsigned bits = decoder->is_lossless && decoder->bits > 8 ? 16 : decoder->bits;
    for (int64_t y = 0; y < rows; y++) {
        uint8_t *target = decoder->band + (size_t)(y * decoder->width + left) * samples + (is_apart ? plane : 0);
        const uint8_t *source = decoder->raw + y * bytes;
        size_t count = (size_t)width * (is_apart ? 1 : samples);
        ctiff_unpack(source, count, bits, is_index, target, is_apart ? samples : 1);
    }
}

// Reads a strip or tile of `columns` × `rows` pixels, and how many bytes a row of it has.
static cphoto_code read_block(ctiff_decoder *decoder, uint32_t block, int64_t columns, int64_t rows, int64_t *row_bytes)
{
    int is_apart = decoder->planar == PLANARCONFIG_SEPARATE && decoder->samples > 1;
    if (decoder->is_lossless) {
        int components = is_apart ? 1 : decoder->samples;
        *row_bytes = columns * components * (decoder->bits > 8 ? 2 : 1);
        ctiff_block_size size = {columns, rows, components};
        cphoto_code code = ctiff_read_lossless(decoder, block, size, decoder->raw);
        if (code == CPHOTO_OK && decoder->bits > 8) {
            ctiff_widen(decoder->raw, (size_t)(columns * rows * components), decoder->bits);
        }
        return code;
    }
    int is_tiled = decoder->way == ctiff_by_tiles;
    *row_bytes = (int64_t)(is_tiled ? TIFFTileRowSize64(decoder->tiff) : TIFFScanlineSize64(decoder->tiff));
    if (*row_bytes <= 0 || *row_bytes > decoder->raw_size / rows) return fault(decoder);
    tmsize_t size = (tmsize_t)decoder->raw_size;
    tmsize_t read = is_tiled ? TIFFReadEncodedTile(decoder->tiff, block, decoder->raw, size)
                             : TIFFReadEncodedStrip(decoder->tiff, block, decoder->raw, size);
    return read < (tmsize_t)(*row_bytes * rows) || decoder->has_message ? fault(decoder) : CPHOTO_OK;
}

static cphoto_code read_tiles(ctiff_decoder *decoder, int64_t rows)
{
    int64_t row_bytes = 0;
    int is_apart = decoder->planar == PLANARCONFIG_SEPARATE && decoder->samples > 1;
    int planes = is_apart ? decoder->samples : 1;
    for (int plane = 0; plane < planes; plane++) {
        for (int64_t left = 0; left < decoder->width; left += decoder->tile_width) {
            if (is_stopped(decoder)) return CPHOTO_STOPPED;
            uint32_t tile = TIFFComputeTile(
                decoder->tiff, (uint32_t)left, (uint32_t)decoder->band_first, 0, (uint16_t)plane);
            cphoto_code code = read_block(decoder, tile, decoder->tile_width, rows, &row_bytes);
            if (code != CPHOTO_OK) return code;
            int64_t width = decoder->width - left < decoder->tile_width ? decoder->width - left : decoder->tile_width;
            unpack_block(decoder, is_apart ? plane : -1, left, width, rows, row_bytes);
        }
    }
    return CPHOTO_OK;
}

static cphoto_code read_strips(ctiff_decoder *decoder, int64_t rows)
{
    int64_t row_bytes = 0;
    int is_apart = decoder->planar == PLANARCONFIG_SEPARATE && decoder->samples > 1;
    int planes = is_apart ? decoder->samples : 1;
    for (int plane = 0; plane < planes; plane++) {
        if (is_stopped(decoder)) return CPHOTO_STOPPED;
        uint32_t strip = TIFFComputeStrip(decoder->tiff, (uint32_t)decoder->band_first, (uint16_t)plane);
        cphoto_code code = read_block(decoder, strip, decoder->width, rows, &row_bytes);
        if (code != CPHOTO_OK) return code;
        unpack_block(decoder, is_apart ? plane : -1, 0, decoder->width, rows, row_bytes);
    }
    return CPHOTO_OK;
}

static cphoto_code read_band(ctiff_decoder *decoder)
{
    decoder->band_first += decoder->band_count;
    int64_t left = decoder->height - decoder->band_first;
    decoder->band_count = left < decoder->band_rows ? left : decoder->band_rows;
    if (decoder->way == ctiff_by_tiles) return read_tiles(decoder, decoder->band_count);
    if (decoder->way == ctiff_by_strips) return read_strips(decoder, decoder->band_count);
    int is_read = TIFFReadScanline(decoder->tiff, decoder->raw, (uint32_t)decoder->band_first, 0) >= 0;
    if (!is_read || decoder->has_message) return fault(decoder);
    unpack_block(decoder, -1, 0, decoder->width, 1, 0);
    return CPHOTO_OK;
}

static void convert_raster_row(const ctiff_decoder *decoder, uint8_t *rgb)
{
    const uint32_t *pixels = decoder->raster + decoder->next_row * decoder->width;
    for (int64_t x = 0; x < decoder->width; x++) {
        // The library returns premultiplied colours.
        unsigned white = 255 - TIFFGetA(pixels[x]);
        unsigned colours[3] = {TIFFGetR(pixels[x]), TIFFGetG(pixels[x]), TIFFGetB(pixels[x])};
        for (int c = 0; c < 3; c++, rgb++) *rgb = (uint8_t)(colours[c] + white > 255 ? 255 : colours[c] + white);
    }
}

cphoto_code ctiff_rows(ctiff_decoder *decoder, uint8_t *rgb, size_t count)
{
    ctiff_listen(decoder);
    errno = 0;
    for (size_t i = 0; i < count && decoder->next_row < decoder->height; i++, decoder->next_row++) {
        if (i % 16 == 0 && is_stopped(decoder)) return CPHOTO_STOPPED;
        if (decoder->way == ctiff_by_library) {
            convert_raster_row(decoder, rgb);
        } else {
            if (decoder->next_row >= decoder->band_first + decoder->band_count) {
                cphoto_code code = read_band(decoder);
                if (code != CPHOTO_OK) return code;
            }
            int64_t row = decoder->next_row - decoder->band_first;
            ctiff_convert(decoder, decoder->band + row * decoder->width * decoder->samples, rgb);
        }
        rgb += decoder->width * 3;
    }
    return CPHOTO_OK;
}
