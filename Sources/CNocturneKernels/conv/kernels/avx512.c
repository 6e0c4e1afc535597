// AVX-512 with products of float32. Layer 3, execution.

#include "kernels.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), apply_to = function)

#include "avx512.h"

#define POINT_WORDS LANES

VECTOR_FUNCTION __m512 vector_products(__m512 x, __m512 w, __m512 sum) { return vector_fma(x, w, sum); }
VECTOR_FUNCTION void vector_store_points(float *p, __m512 v) { vector_store(p, v); }

/// Stores each line past the caches if it is aligned. Called only where there are matrix tiles, whose processors have the
/// conversion to bfloat16.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))) static void finish_halves(const conv_finish *work) {
    const __m512 slope = vector_all(work->slope);
    const float *from = work->values;
    for (int s = 0; s < work->segments; s++) {
        __m512 sums[2] = {vector_all(0), vector_all(0)}, squares[2] = {vector_all(0), vector_all(0)};
        uint16_t *to = (uint16_t *)work->output + s * work->output_segment;
        for (int r = 0; r < work->length; r++, from += work->width, to += work->output_step) {
            __m512 y[2];
            for (int v = 0; v < 2; v++) {
                y[v] = vector_leak(vector_load(from + v * LANES), slope);
                sums[v] = vector_add(sums[v], y[v]);
                squares[v] = vector_fma(y[v], y[v], squares[v]);
            }
            const __m512i line = (__m512i)_mm512_cvtne2ps_pbh(y[1], y[0]);
            if ((uintptr_t)to % 64 == 0) {
                _mm512_stream_si512((void *)to, line);
            } else {
                _mm512_storeu_si512(to, line);
            }
        }
        for (int v = 0; work->sums && v < 2; v++) {
            vector_add_sums(work->sums + v * LANES, sums[v]);
            vector_add_sums(work->squares + v * LANES, squares[v]);
        }
    }
}
#define STORES_HALVES

#include "float32_template.h"

#pragma clang attribute pop

const conv_kernels *nk_conv_kernels_avx512(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx512(void) { return NULL; }

#endif
