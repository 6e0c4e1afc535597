// Opening a TIFF: its first directory, and the way its pixels will be read.
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    maximum_samples = 32,
    maximum_counted_pages = 10000,
    // Pictures that the library itself converts are held completely, and their conversion cannot be interrupted.
    maximum_library_pixels = 50000000
};

uint16_t ctiff_short_field(ctiff_decoder *decoder, uint32_t tag, uint16_t otherwise)
{
    uint16_t value = otherwise;
    return TIFFGetFieldDefaulted(decoder->tiff, tag, &value) ? value : otherwise;
}

static cphoto_code read_palette(ctiff_decoder *decoder)
{
    uint16_t *colours[3];
    if (decoder->bits > 8 || !TIFFGetField(decoder->tiff, TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2])) {
        return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "a palette of %u bits, or none", decoder->bits);
    }
    int count = 1 << decoder->bits, is_wide = 0;
    for (int i = 0; i < count * 3; i++) is_wide |= colours[i % 3][i / 3] > 255;
    for (int i = 0; i < count; i++) {
        // Some writers store bytes where the format has 16 bits.
        for (int c = 0; c < 3; c++) decoder->palette[i][c] = (uint8_t)(is_wide ? colours[c][i] >> 8 : colours[c][i]);
    }
    return CPHOTO_OK;
}

static int has_plain_samples(const ctiff_decoder *decoder)
{
    switch (decoder->bits) {
    case 1: case 2: case 4: case 6: case 8: case 10: case 12: case 14: case 16: case 24: case 32: break;
    default: return 0;
    }
    switch (decoder->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE: return decoder->compression != COMPRESSION_OJPEG;
    case PHOTOMETRIC_RGB: return decoder->samples >= 3 && decoder->compression != COMPRESSION_OJPEG;
    case PHOTOMETRIC_SEPARATED: return decoder->samples >= 4;
    case PHOTOMETRIC_YCBCR:
        // The codec converts while it decodes.
        return decoder->samples == 3 && decoder->compression == COMPRESSION_JPEG &&
            decoder->planar == PLANARCONFIG_CONTIG;
    default: return 0;
    }
}

// How samples are read that need no conversion by the library: rows, strips or tiles at a time.
static cphoto_code choose_blocks(ctiff_decoder *decoder, ctiff_facts *facts)
{
    int64_t band_rows = 1;
    decoder->way = ctiff_by_scanlines;
    decoder->is_lossless = ctiff_holds_lossless_jpeg(decoder);
    if (decoder->is_lossless && (decoder->bits < 8 || decoder->bits > 16)) {
        return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "lossless JPEG of %u bits; 8 to 16 are supported", decoder->bits);
    }
    int64_t block_width = decoder->width;
    int is_apart = decoder->planar == PLANARCONFIG_SEPARATE && decoder->samples > 1;
    if (TIFFIsTiled(decoder->tiff)) {
        TIFFGetField(decoder->tiff, TIFFTAG_TILEWIDTH, &decoder->tile_width);
        TIFFGetField(decoder->tiff, TIFFTAG_TILELENGTH, &decoder->tile_height);
        if (decoder->tile_width == 0 || decoder->tile_height == 0 || decoder->tile_width > 1u << 20 ||
            decoder->tile_height > 1u << 20) {
            return ctiff_refuse(decoder, CPHOTO_CORRUPT, "tiles of %u x %u", decoder->tile_width, decoder->tile_height);
        }
        decoder->way = ctiff_by_tiles;
        band_rows = decoder->tile_height;
        block_width = decoder->tile_width;
        decoder->raw_size = TIFFTileSize64(decoder->tiff) > INT64_MAX ? -1 : (int64_t)TIFFTileSize64(decoder->tiff);
    } else if (is_apart || decoder->is_lossless) {
        TIFFGetFieldDefaulted(decoder->tiff, TIFFTAG_ROWSPERSTRIP, &decoder->rows_per_strip);
        band_rows = decoder->rows_per_strip;
        decoder->way = ctiff_by_strips;
        decoder->raw_size = (int64_t)TIFFStripSize64(decoder->tiff);
    } else {
        decoder->raw_size = (int64_t)TIFFScanlineSize64(decoder->tiff);
    }
    if (band_rows <= 0 || band_rows > decoder->height) band_rows = decoder->height;
    decoder->band_rows = band_rows;
    // Both factors are below 2^31 and there are at most 32 samples.
    int64_t row_samples = decoder->width * decoder->samples;
    if (decoder->is_lossless && block_width <= INT64_MAX / 64 / band_rows) {
        decoder->raw_size = block_width * band_rows * (is_apart ? 1 : decoder->samples) * (decoder->bits > 8 ? 2 : 1);
    }
    if (decoder->raw_size <= 0 || decoder->raw_size > INT64_MAX / 8 || row_samples > INT64_MAX / 8 / band_rows) {
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "strips or tiles of impossible size");
    }
    struct stat status;
    int64_t file_size = fstat(TIFFFileno(decoder->tiff), &status) == 0 ? (int64_t)status.st_size : 0;
    facts->working_bytes = row_samples * band_rows + decoder->raw_size + file_size;
    // The decoder has copies of the stream and of its samples.
    if (decoder->is_lossless) facts->working_bytes += decoder->raw_size + file_size * 3;
    return CPHOTO_OK;
}

static cphoto_code choose_method(ctiff_decoder *decoder, ctiff_facts *facts)
{
    uint16_t format = ctiff_short_field(decoder, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    int is_log = decoder->photometric == PHOTOMETRIC_LOGL || decoder->photometric == PHOTOMETRIC_LOGLUV;
    if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID && !is_log) {
        return ctiff_refuse(
            decoder, CPHOTO_UNSUPPORTED, "samples are %s, which is not a photo",
            format == SAMPLEFORMAT_INT ? "signed numbers" : "not integers");
    }
    if (!has_plain_samples(decoder)) {
        char why[1024] = "";
        if (!TIFFRGBAImageOK(decoder->tiff, why)) return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "%s", why);
        if (decoder->width > maximum_library_pixels / decoder->height) {
            return ctiff_refuse(decoder, CPHOTO_TOO_LARGE, "colours of this kind are converted up to 50 megapixels");
        }
        decoder->way = ctiff_by_library;
        facts->working_bytes = decoder->width * decoder->height * 4 * 2;
        return CPHOTO_OK;
    }
    if (decoder->photometric == PHOTOMETRIC_YCBCR) {
        TIFFSetField(decoder->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    }
    return choose_blocks(decoder, facts);
}

static int32_t model_of(const ctiff_decoder *decoder)
{
    switch (decoder->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_LOGL: return decoder->alpha ? CPHOTO_GREY_ALPHA : CPHOTO_GREY;
    case PHOTOMETRIC_PALETTE: return CPHOTO_PALETTE;
    case PHOTOMETRIC_SEPARATED: return CPHOTO_CMYK;
    case PHOTOMETRIC_YCBCR: return CPHOTO_YCBCR;
    default: return decoder->alpha ? CPHOTO_RGBA : CPHOTO_RGB;
    }
}

static void read_alpha(ctiff_decoder *decoder)
{
    uint16_t count = 0, *kinds = NULL;
    TIFFGetFieldDefaulted(decoder->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds);
    int colours = decoder->photometric == PHOTOMETRIC_RGB ? 3 : decoder->photometric <= PHOTOMETRIC_MINISBLACK ? 1 : 32;
    if (count >= 1 && kinds && decoder->samples > colours && kinds[0] != EXTRASAMPLE_UNSPECIFIED) {
        decoder->alpha = kinds[0];
    }
}

cphoto_code ctiff_open_file(const char *path, size_t memory, ctiff_decoder **made)
{
    ctiff_decoder *decoder = calloc(1, sizeof *decoder);
    *made = decoder;
    if (!decoder) return CPHOTO_NO_MEMORY;
    if (!ctiff_open_library(decoder, path, memory)) return CPHOTO_NO_MEMORY;
    int reason = errno;
    if (!decoder->tiff) {
        if (reason == ENOENT || reason == EACCES || reason == EISDIR) {
            decoder->system_code = reason;
            return ctiff_refuse(decoder, CPHOTO_NOT_OPENED, "%s", strerror(reason));
        }
        return ctiff_library_failure(decoder);
    }
    return decoder->has_message ? ctiff_library_failure(decoder) : CPHOTO_OK;
}

cphoto_code ctiff_open(
    const char *path, size_t memory, ctiff_decoder **made, cphoto_header *header, ctiff_facts *facts)
{
    cphoto_code opened = ctiff_open_file(path, memory, made);
    ctiff_decoder *decoder = *made;
    if (opened != CPHOTO_OK) return opened;
    uint32_t width = 0, height = 0;
    TIFFGetField(decoder->tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(decoder->tiff, TIFFTAG_IMAGELENGTH, &height);
    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) {
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "%u x %u pixels", width, height);
    }
    decoder->width = width;
    decoder->height = height;
    decoder->bits = ctiff_short_field(decoder, TIFFTAG_BITSPERSAMPLE, 1);
    decoder->samples = ctiff_short_field(decoder, TIFFTAG_SAMPLESPERPIXEL, 1);
    decoder->planar = ctiff_short_field(decoder, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    decoder->compression = ctiff_short_field(decoder, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    uint16_t photometric = 0;
    if (!TIFFGetField(decoder->tiff, TIFFTAG_PHOTOMETRIC, &photometric)) {
        photometric = decoder->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    }
    decoder->photometric = photometric;
    if (decoder->samples == 0 || decoder->samples > maximum_samples) {
        return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "%u samples per pixel", decoder->samples);
    }
    if (!TIFFIsCODECConfigured(decoder->compression)) {
        return ctiff_refuse(decoder, CPHOTO_UNSUPPORTED, "compression %u is not supported", decoder->compression);
    }
    read_alpha(decoder);
    header->width = decoder->width;
    header->height = decoder->height;
    header->bits = decoder->bits;
    header->model = model_of(decoder);
    header->has_alpha = decoder->alpha != 0;
    header->is_layered = 0;
    header->layered_bytes = 0;
    uint16_t orientation = ctiff_short_field(decoder, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    facts->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    facts->page_count = ctiff_count_pages(TIFFFileno(decoder->tiff), maximum_counted_pages, NULL);
    cphoto_code code = decoder->photometric == PHOTOMETRIC_PALETTE ? read_palette(decoder) : CPHOTO_OK;
    return code == CPHOTO_OK ? choose_method(decoder, facts) : code;
}

const char *ctiff_version(void) { return TIFFGetVersion(); }
