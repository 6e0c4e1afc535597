#ifndef CTIFF_H
#define CTIFF_H

#include "CPhoto.h"

/*
 * A small C interface to libtiff: rows of 8-bit RGB of a file's first picture, whatever its samples are; and the stored
 * samples of all pages of a stack. The rules are those of CPhoto.h. Messages go to the decoder, never to the terminal. Files are not memory-mapped, so that a file
 * that shrinks while it is read causes an error and not a crash.
 */

typedef struct ctiff_decoder ctiff_decoder;

/* The values of a TIFF in addition to the common header. */
typedef struct {
    int32_t orientation;        /* 1 to 8, 1 when there is none */
    int32_t page_count;         /* at most 10,000 are counted */
    int64_t working_bytes;      /* memory that decoding allocates besides the requested rows */
} ctiff_facts;

/* Opens a file and reads its first directory; the decoder is created unless memory runs out, and must be closed. */
cphoto_code ctiff_open(
    const char *path, size_t memory, ctiff_decoder **decoder, cphoto_header *header, ctiff_facts *facts);
void ctiff_close(ctiff_decoder *decoder);
const char *ctiff_message(const ctiff_decoder *decoder);
/* The errno if a file could not be opened or read, otherwise 0. */
int ctiff_system_code(const ctiff_decoder *decoder);

cphoto_code ctiff_start(ctiff_decoder *decoder, cphoto_stop stop, const void *context);

/* Reads the next `count` rows, in stored order; reads no more than exist. */
cphoto_code ctiff_rows(ctiff_decoder *decoder, uint8_t *rgb, size_t count);

/* A stack: a file whose pages are the slices of a volume, all of one size and type, with one sample for each pixel. */
typedef struct {
    int64_t width, height;      /* up to 2^20 */
    int32_t page_count;         /* up to 65,535 */
    uint16_t bits;              /* of a sample: 8, 16, 32 or 64 */
    uint16_t kind;              /* TIFF's SampleFormat: 1 unsigned, 2 signed, 3 floating point */
} ctiff_stack_facts;

/*
 * Opens a stack instead of a picture, and checks its first directory and that the file can hold all pages. The decoder is
 * created unless memory runs out, and must be closed.
 */
cphoto_code ctiff_stack_open(const char *path, size_t memory, ctiff_decoder **decoder, ctiff_stack_facts *facts);

/* The ImageDescription of the first page; empty if there is none. */
const char *ctiff_stack_description(const ctiff_decoder *decoder);

/* Reads the next page: `width` x `height` samples as stored, in the machine's byte order. */
cphoto_code ctiff_stack_page(ctiff_decoder *decoder, cphoto_stop stop, const void *context, void *samples);

/* The library's own version text, which has more than one line. */
const char *ctiff_version(void);

#endif
