// Minimal filtering along z, too: a tile of 4 × 4 × 4 outputs of a 3 × 3 × 3 kernel from 6 × 6 × 6 = 216 products
// instead of 1728. The points along y and x of a box are those of tiles of 4 × 4. One of them after the other is
// transformed along z, multiplied, and transformed back along z, near the first-level cache, so that a box needs hardly
// more memory. Even and odd channels have separate sums: with them the error is no larger than that of tiles of 4 × 4.
//
// Layer 3, execution.

#include "methods.h"
#include "minimal_transforms.h"
#include "tiles.h"

/// Distance from the weights of a unit for one point to those that are needed next: those of the next point along z, of
/// the next unit, or of the next point along y and x.
static ptrdiff_t weights_ahead(const conv_job *job, int first, int end, int unit, int point, int block) {
    const conv_plan *plan = job->plan;
    const int deep = minimal_points_z(plan), all = minimal_points(plan) * deep;
    const float *from = minimal_weights(job, &plan->units[unit], point, block);
    if ((point + 1) % deep != 0) return minimal_weights(job, &plan->units[unit], point + 1, block) - from;
    if (unit + 1 < end) return minimal_weights(job, &plan->units[unit + 1], point + 1 - deep, block) - from;
    return point + 1 < all ? minimal_weights(job, &plan->units[first], point + 1, block) - from : 0;
}

/// The products of one unit for one point along y and x: of the points along z with their weights, and transformed back.
typedef struct z_products {
    const conv_job *job;
    const minimal_inputs *inputs;
    /// The units of the job.
    int first, end;
    /// The planes of the output, their slabs, and the tiles of all slabs.
    minimal_step step;
    int slabs, rows;
    /// `[point along z][block][row][channel]`, and the sums of their products, `[point along z][row][output channel]`.
    float *points, *sums;
    ptrdiff_t block_words, point_words;
} z_products;

/// Multiplies the points along z of point `p` by the weights of unit `u`.
static void multiply_points(const z_products *work, int u, int p, ptrdiff_t sum_words) {
    const conv_job *job = work->job;
    const conv_plan *plan = job->plan;
    const conv_unit *unit = &plan->units[u];
    const minimal_inputs *inputs = work->inputs;
    const int deep = minimal_points_z(plan), width = unit->vectors * plan->set.lanes;
    const bool is_last = inputs->block + inputs->blocks == plan->block_count;
    const ptrdiff_t tap = 0;
    for (int k = 0; k < deep; k++) {
        const conv_tile tile = {
            .input = work->points + k * work->point_words,
            .input_block = work->block_words,
            .taps = &tap,
            .tap_count = 1,
            .block_count = inputs->blocks,
            .last_words = is_last ? plan->last_words : CONV_BLOCK,
            .weights = minimal_weights(job, unit, p * deep + k, inputs->block),
            .weights_ahead = weights_ahead(job, work->first, work->end, u, p * deep + k, inputs->block),
            .bias = zeros_of_tile,
            .output = work->sums + k * sum_words,
            .output_step = width,
            .channels = width,
        };
        run_row(tile, work->rows, plan->set.longest / 2, CONV_BLOCK, job->kernels->two_sets[unit->vectors - 1]);
    }
}

/// Adds the products of unit `u` for point `p`, transformed back along z, to those of the unit.
static void multiply_unit(const z_products *work, int u, int p, float *products) {
    const conv_plan *plan = work->job->plan;
    const int width = plan->units[u].vectors * plan->set.lanes, tiles = work->inputs->tiles_y * work->inputs->tiles_x;
    const ptrdiff_t sum_words = (ptrdiff_t)minimal_stride((size_t)work->rows * width);
    multiply_points(work, u, p, sum_words);
    const size_t plane_words = (size_t)tiles * width;
    const conv_minimal_z_output out = {
        .points = work->sums,
        .point = sum_words,
        .slabs = work->slabs,
        .tiles = tiles,
        .width = width,
        .products = products + (size_t)p * minimal_stride(work->step.count * plane_words),
        .planes = work->step.count,
        .adds = work->inputs->block > 0,
    };
    work->job->kernels->minimal_z_output(&out);
}

/// Multiplies the points of some units, transformed along z, too, and adds the products of each unit, transformed back
/// along z, to `products`, those of a unit after those of another.
static void multiply(
    const conv_job *job, int first, int end, const minimal_inputs *inputs, minimal_step step, float *products) {
    const conv_plan *plan = job->plan;
    const conv_scratch *words = &plan->scratch;
    const int tiles = inputs->tiles_y * inputs->tiles_x, slabs = ceil_div(step.count, plan->minimal[Z]);
    z_products work = {
        .job = job, .inputs = inputs, .first = first, .end = end, .step = step, .slabs = slabs, .rows = slabs * tiles,
    };
    work.points = products + words->unit_products * (size_t)(end - first);
    work.sums = work.points + words->z_points;
    work.block_words = (ptrdiff_t)work.rows * CONV_BLOCK;
    work.point_words = (ptrdiff_t)minimal_stride((size_t)(inputs->blocks * work.block_words));
    ptrdiff_t planes[LARGEST_DEPTH + 2];
    for (int z = 0; z < slabs * plan->minimal[Z] + 2; z++) planes[z] = (step.first + z) % inputs->planes * inputs->plane;
    for (int p = 0; p < minimal_points(plan); p++) {
        const conv_minimal_z_input in = {
            .input = inputs->points + p * inputs->point,
            .planes = planes,
            .block = inputs->block_step,
            .blocks = inputs->blocks,
            .slabs = slabs,
            .tiles = tiles,
            .points = work.points,
            .point = work.point_words,
        };
        job->kernels->minimal_z_input(&in);
        for (int u = first; u < end; u++) {
            multiply_unit(&work, u, p, products + words->unit_products * (size_t)(u - first));
        }
    }
}

/// Transforms the products of some units back along y and x.
static void transform_back(
    const conv_job *job, int first, int end, const minimal_inputs *inputs, minimal_step step, float *products) {
    const conv_plan *plan = job->plan;
    const conv_scratch *all = &plan->scratch;
    for (int u = first; u < end; u++) {
        const int width = plan->units[u].vectors * plan->set.lanes;
        const size_t words = (size_t)step.count * inputs->tiles_y * inputs->tiles_x * width;
        const minimal_products work = {
            .job = job,
            .unit = &plan->units[u],
            .step = step,
            .tiles_y = inputs->tiles_y,
            .tiles_x = inputs->tiles_x,
            .products = products + (size_t)(u - first) * all->unit_products,
            .product_point = (ptrdiff_t)minimal_stride(words),
            .rows = products + all->unit_products * (size_t)(end - first) + all->z_points + all->z_products,
        };
        nk_conv_transform_back(&work);
    }
}

void nk_conv_run_minimal_z(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    const conv_scratch *words = &plan->scratch;
    minimal_inputs inputs = {
        .points = job->packed + words->packed,
        .planes = plan->depth + 2,
        .tiles_y = ceil_div(job->size[Y], plan->minimal[Y]),
        .tiles_x = ceil_div(job->size[X], plan->minimal[X]),
    };
    inputs.plane = (ptrdiff_t)(inputs.tiles_y * inputs.tiles_x) * CONV_BLOCK;
    inputs.block_step = inputs.planes * inputs.plane;
    float *products = inputs.points + words->points;
    for (int z = 0; z < job->size[Z]; z += plan->depth) {
        const minimal_step step = {z, min_int(plan->depth, job->size[Z] - z)};
        const int end_plane = z + ceil_div(step.count, plan->minimal[Z]) * plan->minimal[Z] + 2;
        // With all blocks in one pass, the last two planes are still there.
        const int first_plane = z > 0 && plan->pass_blocks == plan->block_count ? z + 2 : z;
        for (int block = 0; block < plan->block_count; block += plan->pass_blocks) {
            inputs.block = block;
            inputs.blocks = min_int(plan->pass_blocks, plan->block_count - block);
            inputs.point = (ptrdiff_t)minimal_stride((size_t)(inputs.blocks * inputs.block_step));
            nk_conv_transform_in(job, &inputs, first_plane, end_plane);
            multiply(job, first, end, &inputs, step, products);
        }
        transform_back(job, first, end, &inputs, step, products);
    }
}
