// Converts coarse logits to labels of native voxels, a row at a time: no array of classes × native voxels is needed.
#include "nk_resample.h"
#include "../variants.h"

#include <math.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

enum { chunk_length = 256, span_length = 1024, half_span_length = 512 };

NK_INLINE void keep_best(
    const float *restrict values, ptrdiff_t length, int class_index, nk_label_decision decision, float *restrict best,
    int32_t *restrict winner)
{
    if (decision.regions) {
        const float threshold = decision.threshold;
        for (ptrdiff_t i = 0; i < length; i++) winner[i] = values[i] > threshold ? class_index : winner[i];
    } else if (class_index == 0) {
        for (ptrdiff_t i = 0; i < length; i++) {
            best[i] = values[i];
            winner[i] = 0;
        }
    } else {
        for (ptrdiff_t i = 0; i < length; i++) {
            float value = values[i], so_far = best[i];
            winner[i] = value > so_far ? class_index : winner[i];
            best[i] = value > so_far ? value : so_far;
        }
    }
}

NK_INLINE void write_labels(
    uint16_t *restrict labels, const int32_t *restrict winner, ptrdiff_t length, const uint16_t *restrict values)
{
    for (ptrdiff_t i = 0; i < length; i++) labels[i] = winner[i] < 0 ? 0 : values[winner[i]];
}

NK_INLINE void nk_label_row_body(
    uint16_t *labels, ptrdiff_t count, const nk_label_taps *taps, nk_label_decision decision)
{
    float best[chunk_length], value[chunk_length], coarse[span_length];
    int32_t winner[chunk_length];
    const float wz0 = taps->wz0, wz1 = taps->wz1, wy0 = taps->wy0, wy1 = taps->wy1;
    ptrdiff_t begin = 0;
    while (begin < count) {
        // As many voxels as fit the two buffers. The values do not depend on the division.
        const int32_t origin = taps->x0[begin];
        ptrdiff_t end = begin + chunk_length < count ? begin + chunk_length : count;
        while (taps->x1[end - 1] - origin >= span_length) end--;
        const ptrdiff_t length = end - begin, span = taps->x1[end - 1] - origin + 1;
        const int32_t *x0 = taps->x0 + begin, *x1 = taps->x1 + begin;
        const float *wx0 = taps->wx0 + begin, *wx1 = taps->wx1 + begin;
        for (ptrdiff_t i = 0; i < length; i++) winner[i] = -1;
        for (int c = 0; c < decision.classes; c++) {
            const ptrdiff_t shift = taps->class_step * c + origin;
            const float *restrict a = taps->z0y0 + shift, *restrict b = taps->z1y0 + shift;
            const float *restrict d = taps->z0y1 + shift, *restrict e = taps->z1y1 + shift;
            for (ptrdiff_t i = 0; i < span; i++)
                coarse[i] = (a[i] * wz0 + b[i] * wz1) * wy0 + (d[i] * wz0 + e[i] * wz1) * wy1;
            for (ptrdiff_t i = 0; i < length; i++)
                value[i] = coarse[x0[i] - origin] * wx0[i] + coarse[x1[i] - origin] * wx1[i];
            keep_best(value, length, c, decision, best, winner);
        }
        write_labels(labels + begin, winner, length, decision.values);
        begin = end;
    }
}

NK_VARIANTS(
    void, nk_label_row,
    (uint16_t *labels, ptrdiff_t count, const nk_label_taps *taps, nk_label_decision decision),
    (labels, count, taps, decision))

/// Rounds float64 to the nearest float16, to even on a tie. An intermediate float32 is rounded to odd: with two
/// roundings to nearest, a few values would be wrong.
NK_INLINE void round_to_half(float *restrict out, const double *restrict values, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        double value = values[i];
        float near = (float)value;
        double back = (double)near;
        uint32_t bits;
        memcpy(&bits, &near, sizeof bits);
        // Towards zero if rounding increased the magnitude; then odd unless exact.
        bits -= (back < 0 ? -back : back) > (value < 0 ? -value : value) ? 1 : 0;
        bits |= back != value ? 1 : 0;
        memcpy(&near, &bits, sizeof near);
        out[i] = near;
    }
    for (ptrdiff_t i = 0; i < length; i++) out[i] = (float)(_Float16)out[i];
}

/// The part of a native row that is labelled at once, and the corresponding logits.
typedef struct {
    const nk_half_taps *taps;
    nk_label_decision decision;
    ptrdiff_t begin, length, span;
    int32_t origin;
} half_chunk;

NK_INLINE void decide_voxel(double sum, int class_index, nk_label_decision decision, float *best, int32_t *winner)
{
    float value;
    round_to_half(&value, &sum, 1);
    keep_best(&value, 1, class_index, decision, best, winner);
}

/// Labels one voxel of the chunk exactly.
NK_INLINE int32_t exact_label(const half_chunk *chunk, ptrdiff_t i)
{
    const nk_half_taps *taps = chunk->taps;
    const ptrdiff_t at = chunk->begin + i, left = taps->x0[at], right = taps->x1[at];
    const double w0 = taps->wx0[at], w1 = taps->wx1[at];
    int32_t winner = -1;
    float best = 0;
    for (int c = 0; c < chunk->decision.classes; c++) {
        double l[4], r[4], sum;
        for (int row = 0; row < 4; row++) {
            const float *from = taps->rows[row] + taps->class_step * c;
            double outer = taps->nesting == 1 ? 1 : taps->outer[row / 2], inner = taps->inner[row % 2];
            l[row] = ((double)from[left] * outer) * inner;
            r[row] = ((double)from[right] * outer) * inner;
        }
        if (taps->nesting == 0)
            sum = l[0] * w0 + r[0] * w1 + l[1] * w0 + r[1] * w1 + l[2] * w0 + r[2] * w1 + l[3] * w0 + r[3] * w1;
        else if (taps->nesting == 1)
            sum = (l[0] * w0 + r[0] * w1 + l[1] * w0 + r[1] * w1) * taps->outer[0]
                + (l[2] * w0 + r[2] * w1 + l[3] * w0 + r[3] * w1) * taps->outer[1];
        else
            sum = (l[0] + l[1] + l[2] + l[3]) * w0 + (r[0] + r[1] + r[2] + r[3]) * w1;
        decide_voxel(sum, c, chunk->decision, &best, &winner);
    }
    return winner;
}

/// Labels all voxels of the chunk exactly.
NK_INLINE void exact_labels(const half_chunk *chunk, int32_t *restrict winner)
{
    float best[chunk_length], value[chunk_length];
    double sums[chunk_length], coarse[4][half_span_length];
    const nk_half_taps *taps = chunk->taps;
    const ptrdiff_t length = chunk->length, span = chunk->span, begin = chunk->begin;
    const int32_t *x0 = taps->x0 + begin, *x1 = taps->x1 + begin, origin = chunk->origin;
    const double *wx0 = taps->wx0 + begin, *wx1 = taps->wx1 + begin;
    double *restrict a = coarse[0], *restrict b = coarse[1], *restrict d = coarse[2], *restrict e = coarse[3];
    for (ptrdiff_t i = 0; i < length; i++) winner[i] = -1;
    for (int c = 0; c < chunk->decision.classes; c++) {
        for (int r = 0; r < 4; r++) {
            const float *restrict row = taps->rows[r] + taps->class_step * c + origin;
            const double outer = taps->nesting == 1 ? 1 : taps->outer[r / 2], inner = taps->inner[r % 2];
            double *restrict to = coarse[r];
            for (ptrdiff_t i = 0; i < span; i++) to[i] = ((double)row[i] * outer) * inner;
        }
        if (taps->nesting == 0) {
            for (ptrdiff_t i = 0; i < length; i++) {
                ptrdiff_t left = x0[i] - origin, right = x1[i] - origin;
                double w0 = wx0[i], w1 = wx1[i];
                sums[i] = a[left] * w0 + a[right] * w1 + b[left] * w0 + b[right] * w1 + d[left] * w0 + d[right] * w1
                    + e[left] * w0 + e[right] * w1;
            }
        } else if (taps->nesting == 1) {
            for (ptrdiff_t i = 0; i < length; i++) {
                ptrdiff_t left = x0[i] - origin, right = x1[i] - origin;
                double w0 = wx0[i], w1 = wx1[i];
                double first = a[left] * w0 + a[right] * w1 + b[left] * w0 + b[right] * w1;
                double second = d[left] * w0 + d[right] * w1 + e[left] * w0 + e[right] * w1;
                sums[i] = first * taps->outer[0] + second * taps->outer[1];
            }
        } else {
            for (ptrdiff_t i = 0; i < span; i++) a[i] = a[i] + b[i] + d[i] + e[i];
            for (ptrdiff_t i = 0; i < length; i++)
                sums[i] = a[x0[i] - origin] * wx0[i] + a[x1[i] - origin] * wx1[i];
        }
        round_to_half(value, sums, length);
        keep_best(value, length, c, chunk->decision, best, winner);
    }
}

/// Labels the voxels of the chunk from sums in float32, and marks those that exact sums could label differently.
///
/// The error of float32 sums is less than 2^-20 of the largest logit of the chunk, and rounding to float16 never makes
/// two numbers equal whose difference is more than 2^-10 of the larger one (2^-24 near zero). Both bounds are
/// multiplied for safety.
NK_INLINE ptrdiff_t provisional_labels(const half_chunk *chunk, int32_t *restrict winner, uint8_t *restrict uncertain)
{
    float best[chunk_length], second[chunk_length], value[chunk_length], w0[chunk_length], w1[chunk_length];
    float coarse[half_span_length], peak[half_span_length];
    const nk_half_taps *taps = chunk->taps;
    const ptrdiff_t length = chunk->length, span = chunk->span, begin = chunk->begin;
    const int32_t *x0 = taps->x0 + begin, *x1 = taps->x1 + begin, origin = chunk->origin;
    const int regions = chunk->decision.regions;
    const float f00 = (float)(taps->outer[0] * taps->inner[0]), f01 = (float)(taps->outer[0] * taps->inner[1]);
    const float f10 = (float)(taps->outer[1] * taps->inner[0]), f11 = (float)(taps->outer[1] * taps->inner[1]);
    for (ptrdiff_t i = 0; i < span; i++) peak[i] = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        w0[i] = (float)taps->wx0[begin + i];
        w1[i] = (float)taps->wx1[begin + i];
        winner[i] = -1;
        // For regions: the smallest distance from zero.
        second[i] = regions ? INFINITY : -INFINITY;
        best[i] = -INFINITY;
    }
    for (int c = 0; c < chunk->decision.classes; c++) {
        const ptrdiff_t shift = taps->class_step * c + origin;
        const float *restrict a = taps->rows[0] + shift, *restrict b = taps->rows[1] + shift;
        const float *restrict d = taps->rows[2] + shift, *restrict e = taps->rows[3] + shift;
        for (ptrdiff_t i = 0; i < span; i++) {
            coarse[i] = (a[i] * f00 + b[i] * f01) + (d[i] * f10 + e[i] * f11);
            float largest = fabsf(a[i]) + fabsf(b[i]) + fabsf(d[i]) + fabsf(e[i]);
            peak[i] = largest > peak[i] ? largest : peak[i];
        }
        for (ptrdiff_t i = 0; i < length; i++)
            value[i] = coarse[x0[i] - origin] * w0[i] + coarse[x1[i] - origin] * w1[i];
        if (regions) {
            for (ptrdiff_t i = 0; i < length; i++) {
                float distance = fabsf(value[i]);
                winner[i] = value[i] > 0 ? c : winner[i];
                second[i] = distance < second[i] ? distance : second[i];
            }
        } else {
            for (ptrdiff_t i = 0; i < length; i++) {
                float v = value[i], first = best[i], other = second[i];
                int is_better = v > first;
                second[i] = is_better ? first : v > other ? v : other;
                winner[i] = is_better ? c : winner[i];
                best[i] = is_better ? v : first;
            }
        }
    }
    float largest = 0;
    for (ptrdiff_t i = 0; i < span; i++) largest = largest >= peak[i] ? largest : peak[i];
    const float slack = largest * 0x1p-18f + 0x1p-22f;
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        // Written so that NaN counts as uncertain.
        int is_certain = regions ? second[i] > slack : best[i] - second[i] > fabsf(best[i]) * 0x1p-9f + slack;
        uncertain[i] = !is_certain;
        count += !is_certain;
    }
    return count;
}

NK_INLINE void nk_label_row_half_body(
    uint16_t *labels, ptrdiff_t count, const nk_half_taps *taps, nk_label_decision decision)
{
    int32_t winner[chunk_length];
    uint8_t uncertain[chunk_length];
    ptrdiff_t begin = 0;
    while (begin < count) {
        const int32_t origin = taps->x0[begin];
        ptrdiff_t end = begin + chunk_length < count ? begin + chunk_length : count;
        while (taps->x1[end - 1] - origin >= half_span_length) end--;
        const half_chunk chunk = {
            .taps = taps,
            .decision = decision,
            .begin = begin,
            .length = end - begin,
            .span = taps->x1[end - 1] - origin + 1,
            .origin = origin,
        };
        ptrdiff_t left = provisional_labels(&chunk, winner, uncertain);
        if (left > chunk.length / 8) {
            exact_labels(&chunk, winner);
        } else if (left > 0) {
            for (ptrdiff_t i = 0; i < chunk.length; i++)
                if (uncertain[i]) winner[i] = exact_label(&chunk, i);
        }
        write_labels(labels + begin, winner, chunk.length, decision.values);
        begin = end;
    }
}

NK_VARIANTS_HALF(
    void, nk_label_row_half,
    (uint16_t *labels, ptrdiff_t count, const nk_half_taps *taps, nk_label_decision decision),
    (labels, count, taps, decision))

NK_INLINE void nk_label_row_direct_body(
    uint16_t *labels, ptrdiff_t count, const float *logits, ptrdiff_t class_step, nk_label_decision decision)
{
    float best[chunk_length];
    int32_t winner[chunk_length];
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) winner[i] = -1;
        for (int c = 0; c < decision.classes; c++)
            keep_best(logits + class_step * c + begin, length, c, decision, best, winner);
        write_labels(labels + begin, winner, length, decision.values);
    }
}

NK_VARIANTS(
    void, nk_label_row_direct,
    (uint16_t *labels, ptrdiff_t count, const float *logits, ptrdiff_t class_step, nk_label_decision decision),
    (labels, count, logits, class_step, decision))
