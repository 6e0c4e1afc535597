#ifndef CTIFF_INTERNAL_H
#define CTIFF_INTERNAL_H

#include "CTIFF.h"

#include <tiffio.h>

typedef enum { ctiff_by_scanlines, ctiff_by_strips, ctiff_by_tiles, ctiff_by_library } ctiff_way;

struct ctiff_decoder {
    TIFF *tiff;
    char message[256];
    int system_code;            // of a read that the system refused
    int has_message;            // whether an error, or a warning that indicates lost pixels, occurred since the start
    int64_t width, height, next_row;
    uint32_t tile_width, tile_height, rows_per_strip;
    uint16_t bits, samples, photometric, planar, compression;
    uint16_t kind;              // SAMPLEFORMAT_…, of a stack
    int is_lossless;            // whether strips or tiles are lossless JPEG
    uint16_t alpha;             // EXTRASAMPLE_…, 0 when there is none
    ctiff_way way;
    cphoto_stop stop;
    const void *context;
    // The rows of a strip, a tile or one line, as 8-bit samples with the samples of a pixel adjacent.
    uint8_t *band;
    int64_t band_first, band_count, band_rows;
    uint8_t *raw;               // as the library returns them
    int64_t raw_size;
    uint32_t *raster;           // for ctiff_by_library
    uint8_t palette[256][3];
    int32_t next_page;          // of a stack
    char *description;
};

// Stores the reason and returns the code.
cphoto_code ctiff_refuse(ctiff_decoder *decoder, cphoto_code code, const char *format, ...);

// The code after a message of the library: a damaged file, or a read error of the system.
cphoto_code ctiff_library_failure(ctiff_decoder *decoder);

// Directs the library's messages in this thread to a decoder; to none for NULL. Called before the library is.
void ctiff_listen(ctiff_decoder *decoder);

// Converts samples of 1 to 32 bits to bytes `step` apart: scaled, or unchanged for palette indices.
void ctiff_unpack(const uint8_t *source, size_t count, unsigned bits, int is_index, uint8_t *target, size_t step);

// Converts one row of unpacked samples to RGB.
void ctiff_convert(const ctiff_decoder *decoder, const uint8_t *samples, uint8_t *rgb);

// Whether the first strip or tile is lossless JPEG.
int ctiff_holds_lossless_jpeg(ctiff_decoder *decoder);

typedef struct {
    int64_t columns, rows;
    int components;
} ctiff_block_size;

// Reads a strip or tile of lossless JPEG: a byte for each sample, or 16 bits in the machine's order where there are more than 8.
cphoto_code ctiff_read_lossless(ctiff_decoder *decoder, uint32_t block, ctiff_block_size size, uint8_t *samples);

// Scales samples of `bits` bits, which are 16-bit numbers, to 16 bits, of which the high byte is used.
void ctiff_widen(uint8_t *samples, size_t count, unsigned bits);

// Opens a file with the library, with its messages and at most `memory` bytes for one allocation; `tiff` is NULL and errno set where
// that fails. 0 if there is no memory.
int ctiff_open_library(ctiff_decoder *decoder, const char *path, size_t memory);

// Opens a file, whose first directory is then the current one; the decoder is created unless memory runs out.
cphoto_code ctiff_open_file(const char *path, size_t memory, ctiff_decoder **made);

// A field of one 16-bit number, or its default.
uint16_t ctiff_short_field(ctiff_decoder *decoder, uint32_t tag, uint16_t otherwise);

// The number of pictures in a file's chain of directories, at most `most`; at least 1. `is_broken`, unless NULL, gets
// whether the chain leads out of the file.
int32_t ctiff_count_pages(int descriptor, int32_t most, int *is_broken);

#endif
