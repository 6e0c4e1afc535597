// AVX-512 definitions for the vector kernels, and the table of their tiles: up to 14 voxels times 32 channels, using 28
// of the 32 registers. The including file provides immintrin.h, the target attribute and, before template.h,
// vector_products, vector_store_points and POINT_WORDS. Layer 3, execution.

#pragma once

#define VECTOR __m512
#define VECTOR_MASK __mmask16
#define LANES AVX512_LANES
#define LONGEST AVX512_LONGEST
#define DEPTHWISE_PAIRS 12

#define VECTOR_FUNCTION static inline __attribute__((always_inline))

VECTOR_FUNCTION __mmask16 vector_mask(int lanes) {
    return lanes >= 16 ? (__mmask16)0xffff : lanes <= 0 ? 0 : (__mmask16)((1u << lanes) - 1);
}
VECTOR_FUNCTION __m512 vector_load(const float *p) { return _mm512_loadu_ps(p); }
VECTOR_FUNCTION __m512 vector_load_some(const float *p, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, p); }
VECTOR_FUNCTION void vector_store_some(float *p, __mmask16 mask, __m512 v) { _mm512_mask_storeu_ps(p, mask, v); }
/// Stores a cache line past the caches, and waits until all such lines are in memory.
VECTOR_FUNCTION void vector_stream(float *p, __m512 v) { _mm512_stream_ps(p, v); }
VECTOR_FUNCTION void vector_fence(void) { _mm_sfence(); }
VECTOR_FUNCTION __m512 vector_broadcast(const float *p) { return _mm512_set1_ps(*p); }
VECTOR_FUNCTION __m512 vector_fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
VECTOR_FUNCTION void vector_store(float *p, __m512 v) { _mm512_storeu_ps(p, v); }
VECTOR_FUNCTION __m512 vector_all(float value) { return _mm512_set1_ps(value); }
VECTOR_FUNCTION __m512 vector_fnma(__m512 a, __m512 b, __m512 c) { return _mm512_fnmadd_ps(a, b, c); }
VECTOR_FUNCTION __m512 vector_subtract(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
VECTOR_FUNCTION __m512 vector_multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
VECTOR_FUNCTION __m512 vector_add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
/// Rounds to the nearest bfloat16 value, ties to even; NaN stays unchanged.
VECTOR_FUNCTION __m512 vector_round(__m512 v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i kept = _mm512_and_si512(up, _mm512_set1_epi32((int)0xffff0000));
    return _mm512_mask_mov_ps(_mm512_castsi512_ps(kept), _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
}
VECTOR_FUNCTION __m512 vector_leak(__m512 v, __m512 slope) {
    return _mm512_mask_mul_ps(v, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ), v, slope);
}

typedef struct vector_sums {
    __m512d sums[2], squares[2];
} vector_sums;
#define VECTOR_SUMS vector_sums

VECTOR_FUNCTION vector_sums vector_sums_zero(void) {
    const __m512d zero = _mm512_setzero_pd();
    return (vector_sums){{zero, zero}, {zero, zero}};
}
VECTOR_FUNCTION void vector_sums_add(vector_sums *to, __m512 v) {
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    to->sums[0] = _mm512_add_pd(to->sums[0], low);
    to->sums[1] = _mm512_add_pd(to->sums[1], high);
    to->squares[0] = _mm512_fmadd_pd(low, low, to->squares[0]);
    to->squares[1] = _mm512_fmadd_pd(high, high, to->squares[1]);
}
VECTOR_FUNCTION void vector_sums_store(const vector_sums *from, double *sums, double *squares) {
    for (int i = 0; i < 2; i++) {
        _mm512_storeu_pd(sums + 8 * i, _mm512_add_pd(_mm512_loadu_pd(sums + 8 * i), from->sums[i]));
        _mm512_storeu_pd(squares + 8 * i, _mm512_add_pd(_mm512_loadu_pd(squares + 8 * i), from->squares[i]));
    }
}

/// Adds 16 float32 sums to those of float64.
VECTOR_FUNCTION void vector_add_sums(double *to, __m512 v) {
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), low));
    _mm512_storeu_pd(to + 8, _mm512_add_pd(_mm512_loadu_pd(to + 8), high));
}

#define ROW(X, distance, vectors)                                                           \
    X(1, 1, distance, vectors) X(1, 2, distance, vectors) X(1, 3, distance, vectors)       \
    X(1, 4, distance, vectors) X(1, 5, distance, vectors) X(1, 6, distance, vectors)       \
    X(1, 7, distance, vectors) X(1, 8, distance, vectors) X(1, 9, distance, vectors)       \
    X(1, 10, distance, vectors) X(1, 11, distance, vectors) X(1, 12, distance, vectors)    \
    X(1, 13, distance, vectors) X(1, 14, distance, vectors)
#define ROWS(X, vectors)                                                                    \
    X(2, 5, 16, vectors) X(2, 6, 16, vectors) X(2, 7, 16, vectors) X(3, 4, 16, vectors)    \
    X(4, 1, 16, vectors) X(4, 2, 16, vectors) X(4, 3, 16, vectors)
#define HALVES(X, vectors)                                                                  \
    X(1, vectors) X(2, vectors) X(3, vectors) X(4, vectors) X(5, vectors) X(6, vectors) X(7, vectors)
