// AVX-512 with products of float32.

#include "internal.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), apply_to = function)

#include "avx512.h"

#define POINT_WORDS LANES

VECTOR_FUNCTION __m512 vector_products(__m512 x, __m512 w, __m512 sum) { return vector_fma(x, w, sum); }
VECTOR_FUNCTION void vector_store_points(float *p, __m512 v) { vector_store(p, v); }

#include "template.h"

TILES_OF_BLOCKS
TILES_OF_FEW

#pragma clang attribute pop

static const conv_kernels kernels = {
    .lanes = LANES,
    .longest = LONGEST,
    .tiles = {
        {LONG_AND_SHORT_OF(1), LONG_AND_SHORT_OF(2)},
        {{ROW_OF(4, 1)}, {ROW_OF(4, 2)}},
        {{ROW_OF(1, 1)}, {ROW_OF(1, 2)}},
    },
    .depthwise = depthwise,
    .fold = fold,
    .finish = finish,
    .pack = pack,
    .minimal_input = {minimal_input_2_2, minimal_input_2_4, minimal_input_4_4},
    .minimal_output = {minimal_output_2_2, minimal_output_2_4, minimal_output_4_4},
};

const conv_kernels *nk_conv_kernels_avx512(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx512(void) { return NULL; }

#endif
