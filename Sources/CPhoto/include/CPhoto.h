#ifndef CPHOTO_H
#define CPHOTO_H

#include <stddef.h>
#include <stdint.h>

/*
 * A small C interface to libjpeg-turbo, libpng, libheif and libwebp: rows of 8-bit RGB, whatever the format of the file.
 *
 * Every function returns a code and, unless that is CPHOTO_OK, fills the decoder's message. The libraries report errors
 * by longjmp; every jump ends inside this library. There are no globals; a decoder belongs to one thread at a time.
 * After any code but CPHOTO_OK a decoder can only be closed.
 */

typedef enum {
    CPHOTO_OK = 0,
    CPHOTO_NOT_OPENED = 1,      /* the file cannot be opened; the message is strerror's */
    CPHOTO_CORRUPT = 2,         /* the message is the library's */
    CPHOTO_UNSUPPORTED = 3,
    CPHOTO_TOO_LARGE = 4,       /* beyond the memory granted */
    CPHOTO_NO_MEMORY = 5,
    CPHOTO_STOPPED = 6,
    CPHOTO_NOT_READ = 7         /* the file cannot be read; the message is strerror's */
} cphoto_code;

typedef enum {
    CPHOTO_GREY = 0, CPHOTO_GREY_ALPHA = 1, CPHOTO_RGB = 2, CPHOTO_RGBA = 3, CPHOTO_PALETTE = 4, CPHOTO_YCBCR = 5,
    CPHOTO_CMYK = 6, CPHOTO_YCCK = 7
} cphoto_model;

/* The values stated in a header; they are only checked to be positive. */
typedef struct {
    int64_t width, height;
    int32_t bits;               /* of a sample, or of a palette index */
    int32_t model;              /* cphoto_model */
    int32_t has_alpha;          /* an alpha channel, or transparent colours */
    int32_t is_layered;         /* progressive, in several scans, or interlaced: held in memory as a whole */
    int64_t layered_bytes;      /* the memory needed for that at full size */
} cphoto_header;

/* The values of a file that may have several pictures in addition to the common header. */
typedef struct {
    int32_t picture_count;      /* at most 10,000 frames are counted in PNG and WebP */
} cphoto_frame_facts;

/* Irregularities without effect on the pixels, as bits. */
enum { CPHOTO_NO_END_MARKER = 1, CPHOTO_STRAY_BYTES = 2 };

/* Called between rows and between the scans of a progressive picture; any result but 0 stops with CPHOTO_STOPPED. */
typedef int (*cphoto_stop)(const void *context);

typedef struct cphoto_jpeg cphoto_jpeg;
/* HEIC and WebP, which their libraries decode as a whole: layered_bytes are all that decoding needs. */
typedef struct cphoto_frame cphoto_frame;
typedef struct cphoto_png cphoto_png;

/* Opens a file and reads its header. The decoder is created (for its message) unless memory runs out; close it. */
cphoto_code cphoto_jpeg_open(const char *path, cphoto_jpeg **decoder, cphoto_header *header);
cphoto_code cphoto_png_open(
    const char *path, cphoto_png **decoder, cphoto_header *header, cphoto_frame_facts *facts);
void cphoto_jpeg_close(cphoto_jpeg *decoder);
void cphoto_png_close(cphoto_png *decoder);
const char *cphoto_jpeg_message(const cphoto_jpeg *decoder);
const char *cphoto_png_message(const cphoto_png *decoder);
/* The errno after CPHOTO_NOT_OPENED and CPHOTO_NOT_READ, otherwise 0. */
int cphoto_jpeg_system_code(const cphoto_jpeg *decoder);
int cphoto_png_system_code(const cphoto_png *decoder);

/* The Exif block from its TIFF header on, or 0. Owned by the decoder. */
const uint8_t *cphoto_jpeg_exif(const cphoto_jpeg *decoder, size_t *count);
/* The same; if the file stores it as hexadecimal text (as ImageMagick does), that text, and is_text is 1. */
const uint8_t *cphoto_png_exif(const cphoto_png *decoder, size_t *count, int *is_text);

/* Starts decoding at 1/denominator (1, 2, 4, 8) of the size, rounded up; `memory` limits the library's allocations. */
cphoto_code cphoto_jpeg_start(
    cphoto_jpeg *decoder, int denominator, size_t memory, cphoto_stop stop, const void *context);
cphoto_code cphoto_png_start(cphoto_png *decoder, cphoto_stop stop, const void *context);

/*
 * After cphoto_jpeg_start at full size, before any row: requests only columns `first` to `first + count`. Both are set
 * to the columns that rows will contain; the requested pixels are the same as without this call.
 */
void cphoto_jpeg_keep_columns(cphoto_jpeg *decoder, ptrdiff_t *first, ptrdiff_t *count);

/*
 * Reads the next `count` rows into `rgb`, 3 bytes per pixel without gaps; reads no more rows than exist. The end of the
 * file is checked with the last row.
 */
cphoto_code cphoto_jpeg_rows(cphoto_jpeg *decoder, uint8_t *rgb, size_t count);
cphoto_code cphoto_png_rows(cphoto_png *decoder, uint8_t *rgb, size_t count);

/* CPHOTO_NO_END_MARKER and others, once the rows are read. */
int cphoto_jpeg_irregularities(const cphoto_jpeg *decoder);

/* A JPEG file in memory; after an error, the library's message. */
typedef struct {
    uint8_t *bytes;             /* to be freed with cphoto_jpeg_release */
    size_t count;
    char message[256];
} cphoto_jpeg_bytes;

/*
 * Encodes 8-bit RGB without gaps, with a quality from 1 to 100, as baseline JPEG with colours at half the resolution. CPHOTO_TOO_LARGE
 * for more than 65500 columns or rows, and when there is no memory.
 */
cphoto_code cphoto_jpeg_encode(
    const uint8_t *rgb, size_t width, size_t height, int quality, cphoto_jpeg_bytes *result);
void cphoto_jpeg_release(cphoto_jpeg_bytes *result);

/*
 * Opens HEIC: the primary picture of a file, turned as the container states. `pixels` limits the pictures that the library accepts.
 * CPHOTO_UNSUPPORTED where libheif is not installed.
 */
cphoto_code cphoto_heif_open(
    const char *path, int64_t pixels, cphoto_frame **decoder, cphoto_header *header, cphoto_frame_facts *facts);
/* Opens WebP: the picture, or the canvas of an animation with its first frame. */
cphoto_code cphoto_webp_open(
    const char *path, cphoto_frame **decoder, cphoto_header *header, cphoto_frame_facts *facts);
void cphoto_frame_close(cphoto_frame *decoder);
const char *cphoto_frame_message(const cphoto_frame *decoder);
int cphoto_frame_system_code(const cphoto_frame *decoder);
/* The Exif block of WebP, or 0. Owned by the decoder. */
const uint8_t *cphoto_frame_exif(const cphoto_frame *decoder, size_t *count);
/* Decodes the whole picture. `stop` is called while the file is read. */
cphoto_code cphoto_frame_start(cphoto_frame *decoder, cphoto_stop stop, const void *context);
cphoto_code cphoto_frame_rows(cphoto_frame *decoder, uint8_t *rgb, size_t count);

/* Converts CMYK (0 means no ink) to RGB, as Pillow's convert does. */
void cphoto_cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, size_t count);
/* Blends colours with white by their alpha, rounded as in Pillow's alpha_composite. */
void cphoto_rgba_on_white(const uint8_t *rgba, uint8_t *rgb, size_t count);

/* A picture as it is stored, with the orientation of Exif (1 to 8). */
typedef struct {
    size_t width, height;
    int orientation;
} cphoto_stored;

/* Copies `count` rows from row `first` of a stored picture into the upright picture, according to its orientation. */
void cphoto_place_rows(const uint8_t *rows, size_t first, size_t count, cphoto_stored stored, uint8_t *upright);

/* Adds the samples of one row, `factor` pixels at a time, to the sums of ceil(width / factor) pixels. */
void cphoto_add_row(const uint8_t *row, size_t width, size_t factor, uint64_t *sums);
/* Computes a row of means from sums over `rows` rows, rounded to nearest, and sets the sums to 0. */
void cphoto_mean_row(uint64_t *sums, size_t width, size_t factor, size_t rows, uint8_t *mean);

/* The versions of the underlying libraries. */
const char *cphoto_jpeg_version(void);
const char *cphoto_png_version(void);
const char *cphoto_webp_version(void);
/* 0 where libheif is not installed. */
const char *cphoto_heif_version(void);

#endif
