// Labels of native voxels from the mean probabilities of several networks, a row at a time.
#include "nk_resample.h"
#include "../variants.h"

#include <math.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

enum { chunk_length = 256, span_length = 1024 };

/// exp by reduction to [-ln2/2, ln2/2] and a polynomial of degree 6: relative error below 2e-7. The same operations on
/// every processor, unlike those of the C library.
NK_INLINE float exponential(float x)
{
    const float limited = x < -87.0f ? -87.0f : x > 87.0f ? 87.0f : x;
    const float power = limited * 1.44269504f;
    // Rounds to the nearest whole number by the position of the lowest bit.
    const float whole = (power + 12582912.0f) - 12582912.0f;
    const float rest = (limited - whole * 0.693359375f) - whole * -2.12194440e-4f;
    float sum = 1.9875691500e-4f;
    sum = sum * rest + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * (rest * rest) + rest + 1.0f;
    const int32_t exponent = ((int32_t)whole + 127) << 23;
    float scale;
    memcpy(&scale, &exponent, sizeof scale);
    return sum * scale;
}

/// Interpolates `length` voxels of all classes: class c at values + c * chunk_length.
NK_INLINE void interpolate(
    float *restrict values, const nk_label_taps *taps, int classes, ptrdiff_t begin, ptrdiff_t length)
{
    float coarse[span_length];
    const int32_t origin = taps->x0[begin];
    const ptrdiff_t span = taps->x1[begin + length - 1] - origin + 1;
    const int32_t *x0 = taps->x0 + begin, *x1 = taps->x1 + begin;
    const float *wx0 = taps->wx0 + begin, *wx1 = taps->wx1 + begin;
    const float wz0 = taps->wz0, wz1 = taps->wz1, wy0 = taps->wy0, wy1 = taps->wy1;
    for (int c = 0; c < classes; c++) {
        const ptrdiff_t shift = taps->class_step * c + origin;
        const float *restrict a = taps->z0y0 + shift, *restrict b = taps->z1y0 + shift;
        const float *restrict d = taps->z0y1 + shift, *restrict e = taps->z1y1 + shift;
        for (ptrdiff_t i = 0; i < span; i++)
            coarse[i] = (a[i] * wz0 + b[i] * wz1) * wy0 + (d[i] * wz0 + e[i] * wz1) * wy1;
        float *restrict row = values + c * chunk_length;
        for (ptrdiff_t i = 0; i < length; i++)
            row[i] = coarse[x0[i] - origin] * wx0[i] + coarse[x1[i] - origin] * wx1[i];
    }
}

/// Adds the probabilities of logits to sums: those of exclusive classes, or of independent regions.
NK_INLINE void add_probabilities(
    float *restrict sums, float *restrict values, int classes, int regions, ptrdiff_t length)
{
    if (regions) {
        for (int c = 0; c < classes; c++) {
            const float *restrict row = values + c * chunk_length;
            float *restrict sum = sums + c * chunk_length;
            for (ptrdiff_t i = 0; i < length; i++) sum[i] += 1.0f / (1.0f + exponential(-row[i]));
        }
        return;
    }
    float largest[chunk_length], total[chunk_length];
    for (ptrdiff_t i = 0; i < length; i++) {
        largest[i] = values[i];
        total[i] = 0;
    }
    for (int c = 1; c < classes; c++) {
        const float *restrict row = values + c * chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) largest[i] = row[i] > largest[i] ? row[i] : largest[i];
    }
    for (int c = 0; c < classes; c++) {
        float *restrict row = values + c * chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) {
            row[i] = exponential(row[i] - largest[i]);
            total[i] += row[i];
        }
    }
    for (int c = 0; c < classes; c++) {
        const float *restrict row = values + c * chunk_length;
        float *restrict sum = sums + c * chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) sum[i] += row[i] / total[i];
    }
}

/// The class of the largest sum, the lowest on a tie; or the last region whose mean is above the threshold. Its mean is the
/// voxel's probability, 1 where no region is chosen.
NK_INLINE void decide(
    uint16_t *restrict labels, float *restrict probabilities, const float *restrict sums,
    const nk_label_decision *decision, int members, ptrdiff_t length)
{
    const float limit = decision->threshold * (float)members;
    float best[chunk_length];
    int32_t winner[chunk_length];
    for (ptrdiff_t i = 0; i < length; i++) {
        winner[i] = -1;
        best[i] = decision->regions ? (float)members : -1;
    }
    for (int c = 0; c < decision->classes; c++) {
        const float *restrict sum = sums + c * chunk_length;
        if (decision->regions) {
            for (ptrdiff_t i = 0; i < length; i++) {
                winner[i] = sum[i] > limit ? c : winner[i];
                best[i] = sum[i] > limit ? sum[i] : best[i];
            }
        } else {
            for (ptrdiff_t i = 0; i < length; i++) {
                winner[i] = sum[i] > best[i] ? c : winner[i];
                best[i] = sum[i] > best[i] ? sum[i] : best[i];
            }
        }
    }
    for (ptrdiff_t i = 0; i < length; i++) {
        labels[i] = winner[i] < 0 ? 0 : decision->values[winner[i]];
        probabilities[i] = best[i] / (float)members;
    }
}

NK_INLINE void nk_label_row_mean_body(
    uint16_t *labels, float *probabilities, ptrdiff_t count, nk_label_members members,
    const nk_label_decision *decision, float *scratch)
{
    const nk_label_taps *taps = members.taps;
    float *values = scratch, *sums = scratch + (ptrdiff_t)decision->classes * chunk_length;
    ptrdiff_t begin = 0;
    while (begin < count) {
        ptrdiff_t end = begin + chunk_length < count ? begin + chunk_length : count;
        for (int m = 0; m < members.count; m++)
            while (taps[m].x1[end - 1] - taps[m].x0[begin] >= span_length) end--;
        const ptrdiff_t length = end - begin;
        memset(sums, 0, sizeof(float) * (size_t)decision->classes * chunk_length);
        for (int m = 0; m < members.count; m++) {
            interpolate(values, &taps[m], decision->classes, begin, length);
            add_probabilities(sums, values, decision->classes, decision->regions, length);
        }
        decide(labels + begin, probabilities + begin, sums, decision, members.count, length);
        begin = end;
    }
}

NK_VARIANTS(
    void, nk_label_row_mean,
    (uint16_t *labels, float *probabilities, ptrdiff_t count, nk_label_members members,
     const nk_label_decision *decision, float *scratch),
    (labels, probabilities, count, members, decision, scratch))

/// Adds interpolated values to sums, after `values` have become probabilities as `form` specifies.
NK_INLINE void add_as(float *restrict sums, float *restrict values, int classes, int form, ptrdiff_t length)
{
    if (form == NK_LOGITS_OF_CLASSES || form == NK_LOGITS_OF_REGIONS) {
        add_probabilities(sums, values, classes, form == NK_LOGITS_OF_REGIONS, length);
        return;
    }
    const float shift = form == NK_PROBABILITIES_LESS_HALF ? 0.5f : 0.0f;
    for (int c = 0; c < classes; c++) {
        const float *restrict row = values + c * chunk_length;
        float *restrict sum = sums + c * chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) sum[i] += row[i] + shift;
    }
}

NK_INLINE void nk_row_probabilities_body(
    uint8_t *bytes, ptrdiff_t count, nk_label_members members, const nk_probability_bytes *stored, float *scratch)
{
    const nk_label_taps *taps = members.taps;
    const int classes = stored->classes;
    const int32_t *places = stored->places;
    float *values = scratch, *sums = scratch + (ptrdiff_t)classes * chunk_length;
    const float scale = 255.0f / (float)members.count;
    ptrdiff_t begin = 0;
    while (begin < count) {
        ptrdiff_t end = begin + chunk_length < count ? begin + chunk_length : count;
        for (int m = 0; m < members.count; m++)
            while (taps[m].x1[end - 1] - taps[m].x0[begin] >= span_length) end--;
        const ptrdiff_t length = end - begin;
        memset(sums, 0, sizeof(float) * (size_t)classes * chunk_length);
        for (int m = 0; m < members.count; m++) {
            interpolate(values, &taps[m], classes, begin, length);
            add_as(sums, values, classes, stored->form, length);
        }
        for (int c = 0; c < classes; c++) {
            if (places[c] < 0) continue;
            const float *restrict sum = sums + c * chunk_length;
            uint8_t *restrict to = bytes + places[c] * stored->step + begin;
            for (ptrdiff_t i = 0; i < length; i++) {
                const float value = sum[i] * scale;
                to[i] = (uint8_t)((value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value) + 0.5f);
            }
        }
        begin = end;
    }
}

NK_VARIANTS(
    void, nk_row_probabilities,
    (uint8_t *bytes, ptrdiff_t count, nk_label_members members, const nk_probability_bytes *stored, float *scratch),
    (bytes, count, members, stored, scratch))

/// The labels of a chunk of logits without interpolation, and the logits that decided.
NK_INLINE void decide_logits(
    uint16_t *restrict labels, float *restrict best, const float *restrict logits, ptrdiff_t class_step,
    const nk_label_decision *decision, ptrdiff_t length)
{
    int32_t winner[chunk_length];
    for (ptrdiff_t i = 0; i < length; i++) {
        winner[i] = decision->regions ? -1 : 0;
        best[i] = decision->regions ? 0 : logits[i];
    }
    for (int c = decision->regions ? 0 : 1; c < decision->classes; c++) {
        const float *restrict row = logits + c * class_step;
        for (ptrdiff_t i = 0; i < length; i++) {
            const int is_chosen = row[i] > (decision->regions ? decision->threshold : best[i]);
            winner[i] = is_chosen ? c : winner[i];
            best[i] = is_chosen ? row[i] : best[i];
        }
    }
    for (ptrdiff_t i = 0; i < length; i++) labels[i] = winner[i] < 0 ? 0 : decision->values[winner[i]];
}

NK_INLINE void nk_label_probabilities_body(
    uint16_t *labels, float *probabilities, ptrdiff_t count, const float *logits, ptrdiff_t class_step,
    const nk_label_decision *decision)
{
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        const ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        const float *restrict chunk = logits + begin;
        float best[chunk_length], total[chunk_length];
        decide_logits(labels + begin, best, chunk, class_step, decision, length);
        int labelled = 0;
        for (ptrdiff_t i = 0; i < length; i++) labelled |= labels[begin + i];
        float *restrict to = probabilities + begin;
        if (!labelled) {
            for (ptrdiff_t i = 0; i < length; i++) to[i] = 1;
        } else if (decision->regions) {
            for (ptrdiff_t i = 0; i < length; i++) to[i] = 1.0f / (1.0f + exponential(-best[i]));
        } else {
            for (ptrdiff_t i = 0; i < length; i++) total[i] = 0;
            for (int c = 0; c < decision->classes; c++) {
                const float *restrict row = chunk + c * class_step;
                for (ptrdiff_t i = 0; i < length; i++) total[i] += exponential(row[i] - best[i]);
            }
            for (ptrdiff_t i = 0; i < length; i++) to[i] = 1.0f / total[i];
        }
    }
}

NK_VARIANTS(
    void, nk_label_probabilities,
    (uint16_t *labels, float *probabilities, ptrdiff_t count, const float *logits, ptrdiff_t class_step,
     const nk_label_decision *decision),
    (labels, probabilities, count, logits, class_step, decision))

ptrdiff_t nk_label_row_mean_scratch(int classes) { return 2 * (ptrdiff_t)classes * chunk_length; }
