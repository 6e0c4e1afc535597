// Rows of register tiles. Layer 3, execution.

#pragma once

#include "../kernels/kernels.h"

/// The values that start the sums of a tile, where those are not of the bias.
static const float zeros_of_tile[2 * CONV_BLOCK];

/// Computes a row of register tiles of nearly equal lengths, at most `longest`, with the functions for one number of
/// segments. `distance`: words between voxels of the input.
static inline void run_row(
    conv_tile tile, int length, int longest, ptrdiff_t distance, conv_tile_function *const *functions) {
    const int tiles = ceil_div(length, longest), shorter = length / tiles, longer = length % tiles;
    for (int i = 0; i < tiles; i++) {
        const int count = shorter + (i < longer);
        functions[count - 1](&tile);
        tile.input += count * distance;
        tile.output += count * tile.output_step;
        tile.weights_ahead = 0;
    }
}

/// The largest number of rows that one tile computes; 1 for rows longer than a tile.
static inline int rows_together(conv_tile_function *const (*functions)[AVX512_LONGEST], int length, int longest) {
    int together = 1;
    for (int s = 2; s <= LONGEST_TILE_ROWS && length <= longest; s++) {
        if (functions[s - 1][length - 1]) together = s;
    }
    return together;
}
