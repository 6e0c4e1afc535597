// Weighted sums of overlapping tiles.
#include "nk_resample.h"
#include "../variants.h"

#include <string.h>

#pragma STDC FP_CONTRACT OFF

NK_INLINE void nk_blend_add_body(
    float *restrict sums, const float *restrict values, const float *restrict weights, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) sums[i] += values[i] * weights[i];
}

NK_VARIANTS(
    void, nk_blend_add, (float *sums, const float *values, const float *weights, ptrdiff_t count),
    (sums, values, weights, count))

NK_INLINE void nk_blend_accumulate_body(float *restrict sums, const float *restrict values, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) sums[i] += values[i];
}

NK_VARIANTS(
    void, nk_blend_accumulate, (float *sums, const float *values, ptrdiff_t count), (sums, values, count))

NK_INLINE void nk_blend_accumulate_reversed_body(float *restrict sums, const float *restrict values, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) sums[i] += values[count - 1 - i];
}

NK_VARIANTS(
    void, nk_blend_accumulate_reversed, (float *sums, const float *values, ptrdiff_t count), (sums, values, count))

NK_INLINE ptrdiff_t divide(float *out, const float *sums, const float *weights, ptrdiff_t count, int to_half)
{
    // Processed in blocks through a buffer, because the output may overlap the input.
    enum { block = 256 };
    float quotients[block];
    ptrdiff_t odd = 0;
    for (ptrdiff_t begin = 0; begin < count; begin += block) {
        ptrdiff_t length = count - begin < block ? count - begin : block;
        uint32_t here = 0;
        for (ptrdiff_t i = 0; i < length; i++) {
            float quotient = sums[begin + i] / weights[begin + i];
            quotients[i] = to_half ? (float)(_Float16)quotient : quotient;
        }
        for (ptrdiff_t i = 0; i < length; i++) {
            uint32_t bits;
            memcpy(&bits, &quotients[i], sizeof bits);
            here += (bits & 0x7f800000u) == 0x7f800000u;
        }
        memcpy(out + begin, quotients, (size_t)length * sizeof(float));
        odd += here;
    }
    return odd;
}

NK_INLINE ptrdiff_t nk_blend_divide_body(float *out, const float *sums, const float *weights, ptrdiff_t count)
{
    return divide(out, sums, weights, count, 0);
}

NK_VARIANTS(
    ptrdiff_t, nk_blend_divide, (float *out, const float *sums, const float *weights, ptrdiff_t count),
    (out, sums, weights, count))

NK_INLINE float rounded_to_half(float value) { return (float)(_Float16)value; }

NK_INLINE void nk_blend_add_half_body(
    float *restrict sums, const float *restrict values, const float *restrict weights, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) sums[i] = rounded_to_half(sums[i] + values[i] * weights[i]);
}

NK_VARIANTS_HALF(
    void, nk_blend_add_half, (float *sums, const float *values, const float *weights, ptrdiff_t count),
    (sums, values, weights, count))

NK_INLINE void nk_blend_accumulate_half_body(float *restrict sums, const float *restrict values, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++) sums[i] = rounded_to_half(sums[i] + values[i]);
}

NK_VARIANTS_HALF(
    void, nk_blend_accumulate_half, (float *sums, const float *values, ptrdiff_t count), (sums, values, count))

NK_INLINE ptrdiff_t nk_blend_divide_half_body(
    float *out, const float *sums, const float *weights, ptrdiff_t count)
{
    return divide(out, sums, weights, count, 1);
}

NK_VARIANTS_HALF(
    ptrdiff_t, nk_blend_divide_half, (float *out, const float *sums, const float *weights, ptrdiff_t count),
    (out, sums, weights, count))
