// Strips and tiles of lossless JPEG, which libjpeg inside libtiff does not decode: DCMTK does.
#include "internal.h"

#include <CDCMTK.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { start_of_lossless_frame = 0xC3, bytes_of_beginning = 1 << 16 };

static tmsize_t read_stored(ctiff_decoder *decoder, uint32_t block, uint8_t *bytes, int64_t count)
{
    return TIFFIsTiled(decoder->tiff) ? TIFFReadRawTile(decoder->tiff, block, bytes, (tmsize_t)count)
                                      : TIFFReadRawStrip(decoder->tiff, block, bytes, (tmsize_t)count);
}

// The stored bytes of a block, at most the file's size.
static int64_t stored_bytes(ctiff_decoder *decoder, uint32_t block)
{
    struct stat status;
    uint64_t count = TIFFGetStrileByteCount(decoder->tiff, block);
    int64_t size = fstat(TIFFFileno(decoder->tiff), &status) == 0 ? (int64_t)status.st_size : 0;
    return count > (uint64_t)size ? -1 : (int64_t)count;
}

int ctiff_holds_lossless_jpeg(ctiff_decoder *decoder)
{
    if (decoder->compression != COMPRESSION_JPEG || decoder->photometric == PHOTOMETRIC_YCBCR) return 0;
    int64_t count = stored_bytes(decoder, 0);
    if (count > bytes_of_beginning) count = bytes_of_beginning;
    uint8_t *bytes = count > 0 ? malloc((size_t)count) : NULL;
    if (!bytes) return 0;
    cdcmtk_jpeg_frame frame;
    tmsize_t read = read_stored(decoder, 0, bytes, count);
    int is_lossless = read > 0 && cdcmtk_read_jpeg_frame(bytes, (size_t)read, &frame) &&
        frame.marker == start_of_lossless_frame;
    free(bytes);
    return is_lossless;
}

// The stream of a block with the tables that its file has once for all blocks. NULL without memory, or after a failed read.
static uint8_t *read_stream(ctiff_decoder *decoder, uint32_t block, size_t *length)
{
    uint32_t table_bytes = 0;
    const uint8_t *tables = NULL;
    // Both are whole streams, between a mark of the start and one of the end.
    if (!TIFFGetField(decoder->tiff, TIFFTAG_JPEGTABLES, &table_bytes, &tables) || table_bytes < 4) table_bytes = 4;
    size_t before = table_bytes - 4;
    int64_t count = stored_bytes(decoder, block);
    if (count < 4) return NULL;
    uint8_t *stream = malloc(before + (size_t)count);
    if (!stream) return NULL;
    if (read_stored(decoder, block, stream + before, count) < (tmsize_t)count) {
        free(stream);
        return NULL;
    }
    // The tables come behind the start, where the block's own one was.
    if (before > 0) {
        memmove(stream, stream + before, 2);
        memcpy(stream + 2, tables + 2, before);
    }
    *length = before + (size_t)count;
    return stream;
}

cphoto_code ctiff_read_lossless(ctiff_decoder *decoder, uint32_t block, ctiff_block_size size, uint8_t *samples)
{
    size_t length = 0;
    uint8_t *stream = read_stream(decoder, block, &length);
    if (!stream) {
        if (decoder->has_message) return ctiff_library_failure(decoder);
        return ctiff_refuse(decoder, CPHOTO_CORRUPT, "block %u cannot be read", block);
    }
    cphoto_code code = CPHOTO_OK;
    cdcmtk_jpeg_frame frame;
    if (!cdcmtk_read_jpeg_frame(stream, length, &frame)) {
        code = ctiff_refuse(decoder, CPHOTO_CORRUPT, "block %u has no JPEG frame", block);
    } else if (frame.columns != size.columns || frame.rows < size.rows || frame.components != size.components) {
        code = ctiff_refuse(
            decoder, CPHOTO_CORRUPT, "lossless JPEG of %d x %d pixels of %d samples in a block of %lld x %lld of %d",
            frame.columns, frame.rows, frame.components, (long long)size.columns, (long long)size.rows, size.components);
    } else if (frame.bits != decoder->bits) {
        code = ctiff_refuse(
            decoder, CPHOTO_UNSUPPORTED, "lossless JPEG of %d bits in a TIFF of %u bits", frame.bits, decoder->bits);
    } else {
        cdicom_error error = {0};
        size_t count = (size_t)(size.columns * size.rows) * (size_t)size.components * (decoder->bits > 8 ? 2 : 1);
        cdicom_code decoded = cdcmtk_decode_lossless_jpeg(stream, length, samples, count, &error);
        if (decoded != CDICOM_OK) {
            cphoto_code kind = decoded == CDICOM_NO_MEMORY ? CPHOTO_NO_MEMORY
                : decoded == CDICOM_UNSUPPORTED_PIXELS     ? CPHOTO_UNSUPPORTED
                                                           : CPHOTO_CORRUPT;
            code = ctiff_refuse(decoder, kind, "%s", error.text);
        }
    }
    free(stream);
    return code;
}

void ctiff_widen(uint8_t *samples, size_t count, unsigned bits)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t value;
        memcpy(&value, samples + i * 2, 2);
        value = (uint16_t)(value << (16 - bits));
        memcpy(samples + i * 2, &value, 2);
    }
}
