// AVX-512 with products of float32. Layer 3, execution.

#include "kernels.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), apply_to = function)

#include "avx512.h"

#define POINT_WORDS LANES

VECTOR_FUNCTION __m512 vector_products(__m512 x, __m512 w, __m512 sum) { return vector_fma(x, w, sum); }
VECTOR_FUNCTION void vector_store_points(float *p, __m512 v) { vector_store(p, v); }

/// Rounds two vectors to bfloat16 and stores them as one cache line, past the caches if it is aligned.
VECTOR_FUNCTION void vector_store_halves(float *p, __m512 first, __m512 second) {
    const __m256i low = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(vector_round(first)), 16));
    const __m256i high = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(vector_round(second)), 16));
    const __m512i line = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    if ((uintptr_t)p % 64 == 0) {
        _mm512_stream_si512((void *)p, line);
    } else {
        _mm512_storeu_si512(p, line);
    }
}
#define STORES_HALVES

#include "float32_template.h"

#pragma clang attribute pop

const conv_kernels *nk_conv_kernels_avx512(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx512(void) { return NULL; }

#endif
