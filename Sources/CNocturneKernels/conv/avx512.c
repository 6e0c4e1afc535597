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
#include "minimal_z_template.h"

TILES_OF_BLOCKS
TILES_OF_FEW
TILE_OF_TWO_SETS(1, 1)
TILE_OF_TWO_SETS(2, 1)
TILE_OF_TWO_SETS(3, 1)
TILE_OF_TWO_SETS(4, 1)
TILE_OF_TWO_SETS(5, 1)
TILE_OF_TWO_SETS(6, 1)
TILE_OF_TWO_SETS(7, 1)
TILE_OF_TWO_SETS(1, 2)
TILE_OF_TWO_SETS(2, 2)
TILE_OF_TWO_SETS(3, 2)
TILE_OF_TWO_SETS(4, 2)
TILE_OF_TWO_SETS(5, 2)
TILE_OF_TWO_SETS(6, 2)
TILE_OF_TWO_SETS(7, 2)

#pragma clang attribute pop

static const conv_kernels kernels = {
    .lanes = LANES,
    .longest = LONGEST,
    .tiles = {
        {LONG_AND_SHORT_OF(1), LONG_AND_SHORT_OF(2)},
        {{ROW_OF(4, 1)}, {ROW_OF(4, 2)}},
        {{ROW_OF(1, 1)}, {ROW_OF(1, 2)}},
    },
    .two_sets =
        {
            {tile_of_two_sets_1_1, tile_of_two_sets_2_1, tile_of_two_sets_3_1, tile_of_two_sets_4_1,
             tile_of_two_sets_5_1, tile_of_two_sets_6_1, tile_of_two_sets_7_1},
            {tile_of_two_sets_1_2, tile_of_two_sets_2_2, tile_of_two_sets_3_2, tile_of_two_sets_4_2,
             tile_of_two_sets_5_2, tile_of_two_sets_6_2, tile_of_two_sets_7_2},
        },
    .depthwise = depthwise,
    .fold = fold,
    .finish = finish,
    .pack = pack,
    .minimal_input = {minimal_input_2_2, minimal_input_2_4, minimal_input_4_4},
    .minimal_output = {minimal_output_2_2, minimal_output_2_4, minimal_output_4_4},
    .minimal_z_input = minimal_z_input,
    .minimal_z_output = minimal_z_output,
};

const conv_kernels *nk_conv_kernels_avx512(void) { return &kernels; }

#else

const conv_kernels *nk_conv_kernels_avx512(void) { return NULL; }

#endif
