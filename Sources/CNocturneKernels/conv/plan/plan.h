// The plan of a layer: values that follow from its description and an instruction set, without weights or kernels.
// Layer 2, plan.
//
// A plan represents every layer as a few *phases*. A phase is a set of taps: for each point i of a grid it reads the
// input at i * input_stride + tap offset and writes the output at i * output_stride + the phase's position. An ordinary
// convolution is one phase with output stride 1. A transposed one has a phase for each position modulo its stride, each
// with the taps that contribute to it and input stride 1; so kernel = stride gives one tap per phase, and nothing is
// multiplied by zero.
//
// A dilated layer with stride 1 is divided into sub-grids of every d-th voxel along the axes for which that pays: along
// such an axis the voxels of a sub-grid meet only each other, so on each sub-grid the layer is an ordinary one, with a
// border of one voxel instead of d, and with minimal filtering. All sub-grids share taps, boxes and weights.
//
// A layer with a few output channels can be folded: vectors contain the output channels of all taps along x, and a row
// of products is computed before those that meet in a voxel are added.
//
// A chunk is a box of the grid times a range of blocks of output channels. It copies its part of the input, padded and
// with the prologue applied, into scratch memory: [block of 16 channels][z][y][x modulo stride][x / stride][channel],
// so that adjacent voxels of the output have a fixed distance, whatever the layer. Register tiles then iterate over
// blocks of channels and taps. Layers that do not fit the cache are computed in several passes over the input channels,
// with the partial sums in the output.
//
// On matrix tiles scratch memory has a ring of planes instead, which moves along z: [block][plane][y modulo stride]
// [x modulo stride][y / stride][x / stride][channel]. The voxels of a flattened plane are adjacent, also across rows.

#pragma once

#include "../description/layer.h"
#include "../description/sets.h"

typedef struct conv_phase {
    int place[3], count[3];
    int tap_count;
    /// Offset of each tap from the first packed voxel of a point; in a ring without that along z.
    ptrdiff_t *taps;
    /// Index of each tap in the kernel, and its offset along z in planes.
    int *kernel, *planes;
} conv_phase;

/// Consecutive output channels of one phase and group, and the position of their packed weights.
typedef struct conv_unit {
    int phase, group, first, channels, vectors;
    size_t weights;
} conv_unit;

/// Floats of the parts of a chunk's scratch memory, which follow each other in this order; 0 for parts that a method
/// does not have.
typedef struct conv_scratch {
    /// Packed input: the blocks of a pass, or with minimal filtering one plane of each.
    size_t packed;
    /// Minimal filtering: points of the inputs; products of one unit; points along z of the inputs and of the products.
    size_t points, unit_products, z_points, z_products;
    /// Baseline: gathered rows. Their products, and those of a row of a folded layer or of a block on matrix tiles.
    size_t gathered, products;
    /// Rows of tiles of an output that is stored past the caches; on matrix tiles the positions of taps and voxels.
    size_t rows;
    /// Matrix tiles: the largest number of products of a block of channels.
    size_t taps;
} conv_scratch;

typedef struct conv_plan {
    conv_layer layer;
    /// The instruction set for which the plan was asked, and the one whose kernels compute it: one of NK_CONV_ISA_*.
    int isa, kernels;
    /// The values of the latter.
    conv_set set;
    /// Depthwise layers: whether adjacent rows of the output read the same rows of the input, but for one.
    bool row_pairs;
    /// Whether words are pairs of bfloat16 channels, and whether these are high and low parts of float32 operands.
    bool pairs, split;
    /// Whether float32 operands are rounded to bfloat16, to emulate bfloat16 products where there are none.
    bool rounds;
    /// Whether the output may be stored past the caches: its units are whole cache lines (if its memory is aligned), they
    /// are complete when they are stored, and it is too large to be in the caches when the next layer reads it.
    bool streams;
    /// Taps along x that are computed together, as further output channels; 1 for none. A few output channels would
    /// leave most of a vector empty.
    int fold;
    /// Outputs of a tile of minimal filtering: along x and y 0 without it; along z 1 if taps along z remain sums.
    int minimal[3];
    /// Per group. A depthwise layer counts as one group.
    int groups, group_in, group_out;
    int in_stride[3], out_stride[3];
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
    /// Packed input: words between voxels, extents, words between rows, planes and blocks; `part` and `part_y` between the
    /// voxels and rows of one remainder modulo the stride and the next; `low` from one part of split operands to the next.
    int distance, packed[3], row_voxels;
    size_t row, part, part_y, plane, block, low;
    /// Matrix tiles: the number of planes in the ring, and whether a block is computed for all units before the next one,
    /// because their weights fit in the cache.
    int ring;
    bool keeps_weights;
    int block_count, last_words;
    /// Blocks of input channels in a pass.
    int pass_blocks;
    /// Minimal filtering: number of output planes whose products are stored at a time. With several outputs along z, a
    /// multiple of those, and also the number of planes that are computed at a time; so it is on matrix tiles.
    int depth;
    /// Baseline: number of grid rows gathered for one product.
    int rows;
    /// Floats of packed weights.
    size_t weight_count;
    conv_scratch scratch;
    size_t scratch_bytes;
    /// Bytes of the lists.
    size_t bytes;
} conv_plan;

/// The cheapest plan for a layer and an instruction set, one of NK_CONV_ISA_* that is not NK_CONV_ISA_AUTO; `is_direct`:
/// without minimal filtering. False when memory runs out. The lists are released with nk_conv_release_plan.
bool nk_conv_choose(const conv_layer *layer, int isa, bool is_direct, conv_plan *plan);

void nk_conv_release_plan(conv_plan *plan);

/// See nk_conv_plan_work, nk_conv_plan_operations and nk_conv_plan_method.
nk_conv_work nk_conv_work_of(const conv_plan *plan);
double nk_conv_operations_of(const conv_plan *plan);
const char *nk_conv_method_of(const conv_plan *plan);

/// On matrix tiles half a block is 48 consecutive voxels of a flattened plane, those between rows included; or, where rows
/// are whole tiles, 16 voxels of three rows, which share more input.
static inline bool has_whole_tiles(const conv_plan *plan) { return plan->box[X] % MATRIX_ROWS == 0; }

/// The number of halves of blocks of a plane with these numbers of rows and columns of output.
int nk_conv_groups_of_plane(const conv_plan *plan, int rows, int columns);

/// Whether a layer has enough channels for products of pairs: a few would leave most of a block's words empty.
static inline bool nk_conv_fills_pairs(int cin, int groups) { return cin / groups > 4; }

/// The parts of an operand, and the products of two operands.
static inline int parts_of(const conv_plan *plan) { return plan->split ? SPLIT_PARTS : 1; }
static inline int products_of(const conv_plan *plan) { return plan->split ? SPLIT_PRODUCTS : 1; }

/// Whether the output may be bfloat16: with that precision where there are matrix tiles, on these or, for layers of a few
/// input channels, with vectors that are complete when they are stored.
static inline bool stores_halves(const conv_plan *plan) {
    if (!nk_conv_sets[plan->isa].matrix || plan->layer.precision != NK_CONV_BFLOAT16) return false;
    if (plan->layer.depthwise || plan->group_out % (2 * MATRIX_ROWS) != 0) return false;
    if (plan->set.matrix) return true;
    return plan->groups == 1 && plan->fold == 1 && !plan->minimal[X] && plan->pass_blocks == plan->block_count;
}

static inline bool has_vectors(const conv_plan *plan) { return plan->set.lanes > 0; }

/// Words of a voxel, in all blocks.
static inline int words_of(const conv_plan *plan) {
    return (plan->block_count - 1) * plan->distance + plan->last_words;
}

/// Output voxels between adjacent points along an axis.
static inline int output_step(const conv_plan *plan, int axis) {
    return plan->out_stride[axis] * plan->spacing[axis];
}
