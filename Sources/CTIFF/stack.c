// The samples of a TIFF whose pages are the slices of a volume.
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    // With more, or in a circular chain of directories, a file is refused.
    maximum_pages = 65535,
    // A tile may be larger than a small page.
    smallest_tile_limit = 8 << 20
};

// The most bytes that one compressed byte gives; for codecs without a bound, more than occurs.
static int64_t expansion(uint16_t compression)
{
    switch (compression) {
    case COMPRESSION_NONE: return 1;
    case COMPRESSION_PACKBITS: return 64;
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE: return 1032;
    case COMPRESSION_LZW: return 2600;
    default: return 1 << 16;
    }
}

static int64_t page_bytes(const ctiff_decoder *decoder)
{
    return decoder->width * decoder->height * (decoder->bits / 8);
}

// Checks the current directory and keeps its values. The numbers are as stored: palette indices and inverted grey too.
static cphoto_code read_directory(ctiff_decoder *decoder)
{
    uint32_t width = 0, height = 0, depth = 1;
    TIFFGetField(decoder->tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(decoder->tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetField(decoder->tiff, TIFFTAG_IMAGEDEPTH, &depth);
    if (width == 0 || height == 0 || width > 1u << 20 || height > 1u << 20) {
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "%u x %u pixels", width, height);
    }
    decoder->width = width;
    decoder->height = height;
    decoder->bits = ctiff_short_field(decoder, TIFFTAG_BITSPERSAMPLE, 1);
    decoder->samples = ctiff_short_field(decoder, TIFFTAG_SAMPLESPERPIXEL, 1);
    decoder->compression = ctiff_short_field(decoder, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    decoder->kind = ctiff_short_field(decoder, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    if (decoder->samples != 1) {
        return ctiff_refuse(
            decoder, CPHOTO_UNSUPPORTED, "%u channels in one file; write each channel to a separate file", decoder->samples);
    }
    int is_integer = decoder->kind == SAMPLEFORMAT_UINT || decoder->kind == SAMPLEFORMAT_INT;
    int is_float = decoder->kind == SAMPLEFORMAT_IEEEFP;
    int is_narrow = is_integer && (decoder->bits == 8 || decoder->bits == 16);
    int is_wide = (is_integer || is_float) && (decoder->bits == 32 || decoder->bits == 64);
    if (!is_narrow && !is_wide) {
        const char *name = is_float ? "floating point" : is_integer ? "integer" : "complex or undefined";
        return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "samples of %u bits (%s)", decoder->bits, name);
    }
    if (depth > 1) return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "%u slices in one page", depth);
    if (!TIFFIsCODECConfigured(decoder->compression)) {
        return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "compression %u is not supported", decoder->compression);
    }
    decoder->photometric = ctiff_short_field(decoder, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    decoder->is_lossless = ctiff_holds_lossless_jpeg(decoder);
    if (decoder->is_lossless && decoder->bits > 16) {
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "lossless JPEG of %u bits", decoder->bits);
    }
    decoder->tile_width = decoder->tile_height = 0;
    if (!TIFFIsTiled(decoder->tiff)) {
        decoder->raw_size = (int64_t)TIFFScanlineSize64(decoder->tiff);
        if (decoder->raw_size == decoder->width * (decoder->bits / 8)) return CPHOTO_OK;
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "rows of impossible size");
    }
    TIFFGetField(decoder->tiff, TIFFTAG_TILEWIDTH, &decoder->tile_width);
    TIFFGetField(decoder->tiff, TIFFTAG_TILELENGTH, &decoder->tile_height);
    int64_t limit = page_bytes(decoder) > smallest_tile_limit / 2 ? page_bytes(decoder) * 2 : smallest_tile_limit;
    if (decoder->tile_width == 0 || decoder->tile_height == 0 || decoder->tile_width > 1u << 20 ||
        decoder->tile_height > 1u << 20 ||
        (int64_t)decoder->tile_width * decoder->tile_height * (decoder->bits / 8) > limit) {
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "tiles of %u x %u", decoder->tile_width, decoder->tile_height);
    }
    decoder->raw_size = (int64_t)decoder->tile_width * decoder->tile_height * (decoder->bits / 8);
    if ((uint64_t)decoder->raw_size == TIFFTileSize64(decoder->tiff)) return CPHOTO_OK;
    return ctiff_refuse(decoder, CPHOTO_CORRUPT, "tiles of impossible size");
}

cphoto_code ctiff_stack_open(const char *path, size_t memory, ctiff_decoder **made, ctiff_stack_facts *facts)
{
    cphoto_code code = ctiff_open_file(path, memory, made);
    ctiff_decoder *decoder = *made;
    if (code == CPHOTO_OK) code = read_directory(decoder);
    if (code != CPHOTO_OK) return code;
    int is_broken = 0;
    int32_t pages = ctiff_count_pages(TIFFFileno(decoder->tiff), maximum_pages + 1, &is_broken);
    if (is_broken) return ctiff_refuse(decoder, CPHOTO_CORRUPT, "truncated: the list of its pages leads out of the file");
    if (pages > maximum_pages) {
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "more than %d pages, or a circular list of them", maximum_pages);
    }
    struct stat status;
    int64_t size = fstat(TIFFFileno(decoder->tiff), &status) == 0 ? (int64_t)status.st_size : 0;
    // A page has less than 2^43 bytes, of which there are less than 2^16.
    if (page_bytes(decoder) * pages / expansion(decoder->compression) > size) {
        return ctiff_refuse(
            decoder, CPHOTO_CORRUPT, "its %lld bytes cannot hold %d pages of %lld x %lld samples of %u bits",
            (long long)size, pages, (long long)decoder->width, (long long)decoder->height, decoder->bits);
    }
    facts->width = decoder->width;
    facts->height = decoder->height;
    facts->bits = decoder->bits;
    facts->kind = decoder->kind;
    facts->page_count = pages;
    char *text = NULL;
    decoder->description = TIFFGetField(decoder->tiff, TIFFTAG_IMAGEDESCRIPTION, &text) && text ? strdup(text) : NULL;
    return CPHOTO_OK;
}

const char *ctiff_stack_description(const ctiff_decoder *decoder)
{
    return decoder && decoder->description ? decoder->description : "";
}

static cphoto_code fault(ctiff_decoder *decoder)
{
    if (!decoder->has_message) return ctiff_refuse(decoder, CPHOTO_CORRUPT, "the samples cannot be read");
    return ctiff_library_failure(decoder);
}

// Goes on to the next page, which must be like the first one.
static cphoto_code advance(ctiff_decoder *decoder)
{
    int64_t width = decoder->width, height = decoder->height;
    uint16_t bits = decoder->bits, kind = decoder->kind;
    if (!TIFFReadDirectory(decoder->tiff)) {
        if (decoder->has_message) return ctiff_library_failure(decoder);
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "its directory cannot be read");
    }
    cphoto_code code = read_directory(decoder);
    if (code != CPHOTO_OK) return code;
    if (decoder->width == width && decoder->height == height && decoder->bits == bits && decoder->kind == kind) return code;
    return ctiff_refuse(
        decoder, CPHOTO_UNSUPPORTED, "%lld x %lld samples of %u bits (format %u), the first page has %lld x %lld of %u bits (format %u)",
        (long long)decoder->width, (long long)decoder->height, decoder->bits, decoder->kind, (long long)width,
        (long long)height, bits, kind);
}

static int is_stopped(const ctiff_decoder *decoder) { return decoder->stop && decoder->stop(decoder->context); }

static cphoto_code read_rows(ctiff_decoder *decoder, uint8_t *samples)
{
    for (int64_t row = 0; row < decoder->height; row++) {
        if (row % 16 == 0 && is_stopped(decoder)) return CPHOTO_STOPPED;
        int is_read = TIFFReadScanline(decoder->tiff, samples + row * decoder->raw_size, (uint32_t)row, 0) >= 0;
        if (!is_read || decoder->has_message) return fault(decoder);
    }
    return CPHOTO_OK;
}

static cphoto_code read_lossless_strips(ctiff_decoder *decoder, uint8_t *samples)
{
    TIFFGetFieldDefaulted(decoder->tiff, TIFFTAG_ROWSPERSTRIP, &decoder->rows_per_strip);
    int64_t step = decoder->rows_per_strip < decoder->height ? decoder->rows_per_strip : decoder->height;
    if (step < 1) return ctiff_refuse(decoder, CPHOTO_CORRUPT, "strips without rows");
    for (int64_t top = 0; top < decoder->height; top += step) {
        if (is_stopped(decoder)) return CPHOTO_STOPPED;
        ctiff_block_size size = {decoder->width, decoder->height - top < step ? decoder->height - top : step, 1};
        uint32_t strip = TIFFComputeStrip(decoder->tiff, (uint32_t)top, 0);
        cphoto_code code = ctiff_read_lossless(decoder, strip, size, samples + top * decoder->raw_size);
        if (code != CPHOTO_OK) return code;
    }
    return CPHOTO_OK;
}

// Reads a tile, of which at least this many rows are needed.
static cphoto_code read_tile(ctiff_decoder *decoder, uint32_t tile, int64_t rows)
{
    if (decoder->is_lossless) {
        ctiff_block_size size = {decoder->tile_width, rows, 1};
        return ctiff_read_lossless(decoder, tile, size, decoder->raw);
    }
    tmsize_t read = TIFFReadEncodedTile(decoder->tiff, tile, decoder->raw, (tmsize_t)decoder->raw_size);
    return read < (tmsize_t)decoder->raw_size || decoder->has_message ? fault(decoder) : CPHOTO_OK;
}

static cphoto_code read_tiles(ctiff_decoder *decoder, uint8_t *samples)
{
    size_t bytes = decoder->bits / 8;
    for (int64_t top = 0; top < decoder->height; top += decoder->tile_height) {
        int64_t below = decoder->height - top, rows = below < decoder->tile_height ? below : decoder->tile_height;
        for (int64_t left = 0; left < decoder->width; left += decoder->tile_width) {
            if (is_stopped(decoder)) return CPHOTO_STOPPED;
            uint32_t tile = TIFFComputeTile(decoder->tiff, (uint32_t)left, (uint32_t)top, 0, 0);
            cphoto_code code = read_tile(decoder, tile, rows);
            if (code != CPHOTO_OK) return code;
            int64_t beside = decoder->width - left, width = beside < decoder->tile_width ? beside : decoder->tile_width;
            for (int64_t row = 0; row < rows; row++) {
                memcpy(samples + (size_t)((top + row) * decoder->width + left) * bytes,
                       decoder->raw + (size_t)row * decoder->tile_width * bytes, (size_t)width * bytes);
            }
        }
    }
    return CPHOTO_OK;
}

cphoto_code ctiff_stack_page(ctiff_decoder *decoder, cphoto_stop stop, const void *context, void *samples)
{
    decoder->stop = stop;
    decoder->context = context;
    decoder->has_message = 0;
    ctiff_listen(decoder);
    errno = 0;
    cphoto_code code = decoder->next_page == 0 ? CPHOTO_OK : advance(decoder);
    if (code != CPHOTO_OK) return code;
    decoder->next_page++;
    if (!TIFFIsTiled(decoder->tiff)) {
        return decoder->is_lossless ? read_lossless_strips(decoder, samples) : read_rows(decoder, samples);
    }
    uint8_t *raw = realloc(decoder->raw, (size_t)decoder->raw_size);
    if (!raw) return CPHOTO_NO_MEMORY;
    decoder->raw = raw;
    return read_tiles(decoder, samples);
}
