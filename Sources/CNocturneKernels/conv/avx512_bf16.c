// AVX-512 with products of bfloat16 pairs: a word contains two channels, and a vector instruction computes 32 products.

#include "internal.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

#define TARGET target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")
#pragma clang attribute push(__attribute__((TARGET)), apply_to = function)

#include "avx512.h"

/// Points of 16 channels take half a block of words.
#define POINT_WORDS (LANES / 2)

VECTOR_FUNCTION __m512 vector_products(__m512 x, __m512 w, __m512 sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
}
VECTOR_FUNCTION void vector_store_points(float *p, __m512 v) {
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtneps_pbh(v));
}

#include "template.h"

TILES_OF_BLOCKS

/// The remainder of values after subtracting their bfloat16 parts; zero where a part is not finite.
INLINE __m512 remainder_of(__m512 v, __m256i part) {
    const __m512 high = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
    const __m512 low = _mm512_sub_ps(v, high);
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(low, low, _CMP_ORD_Q), low);
}

INLINE void pack_pairs_body(const conv_strip *strip, const int scales, const int leaks, const int splits) {
    const int wide = strip->channels > LANES;
    const __mmask16 masks[2] = {vector_mask(strip->channels), vector_mask(strip->channels - LANES)};
    const __m512 zero = _mm512_setzero_ps(), slope = vector_all(strip->slope);
    __m512 scale[2] = {zero, zero}, shift[2] = {zero, zero};
    UNROLL for (int i = 0; scales && i < 2; i++) {
        scale[i] = vector_load_some(strip->scale + i * LANES, masks[i]);
        shift[i] = vector_load_some(strip->shift + i * LANES, masks[i]);
    }
    const float *source = strip->source;
    uint16_t *target = strip->target;
    for (int left = strip->count; left > 0; left--) {
        __builtin_prefetch(source + strip->source_ahead);
        if (wide) __builtin_prefetch(source + strip->source_ahead + LANES);
        UNROLL for (int i = 0; i < 2; i++) {
            if (i == 1 && !wide) break;
            __m512 v = vector_load_some(source + i * LANES, masks[i]);
            if (scales) v = vector_fma(v, scale[i], shift[i]);
            if (leaks) v = vector_leak(v, slope);
            const __m256i high = (__m256i)_mm512_cvtneps_pbh(v);
            _mm256_mask_storeu_epi16(target + i * LANES, masks[i], high);
            if (splits) {
                const __m256i low = (__m256i)_mm512_cvtneps_pbh(remainder_of(v, high));
                _mm256_mask_storeu_epi16(target + 2 * strip->low + i * LANES, masks[i], low);
            }
        }
        source += strip->source_step;
        target += 2 * strip->target_step;
    }
}

static void pack_pairs(const conv_strip *strip) {
    const int leaks = strip->slope != 1;
    if (strip->low) {
        if (strip->scale) {
            pack_pairs_body(strip, 1, 1, 1);
        } else {
            pack_pairs_body(strip, 0, 1, 1);
        }
    } else if (strip->scale) {
        pack_pairs_body(strip, 1, 1, 0);
    } else if (leaks) {
        pack_pairs_body(strip, 0, 1, 0);
    } else {
        pack_pairs_body(strip, 0, 0, 0);
    }
}

#pragma clang attribute pop

static const conv_kernels kernels = {
    .lanes = LANES,
    .longest = LONGEST,
    .tiles = {{LONG_AND_SHORT_OF(1), LONG_AND_SHORT_OF(2)}},
    .depthwise = depthwise,
    .fold = fold,
    .finish = finish,
    .pack = pack,
    .pack_pairs = pack_pairs,
    .minimal_input = {minimal_input_2_2, minimal_input_2_4, minimal_input_4_4},
    .minimal_output = {minimal_output_2_2, minimal_output_2_4, minimal_output_4_4},
};

const conv_kernels *nk_conv_kernels_avx512_bf16(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx512_bf16(void) { return NULL; }

#endif
