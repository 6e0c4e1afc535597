// From coarse logits to labels of native voxels, a row at a time: classes × native voxels never exist.
#include "nk_resample.h"
#include "resample_variants.h"

#pragma STDC FP_CONTRACT OFF

enum { chunk_length = 256, span_length = 1024 };

NK_INLINE void keep_best(
    const float *restrict values, ptrdiff_t length, int class_index, int regions, float *restrict best,
    int32_t *restrict winner)
{
    if (regions) {
        for (ptrdiff_t i = 0; i < length; i++) winner[i] = values[i] > 0 ? class_index : winner[i];
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
    uint16_t *labels, ptrdiff_t count, const nk_label_taps *taps, const uint16_t *values, int regions)
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
        for (int c = 0; c < taps->classes; c++) {
            const ptrdiff_t shift = taps->class_step * c + origin;
            const float *restrict a = taps->z0y0 + shift, *restrict b = taps->z1y0 + shift;
            const float *restrict d = taps->z0y1 + shift, *restrict e = taps->z1y1 + shift;
            for (ptrdiff_t i = 0; i < span; i++)
                coarse[i] = (a[i] * wz0 + b[i] * wz1) * wy0 + (d[i] * wz0 + e[i] * wz1) * wy1;
            for (ptrdiff_t i = 0; i < length; i++)
                value[i] = coarse[x0[i] - origin] * wx0[i] + coarse[x1[i] - origin] * wx1[i];
            keep_best(value, length, c, regions, best, winner);
        }
        write_labels(labels + begin, winner, length, values);
        begin = end;
    }
}

NK_VARIANTS(
    void, nk_label_row,
    (uint16_t *labels, ptrdiff_t count, const nk_label_taps *taps, const uint16_t *values, int regions),
    (labels, count, taps, values, regions))

NK_INLINE void nk_label_row_direct_body(
    uint16_t *labels, ptrdiff_t count, const float *logits, ptrdiff_t class_step, int classes,
    const uint16_t *values, int regions)
{
    float best[chunk_length];
    int32_t winner[chunk_length];
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) winner[i] = -1;
        for (int c = 0; c < classes; c++)
            keep_best(logits + class_step * c + begin, length, c, regions, best, winner);
        write_labels(labels + begin, winner, length, values);
    }
}

NK_VARIANTS(
    void, nk_label_row_direct,
    (uint16_t *labels, ptrdiff_t count, const float *logits, ptrdiff_t class_step, int classes,
     const uint16_t *values, int regions),
    (labels, count, logits, class_step, classes, values, regions))
