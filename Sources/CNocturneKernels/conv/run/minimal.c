// Minimal filtering (Winograd) along y and x: a tile of 4 × 4 outputs of a 3 × 3 kernel from 6 × 6 = 36 products of
// transformed inputs and weights instead of 144, or a tile of 2 × 4 outputs from 24 instead of 72. Taps along z remain
// sums (minimal_z.c has tiles with several outputs along z), so a 3 × 3 × 3 convolution needs a quarter or a third of the
// multiplications. A chunk transforms its input plane by plane, multiplies point by point with the same register tiles as
// the direct form (a tile is a voxel there, a tap along z a tap), and transforms back when it writes the output.
//
// The error depends on the points at which the polynomials of four outputs are evaluated: with 0, ±3/4, ±3/2 and
// infinity that of 4 × 4 outputs is as small as with the usual 0, ±1, ±2 and infinity that of 2 × 4 is, and hardly larger
// than that of the plain sum (nk_conv.h has figures).
//
// The method: Winograd, Arithmetic Complexity of Computations, 1980; for convolutional networks: Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks, CVPR 2016.
//
// Layer 3, execution.

#include "methods.h"
#include "minimal_transforms.h"
#include "tiles.h"

/// Computes the products of all points. `tile` has the values they share; `input` is the position of the first point of
/// the box's first plane.
static void multiply(const minimal_products *work, conv_tile tile, const float *input, ptrdiff_t input_point, int block) {
    const conv_plan *plan = work->job->plan;
    const int tiles = work->tiles_y * work->tiles_x, width = tile.channels;
    conv_tile_function *const(*table)[AVX512_LONGEST] = work->job->kernels->tiles[0][work->unit->vectors - 1];
    const int together = rows_together(table, tiles, plan->set.longest);
    const int points = minimal_points(plan);
    for (int p = 0; p < points; p++) {
        tile.weights = minimal_weights(work->job, work->unit, p, block);
        // The weights of one point are too short a stream for the processor to fetch them in time.
        tile.weights_ahead = p + 1 < points ? (ptrdiff_t)words_of(plan) * plan->layer.kernel[Z] * width : 0;
        for (int z = 0; z < work->step.count;) {
            const int segments = work->step.count - z >= together ? together : 1;
            tile.input = input + p * input_point + (work->step.first + z) * tile.input_segment;
            tile.output = work->products + p * work->product_point + (ptrdiff_t)z * tiles * width;
            run_row(tile, tiles, plan->set.longest, CONV_BLOCK, table[segments - 1]);
            tile.weights_ahead = 0;
            z += segments;
        }
    }
}

/// Multiplies the points by the weights of one unit, some planes at a time, and transforms back after the last block.
static void multiply_unit(
    const conv_job *job, const conv_unit *unit, const minimal_inputs *inputs, const ptrdiff_t *taps, float *products,
    float *rows) {
    const conv_plan *plan = job->plan;
    const int tiles = inputs->tiles_y * inputs->tiles_x;
    const bool last = inputs->block + inputs->blocks == plan->block_count;
    const int width = unit->vectors * plan->set.lanes;
    const conv_tile tile = {
        .input_segment = plan->in_stride[Z] * inputs->plane,
        .input_block = inputs->block_step,
        .taps = taps,
        .tap_count = plan->layer.kernel[Z],
        .block_count = inputs->blocks,
        .last_words = last ? plan->last_words : CONV_BLOCK,
        .bias = inputs->block == 0 ? zeros_of_tile : NULL,
        .output_segment = (ptrdiff_t)tiles * width,
        .output_step = width,
        .channels = width,
    };
    for (int z = 0; z < job->size[Z]; z += plan->depth) {
        const int count = min_int(plan->depth, job->size[Z] - z);
        const minimal_products work = {
            .job = job,
            .unit = unit,
            .step = {z, count},
            .tiles_y = inputs->tiles_y,
            .tiles_x = inputs->tiles_x,
            .products = products,
            .product_point = (ptrdiff_t)minimal_stride((size_t)count * tiles * width),
            .rows = rows,
        };
        multiply(&work, tile, inputs->points, inputs->point, inputs->block);
        if (last) nk_conv_transform_back(&work);
    }
}

void nk_conv_run_minimal(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    const conv_layer *layer = &plan->layer;
    const conv_scratch *words = &plan->scratch;
    minimal_inputs inputs = {
        .points = job->packed + words->packed,
        .planes = minimal_planes(plan, job->size[Z]),
        .tiles_y = ceil_div(job->size[Y], plan->minimal[Y]),
        .tiles_x = ceil_div(job->size[X], plan->minimal[X]),
    };
    inputs.plane = (ptrdiff_t)(inputs.tiles_y * inputs.tiles_x) * CONV_BLOCK;
    inputs.block_step = inputs.planes * inputs.plane;
    float *products = inputs.points + words->points;
    const bool keeps_products = plan->pass_blocks < plan->block_count;
    float *rows = products + words->unit_products * (size_t)(keeps_products ? end - first : 1);
    ptrdiff_t taps[16];
    const ptrdiff_t tap = layer->dilation[Z] / plan->spacing[Z] * inputs.plane;
    for (int k = 0; k < layer->kernel[Z]; k++) taps[k] = k * tap;

    for (int block = 0; block < plan->block_count; block += plan->pass_blocks) {
        inputs.block = block;
        inputs.blocks = min_int(plan->pass_blocks, plan->block_count - block);
        inputs.point = (ptrdiff_t)minimal_stride((size_t)(inputs.blocks * inputs.block_step));
        nk_conv_transform_in(job, &inputs, 0, inputs.planes);
        for (int u = first; u < end; u++) {
            float *own = products + (keeps_products ? (size_t)(u - first) * words->unit_products : 0);
            multiply_unit(job, &plan->units[u], &inputs, taps, own, rows);
        }
    }
}
