// From coarse logits to labels of native voxels, a row at a time: classes × native voxels never exist.
#include "nk_resample.h"
#include "resample_variants.h"

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
        // As many voxels as fit the two buffers. Cutting elsewhere gives the same values.
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

/// float64 to the nearest float16, to even on a tie. By way of a float32 that is rounded to odd: rounded twice to
/// nearest, a few values would come out wrong.
NK_INLINE void round_to_half(float *restrict out, const double *restrict values, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        double value = values[i];
        float near = (float)value;
        double back = (double)near;
        uint32_t bits;
        memcpy(&bits, &near, sizeof bits);
        // Towards zero where rounding went away from it; then odd unless exact.
        bits -= (back < 0 ? -back : back) > (value < 0 ? -value : value) ? 1 : 0;
        bits |= back != value ? 1 : 0;
        memcpy(&near, &bits, sizeof near);
        out[i] = near;
    }
    for (ptrdiff_t i = 0; i < length; i++) out[i] = (float)(_Float16)out[i];
}

NK_INLINE void nk_label_row_half_body(
    uint16_t *labels, ptrdiff_t count, const nk_half_taps *taps, nk_label_decision decision)
{
    float best[chunk_length], value[chunk_length];
    double sums[chunk_length], coarse[4][half_span_length];
    int32_t winner[chunk_length];
    const int nesting = taps->nesting;
    const double inner0 = taps->inner[0], inner1 = taps->inner[1], outer0 = taps->outer[0], outer1 = taps->outer[1];
    ptrdiff_t begin = 0;
    while (begin < count) {
        const int32_t origin = taps->x0[begin];
        ptrdiff_t end = begin + chunk_length < count ? begin + chunk_length : count;
        while (taps->x1[end - 1] - origin >= half_span_length) end--;
        const ptrdiff_t length = end - begin, span = taps->x1[end - 1] - origin + 1;
        const int32_t *x0 = taps->x0 + begin, *x1 = taps->x1 + begin;
        const double *wx0 = taps->wx0 + begin, *wx1 = taps->wx1 + begin;
        for (ptrdiff_t i = 0; i < length; i++) winner[i] = -1;
        for (int c = 0; c < decision.classes; c++) {
            const ptrdiff_t shift = taps->class_step * c + origin;
            for (int r = 0; r < 4; r++) {
                const float *restrict row = taps->rows[r] + shift;
                const double outer = nesting == 1 ? 1 : r < 2 ? outer0 : outer1, inner = r % 2 ? inner1 : inner0;
                double *restrict to = coarse[r];
                for (ptrdiff_t i = 0; i < span; i++) to[i] = ((double)row[i] * outer) * inner;
            }
            double *restrict a = coarse[0], *restrict b = coarse[1], *restrict d = coarse[2], *restrict e = coarse[3];
            if (nesting == 0) {
                for (ptrdiff_t i = 0; i < length; i++) {
                    ptrdiff_t left = x0[i] - origin, right = x1[i] - origin;
                    double w0 = wx0[i], w1 = wx1[i];
                    sums[i] = a[left] * w0 + a[right] * w1 + b[left] * w0 + b[right] * w1 + d[left] * w0
                        + d[right] * w1 + e[left] * w0 + e[right] * w1;
                }
            } else if (nesting == 1) {
                for (ptrdiff_t i = 0; i < length; i++) {
                    ptrdiff_t left = x0[i] - origin, right = x1[i] - origin;
                    double w0 = wx0[i], w1 = wx1[i];
                    double first = a[left] * w0 + a[right] * w1 + b[left] * w0 + b[right] * w1;
                    double second = d[left] * w0 + d[right] * w1 + e[left] * w0 + e[right] * w1;
                    sums[i] = first * outer0 + second * outer1;
                }
            } else {
                for (ptrdiff_t i = 0; i < span; i++) a[i] = a[i] + b[i] + d[i] + e[i];
                for (ptrdiff_t i = 0; i < length; i++)
                    sums[i] = a[x0[i] - origin] * wx0[i] + a[x1[i] - origin] * wx1[i];
            }
            round_to_half(value, sums, length);
            keep_best(value, length, c, decision, best, winner);
        }
        write_labels(labels + begin, winner, length, decision.values);
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
