// AVX2 with FMA: tiles of up to 6 voxels times 16 channels, using 12 of the 16 registers. Layer 3, execution.

#include "kernels.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)

#define VECTOR __m256
#define LANES AVX2_LANES
#define LONGEST AVX2_LONGEST
#define DEPTHWISE_PAIRS 6
#define POINT_WORDS LANES

#define VECTOR_FUNCTION static inline __attribute__((always_inline))

/// A mask with a flag for the common case: masked stores are slow on some processors.
typedef struct vector_mask_type {
    __m256i lanes;
    int full;
} vector_mask_type;
#define VECTOR_MASK vector_mask_type

VECTOR_FUNCTION vector_mask_type vector_mask(int lanes) {
    const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return (vector_mask_type){_mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), order), lanes >= 8};
}
VECTOR_FUNCTION __m256 vector_load(const float *p) { return _mm256_loadu_ps(p); }
VECTOR_FUNCTION __m256 vector_load_some(const float *p, vector_mask_type mask) {
    return mask.full ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, mask.lanes);
}
VECTOR_FUNCTION void vector_store_some(float *p, vector_mask_type mask, __m256 v) {
    if (mask.full) {
        _mm256_storeu_ps(p, v);
    } else {
        _mm256_maskstore_ps(p, mask.lanes, v);
    }
}
/// Vectors are not whole cache lines, which alone are worth storing past the caches.
VECTOR_FUNCTION void vector_stream(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
VECTOR_FUNCTION void vector_fence(void) {}
VECTOR_FUNCTION __m256 vector_broadcast(const float *p) { return _mm256_broadcast_ss(p); }
VECTOR_FUNCTION __m256 vector_fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
VECTOR_FUNCTION void vector_store(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
VECTOR_FUNCTION __m256 vector_all(float value) { return _mm256_set1_ps(value); }
VECTOR_FUNCTION __m256 vector_fnma(__m256 a, __m256 b, __m256 c) { return _mm256_fnmadd_ps(a, b, c); }
VECTOR_FUNCTION __m256 vector_subtract(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
VECTOR_FUNCTION __m256 vector_multiply(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
VECTOR_FUNCTION __m256 vector_add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
VECTOR_FUNCTION __m256 vector_products(__m256 x, __m256 w, __m256 sum) { return vector_fma(x, w, sum); }
VECTOR_FUNCTION void vector_store_points(float *p, __m256 v) { vector_store(p, v); }
/// Rounds to the nearest bfloat16 value, ties to even; NaN stays unchanged.
VECTOR_FUNCTION __m256 vector_round(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i kept = _mm256_and_si256(up, _mm256_set1_epi32((int)0xffff0000));
    return _mm256_blendv_ps(_mm256_castsi256_ps(kept), v, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
VECTOR_FUNCTION __m256 vector_leak(__m256 v, __m256 slope) {
    return _mm256_blendv_ps(v, _mm256_mul_ps(v, slope), _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_LT_OQ));
}

typedef struct vector_sums {
    __m256d sums[2], squares[2];
} vector_sums;
#define VECTOR_SUMS vector_sums

VECTOR_FUNCTION vector_sums vector_sums_zero(void) {
    const __m256d zero = _mm256_setzero_pd();
    return (vector_sums){{zero, zero}, {zero, zero}};
}
VECTOR_FUNCTION void vector_sums_add(vector_sums *to, __m256 v) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    to->sums[0] = _mm256_add_pd(to->sums[0], low);
    to->sums[1] = _mm256_add_pd(to->sums[1], high);
    to->squares[0] = _mm256_fmadd_pd(low, low, to->squares[0]);
    to->squares[1] = _mm256_fmadd_pd(high, high, to->squares[1]);
}
VECTOR_FUNCTION void vector_sums_store(const vector_sums *from, double *sums, double *squares) {
    for (int i = 0; i < 2; i++) {
        _mm256_storeu_pd(sums + 4 * i, _mm256_add_pd(_mm256_loadu_pd(sums + 4 * i), from->sums[i]));
        _mm256_storeu_pd(squares + 4 * i, _mm256_add_pd(_mm256_loadu_pd(squares + 4 * i), from->squares[i]));
    }
}

#define ROW(X, distance, vectors)                                                           \
    X(1, 1, distance, vectors) X(1, 2, distance, vectors) X(1, 3, distance, vectors)       \
    X(1, 4, distance, vectors) X(1, 5, distance, vectors) X(1, 6, distance, vectors)
#define ROWS(X, vectors) X(2, 3, 16, vectors) X(3, 2, 16, vectors) X(4, 1, 16, vectors)
#define HALVES(X, vectors) X(1, vectors) X(2, vectors) X(3, vectors)

#include "float32_template.h"

#pragma clang attribute pop

const conv_kernels *nk_conv_kernels_avx2(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx2(void) { return NULL; }

#endif
