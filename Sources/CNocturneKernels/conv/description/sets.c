// The table of instruction sets. Layer 1, description.

#include "sets.h"

const conv_set nk_conv_sets[] = {
    [NK_CONV_ISA_AVX2] = {.lanes = AVX2_LANES, .longest = AVX2_LONGEST, .along_z = true},
    [NK_CONV_ISA_AVX512] = {.lanes = AVX512_LANES, .longest = AVX512_LONGEST, .along_z = true},
    [NK_CONV_ISA_AVX512_BF16] = {.lanes = AVX512_LANES, .longest = AVX512_LONGEST, .pairs = true},
    [NK_CONV_ISA_AMX] = {.lanes = AVX512_LANES, .longest = MATRIX_ROWS, .pairs = true, .matrix = true},
    [NK_CONV_ISA_AMX_MODEL] = {.lanes = AVX512_LANES, .longest = MATRIX_ROWS, .pairs = true, .matrix = true},
};
