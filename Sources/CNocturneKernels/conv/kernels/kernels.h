// The kernels of the convolution: what each of them computes, and the table of those of an instruction set. Layer 3,
// execution. A kernel knows neither plan nor layer, only the values it is called with.

#pragma once

#include "../description/sets.h"

/// A register tile: `segments` rows of `length` voxels, times one block of output channels, over some blocks of input
/// channels and all taps of a phase. All distances are in words.
typedef struct conv_tile {
    /// Packed input of the tile's first voxel.
    const float *input;
    ptrdiff_t input_segment, input_block;
    const ptrdiff_t *taps;
    /// `last_words`: words of a voxel in the last block. For two rows of a depthwise layer: `row_taps` taps are one row
    /// of the kernel, and `plane_taps` one plane.
    int tap_count, block_count, last_words, row_taps, plane_taps;
    const float *weights;
    /// Distance to weights that are needed soon and are fetched into the cache meanwhile; 0 if there are none.
    ptrdiff_t weights_ahead;
    /// Start values, or NULL to continue from the content of `output`.
    const float *bias;
    float *output;
    ptrdiff_t output_segment, output_step;
    /// Output channels of the tile that exist.
    int channels;
} conv_tile;

typedef void conv_tile_function(const conv_tile *tile);

/// The operations after the last sum of a tile.
typedef struct conv_finish {
    float *output;
    const float *residual;
    ptrdiff_t output_segment, output_step;
    int segments, length, channels;
    float slope;
    /// Sums and sums of squares, or NULL.
    double *sums, *squares;
    /// The values, each segment after the other, voxels `width` apart; NULL if they are in the output. They are stored past
    /// the caches: `output` must consist of whole cache lines.
    const float *values;
    int width;
} conv_finish;

/// The products of a block of 96 voxels and 16 output channels on matrix tiles: two halves of three tiles of 16 voxels. All
/// distances are in words.
typedef struct conv_matrix {
    /// Packed input of the first voxel of each half, and from one of its tiles to the next.
    const float *input[2];
    ptrdiff_t next, input_block;
    /// Offsets of the taps in the input of each half, and of their weights.
    const ptrdiff_t *taps[2], *weight_taps;
    int tap_count, block_count;
    const float *weights;
    ptrdiff_t weight_block;
    /// Memory that is read soon: each step fetches two of its lines into the second-level cache.
    const char *ahead;
    /// `[voxel][output channel]`: receives the sums.
    float *sums;
} conv_matrix;

/// How the end of a block stores its 16 channels: as float32, also past the caches or with a residual; or as bfloat16. The
/// first half of 32 channels is then kept until the second one completes the cache line.
enum {
    MATRIX_FLOATS,
    MATRIX_FLOATS_STREAMED,
    MATRIX_RESIDUAL,
    MATRIX_FIRST_HALF,
    MATRIX_SECOND_HALF,
    MATRIX_SECOND_HALF_STREAMED,
};

/// The operations after the last sum of a block on matrix tiles.
typedef struct conv_matrix_end {
    const float *sums;
    /// For each voxel of a half its position in the output, negative if it is not wanted.
    const int32_t *offsets[2];
    void *output[2];
    /// With MATRIX_RESIDUAL, in the layout of the output.
    const float *residual[2];
    /// Output channels that exist.
    int channels, form;
    const float *bias;
    float slope;
    /// `[voxel][output channel]`: the first halves of bfloat16 channels.
    uint16_t *halves;
    /// Sums and sums of squares of 16 channels, or NULL.
    double *stats, *squares;
} conv_matrix_end;

/// A strip of voxels of one source that is copied into the packed buffer: up to a block of channels of each voxel.
typedef struct conv_strip {
    const void *source;
    /// Whether the source is bfloat16; only for pack_pairs.
    bool halves;
    /// float32 or bfloat16, depending on the function.
    void *target;
    const float *scale, *shift;
    float slope;
    int channels, count;
    /// Whether float32 values are rounded to bfloat16 precision.
    bool rounds;
    ptrdiff_t source_step, target_step;
    /// Number of words from one part of split operands to the next; 0 when operands are not split.
    ptrdiff_t low;
    /// The probable position of the next strip.
    ptrdiff_t source_ahead;
} conv_strip;

/// Some rows of tiles of one plane and one block of channels, to be transformed to the points of minimal filtering.
typedef struct conv_minimal_input {
    /// Packed voxels, CONV_BLOCK apart, and the distance between rows.
    const float *input;
    ptrdiff_t row;
    int tiles_y, tiles_x;
    /// The first point of the first tile; tiles are CONV_BLOCK apart.
    float *points;
    ptrdiff_t point;
} conv_minimal_input;

/// Points along y and x, one of each tile, of consecutive planes, to be transformed along z. A slab is as many planes of
/// the output as a tile has along z.
typedef struct conv_minimal_z_input {
    /// The point of the first tile of the first block; tiles are CONV_BLOCK apart.
    const float *input;
    /// The position of each plane.
    const ptrdiff_t *planes;
    ptrdiff_t block;
    int blocks, slabs, tiles;
    /// `[point along z][block][slab][tile][channel]`, and the distance between points.
    float *points;
    ptrdiff_t point;
} conv_minimal_z_input;

/// Products of one unit for one point along y and x, to be transformed back along z.
typedef struct conv_minimal_z_output {
    /// `[point along z][slab][tile][output channel]`, and the distance between points.
    const float *points;
    ptrdiff_t point;
    int slabs, tiles;
    /// Floats of a tile.
    int width;
    /// `[plane][tile][output channel]`. The last slab may have more planes than are wanted.
    float *products;
    int planes;
    /// Whether values are added to those of the products before.
    bool adds;
} conv_minimal_z_output;

/// A row of tiles of one unit, whose products are transformed to outputs.
typedef struct conv_minimal_output {
    const float *points;
    ptrdiff_t point;
    /// Floats between tiles.
    int width;
    const float *bias;
    float *output;
    ptrdiff_t output_row, output_step;
    /// The part that lies within the output.
    int rows, columns, channels;
} conv_minimal_output;

/// A row of folded products, whose taps along x are added: those of a tap are `channels` floats after those of the tap
/// before, and `tap_step` voxels further.
typedef struct conv_fold {
    const float *products, *bias;
    /// Floats between voxels.
    int width;
    int taps, tap_step;
    float *output;
    ptrdiff_t output_step;
    int length, channels;
} conv_fold;

/// The kernels of an instruction set; description/sets.h has its values.
typedef struct conv_kernels {
    /// [voxel distance 16, 4, 1][vectors - 1][segments - 1][length - 1]; NULL for combinations that do not exist.
    conv_tile_function *tiles[3][2][LONGEST_TILE_ROWS][AVX512_LONGEST];
    /// [vectors - 1][length - 1], for whole blocks of words: each sum is that of two sums, of the even and of the odd words.
    /// The longest one has half the length of the longest tile.
    conv_tile_function *two_sets[2][AVX512_LONGEST / 2];
    /// Used instead of the tables for matrix tiles: the products of a block, and meanwhile the end of the block before.
    /// Either may be NULL.
    void (*matrix)(const conv_matrix *work, const conv_matrix_end *before);
    /// Waits until what was stored past the caches is in memory.
    void (*fence)(void);
    /// Called before and after a chunk, on its thread, or NULL.
    void (*begin)(void);
    void (*end)(void);
    /// One channel in, one channel out, for one row or two adjacent ones of any length: weights are [tap][CONV_BLOCK].
    void (*depthwise)(const conv_tile *tile, int segments, int length);
    void (*fold)(const conv_fold *fold);
    void (*finish)(const conv_finish *finish);
    /// The same for values of 32 channels without a residual, which are rounded to bfloat16; NULL where that is not used.
    void (*finish_halves)(const conv_finish *finish);
    void (*pack)(const conv_strip *strip);
    /// Conversion to bfloat16.
    void (*pack_pairs)(const conv_strip *strip);
    /// For each kind of tile. With kernels of bfloat16 products, points are rounded: a block of channels becomes half a
    /// block of words.
    void (*minimal_input[MINIMAL_TILES])(const conv_minimal_input *work);
    void (*minimal_output[MINIMAL_TILES])(const conv_minimal_output *work);
    /// For tiles of four outputs along z, or NULL.
    void (*minimal_z_input)(const conv_minimal_z_input *work);
    void (*minimal_z_output)(const conv_minimal_z_output *work);
} conv_kernels;

/// NULL if not compiled for this architecture, or not available on this processor. Kernels with bfloat16 products process
/// pairs only.
const conv_kernels *nk_conv_kernels_avx2(void);
const conv_kernels *nk_conv_kernels_avx512(void);
const conv_kernels *nk_conv_kernels_avx512_bf16(void);
const conv_kernels *nk_conv_kernels_amx(void);
const conv_kernels *nk_conv_kernels_amx_model(void);
