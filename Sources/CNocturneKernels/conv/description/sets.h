// What the kernels of each instruction set can compute: the values by which a plan is chosen, without the kernels
// themselves. Layer 1, description.

#pragma once

#include "nk_conv.h"
#include "numbers.h"

/// Words of one packed block of input: a cache line. A word contains one float32 channel or two bfloat16 channels, the
/// second one in the high half.
enum { CONV_BLOCK = 16 };

/// The tiles of minimal filtering: 2 × 2 outputs (y, x), 2 × 4 and 4 × 4. The points of a tile are two more along each axis.
enum { MINIMAL_2_2, MINIMAL_2_4, MINIMAL_4_4, MINIMAL_TILES, LARGEST_POINTS = 36 };

/// The largest number of planes that minimal filtering along z computes at a time.
enum { LARGEST_DEPTH = 16 };

/// The largest number of segments (rows of the output) of a register tile.
enum { LONGEST_TILE_ROWS = 4 };

/// Values of an instruction set.
typedef struct conv_set {
    /// float32 values of a vector; 0 for the baseline, which has no vector kernels.
    int lanes;
    /// Voxels of the longest register tile of one row.
    int longest;
    /// Whether words are products of bfloat16 pairs.
    bool pairs;
    /// Whether products are those of matrix tiles.
    bool matrix;
    /// Whether minimal filtering has tiles of several outputs along z, too.
    bool along_z;
} conv_set;

enum {
    AVX2_LANES = 8,
    AVX2_LONGEST = 6,
    AVX512_LANES = 16,
    AVX512_LONGEST = 14,
    /// Rows of a matrix tile, of a block of six of them, and of half a block.
    MATRIX_ROWS = 16,
    MATRIX_BLOCK = 6 * MATRIX_ROWS,
    MATRIX_HALF = MATRIX_BLOCK / 2,
    /// The parts of a split operand, and the products of two operands that count.
    SPLIT_PARTS = 3,
    SPLIT_PRODUCTS = 6,
};

/// By NK_CONV_ISA_*, from the baseline on.
extern const conv_set nk_conv_sets[NK_CONV_ISA_AMX_MODEL + 1];
