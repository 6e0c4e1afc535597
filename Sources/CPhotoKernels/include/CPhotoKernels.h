#ifndef CPHOTOKERNELS_H
#define CPHOTOKERNELS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Loops over 8-bit RGB pixels (3 bytes each, rows apart by a stride in bytes). All arithmetic is in whole numbers, so
 * results do not depend on the processor.
 */

/*
 * One row to `count` pixels: pixel i is the sum over its `taps` weights (in 1 << 22) from column starts[i] on, rounded
 * and clamped to bytes. Weights lie `stride` apart, each three times side by side, filled with 0 up to the stride, which
 * is a multiple of 24. `row` must be readable for stride / 3 pixels from every start.
 */
void photo_resize_row(
    const uint8_t *row, const int32_t *starts, const int32_t *weights, size_t stride, size_t count, uint8_t *out);

/* `count` bytes: the sums over `taps` rows with one weight a row, rounded and clamped. */
void photo_mix_rows(
    const uint8_t *rows, size_t row_stride, const int32_t *weights, size_t taps, size_t count, uint8_t *out);

/* Adds the pixels to three histograms of 256 counts. */
void photo_histogram(const uint8_t *pixels, size_t count, uint32_t *counts);

/* Three planes, `plane` apart: each byte's value in its channel's table of 256. */
void photo_look_up(const uint8_t *pixels, size_t count, const float *tables, float *planes, size_t plane);

#endif
