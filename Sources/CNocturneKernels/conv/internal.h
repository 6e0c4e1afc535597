// Declarations shared by the parts of the convolution. Not for other files.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nk_conv.h"

/// Words of one packed block of input: a cache line. A word contains one float32 channel or two bfloat16 channels, the
/// second one in the high half.
enum { CONV_BLOCK = 16 };

/// The tiles of minimal filtering: 2 × 2 outputs (y, x), 2 × 4 and 4 × 4. The points of a tile are two more along each axis.
enum { MINIMAL_2_2, MINIMAL_2_4, MINIMAL_4_4, MINIMAL_TILES, LARGEST_POINTS = 36 };

/// The largest number of planes that minimal filtering along z computes at a time.
enum { LARGEST_DEPTH = 16 };

/// The largest number of segments of a tile.
enum { LONGEST_TILE_ROWS = 4 };

/// A register tile: `segments` rows of `length` voxels, times one block of output channels, over some blocks of input
/// channels and all taps of a phase. All distances are in words.
typedef struct conv_tile {
    /// Packed input of the tile's first voxel.
    const float *input;
    ptrdiff_t input_segment, input_block;
    /// Distance from the high parts of split operands to the low ones; 0 when operands are not split.
    ptrdiff_t input_low;
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

/// A strip of voxels of one source that is copied into the packed buffer: up to a block of channels of each voxel.
typedef struct conv_strip {
    const float *source;
    /// float32 or bfloat16, depending on the function.
    void *target;
    const float *scale, *shift;
    float slope;
    int channels, count;
    /// Whether float32 values are rounded to bfloat16 precision.
    bool rounds;
    ptrdiff_t source_step, target_step;
    /// Number of words to the low parts of split operands; 0 when operands are not split.
    ptrdiff_t low;
    /// The probable position of the next strip.
    ptrdiff_t source_ahead;
} conv_strip;

typedef void conv_tile_function(const conv_tile *tile);

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

/// A set of vector kernels.
typedef struct conv_kernels {
    int lanes;
    /// The longest tile of one row.
    int longest;
    /// [voxel distance 16, 4, 1][vectors - 1][segments - 1][length - 1]; NULL for combinations that do not exist.
    conv_tile_function *tiles[3][2][4][14];
    /// [vectors - 1][length - 1], for whole blocks of words: each sum is that of two sums, of the even and of the odd words.
    /// The longest one has half the length of the longest tile.
    conv_tile_function *two_sets[2][7];
    /// Used instead of the table for matrix tiles: one or two segments of up to 16 voxels, or one of up to 32.
    void (*matrix)(const conv_tile *tile, int segments, int length, int vectors);
    /// Called before and after a chunk, on its thread, or NULL.
    void (*begin)(void);
    void (*end)(void);
    /// One channel in, one channel out, for one row or two adjacent ones of any length: weights are [tap][CONV_BLOCK].
    void (*depthwise)(const conv_tile *tile, int segments, int length);
    void (*fold)(const conv_fold *fold);
    void (*finish)(const conv_finish *finish);
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

/// NULL if not compiled for this architecture. Kernels with bfloat16 products process pairs only.
const conv_kernels *nk_conv_kernels_avx512(void);
const conv_kernels *nk_conv_kernels_avx2(void);
const conv_kernels *nk_conv_kernels_avx512_bf16(void);
const conv_kernels *nk_conv_kernels_amx(void);
const conv_kernels *nk_conv_kernels_amx_model(void);

enum { Z, Y, X };

typedef struct conv_phase {
    int place[3], count[3];
    int tap_count;
    /// Offset of each tap from the first packed voxel of a point.
    ptrdiff_t *taps;
    /// Index of each tap in the kernel.
    int *kernel;
} conv_phase;

/// Consecutive output channels of one phase and group.
typedef struct conv_unit {
    int phase, group, first, channels, vectors;
    size_t weights;
} conv_unit;

struct nk_conv_plan {
    nk_conv_desc desc;
    const conv_kernels *kernels;
    bool depthwise;
    /// Depthwise layers: whether adjacent rows of the output read the same rows of the input, but for one.
    bool row_pairs;
    /// Whether words are pairs of bfloat16 channels, and whether these are high and low parts of float32 operands.
    bool pairs, split;
    /// Whether float32 operands are rounded to bfloat16, to emulate bfloat16 products where there are none.
    bool rounds;
    /// Taps along x that are computed together, as further output channels; 1 for none. A few output channels would
    /// leave most of a vector empty.
    int fold;
    /// Outputs of a tile of minimal filtering along y and x, or 0; and along z, 1 if taps along z remain sums.
    int minimal_y, minimal_x, minimal_z;
    /// Per group. A depthwise layer counts as one group.
    int groups, group_in, group_out;
    int in[3], out[3], in_stride[3], out_stride[3];
    /// A dilated layer is computed as one ordinary layer for each *sub-grid*: every `spacing`-th voxel along an axis.
    /// 1 along axes that are not divided like this. Where it is not 1, both strides are.
    int spacing[3];
    /// The lowest tap offset in voxels, and the range up to the highest one in voxels of a sub-grid: 1 for one tap.
    int lowest[3], span[3];
    /// For each remainder modulo the input stride, whether a tap reads there.
    bool *reads[3];
    int phase_count;
    conv_phase *phases;
    int unit_count;
    conv_unit *units;
    /// The grid of the largest sub-grid, its boxes, their number along each axis, and the number of ranges of units.
    int grid[3], box[3], boxes[3], ranges;
    /// Packed input: words between voxels, extents, words between rows and between blocks; `low` from high parts to low
    /// parts.
    int distance, packed[3], row_voxels;
    size_t row, block, low;
    int block_count, last_words;
    /// Cycles for a word of input and a vector of weights, relative to those of vector products.
    double product_cost;
    /// Blocks of input channels in a pass.
    int pass_blocks;
    /// Minimal filtering: number of output planes whose products are stored at a time. With several outputs along z, a
    /// multiple of those, and also the number of planes that are computed at a time.
    int depth;
    /// Portable path: number of grid rows gathered for one product.
    int rows;
    float *weights, *bias;
    size_t weight_count;
    size_t plan_bytes, scratch_bytes;
};

typedef struct conv_job conv_job;

static inline int ceil_div(int a, int b) { return (a + b - 1) / b; }
static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }
static inline int modulo(int a, int b) { return (a % b + b) % b; }
static inline int words_of(const nk_conv_plan *plan) {
    return (plan->block_count - 1) * plan->distance + plan->last_words;
}
static inline size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/// Converts one of NK_CONV_ISA_*, without NK_CONV_DIRECT, to one that this processor can run; -1 if there is none.
int nk_conv_resolve_isa(int isa);

/// The phases and their taps, the grid and the strides. False when memory runs out.
bool nk_conv_create_phases(nk_conv_plan *plan);

/// Computes the positions of the taps in packed memory. Needs the box.
void nk_conv_place_taps(nk_conv_plan *plan);

/// Needs the phases; false when memory runs out or there are too many.
bool nk_conv_create_units(nk_conv_plan *plan);

/// Allocates zeroed memory of the plan, aligned to a cache line, or returns NULL.
void *nk_conv_allocate(nk_conv_plan *plan, size_t bytes);

/// Computes the sizes of packed memory that follow from a box.
void nk_conv_measure_packed(nk_conv_plan *plan);

/// Divides the grid into boxes and the units into ranges. Returns the cost in cycles, negative if there is no division.
double nk_conv_choose_boxes(nk_conv_plan *plan);

/// Whether the output may be stored past the caches: its units are whole cache lines (if its memory is aligned), they are
/// complete when they are stored, and it is too large to be in the caches when the next layer reads it.
bool nk_conv_streams(const nk_conv_plan *plan);

/// Needs the units; false when memory runs out.
bool nk_conv_pack_weights(nk_conv_plan *plan, const float *weights, const float *bias);

/// Floats of scratch memory for the products of a row of a folded layer. Needs the box.
size_t nk_conv_folded_floats(const nk_conv_plan *plan);

/// Computes some units of the job's box in one sub-grid with vectors.
void nk_conv_vectors_run(const conv_job *job, int first, int end);

/// Packs some blocks of channels of the whole box.
void nk_conv_pack_box(const conv_job *job, int group, int block, int blocks);

/// Blocks of channels whose rows are packed, `target_block` words apart.
typedef struct conv_blocks {
    int group, first, count;
    size_t target_block;
    /// Rows along y of each plane that are packed.
    int rows;
} conv_blocks;

/// Packs some blocks of channels of one row: row (z, y) of the packed box, or zeros if the input does not have it, to
/// `target`, the row's position in the first of the blocks. Writes pairs if the plan uses them, but float32 for minimal
/// filtering, whose blocks then have half as many channels.
void nk_conv_pack_row(const conv_job *job, const conv_blocks *blocks, int z, int y, float *target);

/// The factor by which this number of equal chunks takes longer than an exact division of the work among the threads.
double nk_conv_imbalance(double chunks);

/// What keeping so many weights in memory must be worth, in cycles: half a cycle of a run for each byte; two cycles for
/// pairs of bfloat16, because the larger error of minimal filtering must be worth it, too.
static inline double nk_conv_cost_of_weights(const nk_conv_plan *plan, size_t count) {
    return (plan->pairs ? 2 : 0.5) * sizeof(float) * (double)count;
}

/// Chooses boxes for minimal filtering; returns the cost in cycles, including that of keeping the weights, or a negative
/// number for a layer that it does not support.
double nk_conv_minimal_choose(nk_conv_plan *plan);
/// The bfloat16 nearest to a value, ties to even, and its value as float32.
uint16_t nk_conv_bfloat16(float value);
float nk_conv_rounded(float value);
/// The kind of tile, one of MINIMAL_*; its points; packed blocks of channels per block of words; planes of input for this
/// number of output planes.
int nk_conv_minimal_tile(const nk_conv_plan *plan);
int nk_conv_minimal_points(const nk_conv_plan *plan);
int nk_conv_minimal_plane_blocks(const nk_conv_plan *plan);
int nk_conv_minimal_planes(const nk_conv_plan *plan, int size);
/// Words from a point to the next one for so many words of a point: an odd number of cache lines, so that the points of a
/// tile are kept in different sets of the first-level cache.
static inline size_t nk_conv_minimal_stride(size_t words) {
    return words / CONV_BLOCK % 2 == 1 ? words : words + CONV_BLOCK;
}
/// Points along z of a tile, each with its own weights; the taps along z if the tile has one output there.
int nk_conv_minimal_points_z(const nk_conv_plan *plan);
/// Words of the packed planes, of the points of the inputs, of the products of one unit, of the points along z: of the
/// inputs and of the products, and of a row of tiles of the output that is stored past the caches.
typedef struct conv_minimal_words {
    size_t packed, points, products, z_points, z_products, rows;
} conv_minimal_words;
conv_minimal_words nk_conv_minimal_measure(const nk_conv_plan *plan);
size_t nk_conv_minimal_weight_count(const nk_conv_plan *plan);
void nk_conv_minimal_pack_weights(nk_conv_plan *plan, const float *weights);
size_t nk_conv_minimal_scratch_floats(const nk_conv_plan *plan);
void nk_conv_minimal_run(const conv_job *job, int first, int end);

/// Prepares a plan without vector kernels; returns the floats of scratch memory that its products need. Needs the box.
size_t nk_conv_portable_prepare(nk_conv_plan *plan);
void nk_conv_portable_run(const conv_job *job, int first, int end);
