#ifndef CPHOTOKERNELS_H
#define CPHOTOKERNELS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Loops over 8-bit RGB pixels (3 bytes each, with a row stride in bytes). All arithmetic uses integers, or floating-point
 * operations in a fixed order without contraction, so results do not depend on the processor.
 */

/* The number of values that store the weights of four neighbouring pixels, see photo_resize_row. */
enum { PHOTO_GROUP = 32 };

/*
 * Resamples one row to `count` pixels: pixel i is the sum of pixels from column starts[i] on, each with its weight (an
 * integer that represents weight × (1 << 22), not negative; the weights sum to 1 << 22 except for rounding), rounded
 * and clamped to bytes. There are `groups` × 4 weights per pixel, the last ones 0. A group of four is
 * k0 k1 k0 k1 k0 k1 0 0 k2 k3 k2 k3 k2 k3 0 0 of the low 11 bits, then the same of the remaining bits. `row` must be
 * readable for 4 × groups + 2 pixels from every start.
 */
void photo_resize_row(
    const uint8_t *row, const int32_t *starts, const int16_t *weights, size_t groups, size_t count, uint8_t *out);

/* A picture with a mask: red, green and blue of each pixel, and its opacity, 0 outside the mask; rows without gaps. */
typedef struct {
    const uint8_t *pixels;
    const uint8_t *opacity;
    ptrdiff_t width;
    ptrdiff_t height;
} photo_masked;

/* `count` points from (x, y) on, each (dx, dy) further, between pixels whose centres are whole numbers. */
typedef struct {
    double x, y, dx, dy;
    ptrdiff_t count;
} photo_line;

/*
 * Samples the points of a line. Each is the
 * mean of the four pixels around it, weighted by distance; those outside the mask are replaced by the nearest pixel. Where the
 * nearest pixel is outside the mask, `out` and `alpha` are left as they are; otherwise `alpha` becomes 255.
 */
void photo_sample_line(const photo_masked *source, photo_line line, uint8_t *out, uint8_t *alpha);

/* Computes `count` bytes: the sums over `taps` rows with one weight per row, rounded and clamped. */
void photo_mix_rows(
    const uint8_t *rows, size_t row_stride, const int32_t *weights, size_t taps, size_t count, uint8_t *out);

/* Adds the pixels to three histograms of 256 counts. */
void photo_histogram(const uint8_t *pixels, size_t count, uint32_t *counts);

#endif
