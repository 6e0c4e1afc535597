// AVX-512 with products of bfloat16 pairs: a word contains two channels, and a vector instruction computes 32 products.
// Layer 3, execution.

#include "kernels.h"

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

/// The remainder of values after subtracting their bfloat16 parts; zero where a part is not finite.
INLINE __m512 remainder_of(__m512 v, __m256i part) {
    const __m512 high = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
    const __m512 low = _mm512_sub_ps(v, high);
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(low, low, _CMP_ORD_Q), low);
}

INLINE __m512 widened(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/// `halves`: whether the source is bfloat16.
INLINE void pack_pairs_body(
    const conv_strip *strip, const int halves, const int scales, const int leaks, const int splits) {
    const int wide = strip->channels > LANES;
    const __mmask16 masks[2] = {vector_mask(strip->channels), vector_mask(strip->channels - LANES)};
    const __m512 zero = _mm512_setzero_ps(), slope = vector_all(strip->slope);
    __m512 scale[2] = {zero, zero}, shift[2] = {zero, zero};
    UNROLL for (int i = 0; scales && i < 2; i++) {
        scale[i] = vector_load_some(strip->scale + i * LANES, masks[i]);
        shift[i] = vector_load_some(strip->shift + i * LANES, masks[i]);
    }
    const char *source = strip->source;
    const ptrdiff_t size = halves ? sizeof(uint16_t) : sizeof(float);
    uint16_t *target = strip->target;
    for (int left = strip->count; left > 0; left--) {
        __builtin_prefetch(source + strip->source_ahead * size);
        if (wide && !halves) __builtin_prefetch(source + (strip->source_ahead + LANES) * size);
        UNROLL for (int i = 0; i < 2; i++) {
            if (i == 1 && !wide) break;
            const char *from = source + i * LANES * size;
            __m512 v = halves ? widened(_mm256_maskz_loadu_epi16(masks[i], from))
                              : vector_load_some((const float *)from, masks[i]);
            if (scales) v = vector_fma(v, scale[i], shift[i]);
            if (leaks) v = vector_leak(v, slope);
            const __m256i high = (__m256i)_mm512_cvtneps_pbh(v);
            _mm256_mask_storeu_epi16(target + i * LANES, masks[i], high);
            if (splits) {
                const __m512 rest = remainder_of(v, high);
                const __m256i mid = (__m256i)_mm512_cvtneps_pbh(rest);
                const __m256i low = (__m256i)_mm512_cvtneps_pbh(remainder_of(rest, mid));
                _mm256_mask_storeu_epi16(target + 2 * strip->low + i * LANES, masks[i], mid);
                _mm256_mask_storeu_epi16(target + 4 * strip->low + i * LANES, masks[i], low);
            }
        }
        source += strip->source_step * size;
        target += 2 * strip->target_step;
    }
}

/// Whole blocks of bfloat16: even and odd channels are halves of words.
static void pack_blocks(const conv_strip *strip) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1)), high = _mm512_set1_epi32((int)0xffff0000);
    // The even channels of a conversion of two vectors, and then the odd ones, alternately.
    const __m512i order = _mm512_add_epi32(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
        _mm512_slli_epi32(_mm512_set_epi32(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16), 16));
    // Adding -0 changes nothing.
    const __m512 slope = vector_all(strip->slope), one = vector_all(1), none = vector_all(-0.0f);
    __m512 scales[2] = {one, one}, shifts[2] = {none, none};
    for (int i = 0; strip->scale && i < 2; i++) {
        scales[i] = vector_load(strip->scale + i * LANES);
        shifts[i] = vector_load(strip->shift + i * LANES);
    }
    const __m512 scale_even = _mm512_permutex2var_ps(scales[0], even, scales[1]);
    const __m512 scale_odd = _mm512_permutex2var_ps(scales[0], odd, scales[1]);
    const __m512 shift_even = _mm512_permutex2var_ps(shifts[0], even, shifts[1]);
    const __m512 shift_odd = _mm512_permutex2var_ps(shifts[0], odd, shifts[1]);
    const uint16_t *source = strip->source;
    float *target = strip->target;
    for (int left = strip->count; left > 0; left--) {
        __builtin_prefetch(source + strip->source_ahead);
        const __m512i words = _mm512_loadu_si512(source);
        __m512 a = vector_fma(_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)), scale_even, shift_even);
        __m512 b = vector_fma(_mm512_castsi512_ps(_mm512_and_si512(words, high)), scale_odd, shift_odd);
        a = vector_leak(a, slope);
        b = vector_leak(b, slope);
        _mm512_storeu_si512(target, _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(b, a)));
        source += strip->source_step;
        target += strip->target_step;
    }
}

static void pack_pairs(const conv_strip *strip) {
    const int leaks = strip->slope != 1;
    if (strip->low) {
        if (strip->scale) {
            pack_pairs_body(strip, 0, 1, 1, 1);
        } else {
            pack_pairs_body(strip, 0, 0, 1, 1);
        }
    } else if (strip->halves) {
        if (strip->channels == 2 * LANES) {
            pack_blocks(strip);
        } else if (strip->scale) {
            pack_pairs_body(strip, 1, 1, 1, 0);
        } else {
            pack_pairs_body(strip, 1, 0, 1, 0);
        }
    } else if (strip->scale) {
        pack_pairs_body(strip, 0, 1, 1, 0);
    } else if (leaks) {
        pack_pairs_body(strip, 0, 0, 1, 0);
    } else {
        pack_pairs_body(strip, 0, 0, 0, 0);
    }
}

#pragma clang attribute pop

static const conv_kernels kernels = {COMMON_KERNELS, .tiles = {ENTRIES_OF_BLOCKS}, .pack_pairs = pack_pairs};

const conv_kernels *nk_conv_kernels_avx512_bf16(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx512_bf16(void) { return NULL; }

#endif
