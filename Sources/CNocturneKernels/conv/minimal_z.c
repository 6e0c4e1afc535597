// Minimal filtering along z, too: a tile of 4 × 4 × 4 outputs of a 3 × 3 × 3 kernel from 6 × 6 × 6 = 216 products
// instead of 1728. The points along y and x of a box are those of tiles of 4 × 4. One of them after the other is
// transformed along z, multiplied, and transformed back along z, near the first-level cache, so that a box needs hardly
// more memory. Even and odd channels have separate sums: with them the error is no larger than that of tiles of 4 × 4.

#include "minimal.h"

/// Distance from the weights of a unit for one point to those that are needed next: those of the next point along z, of
/// the next unit, or of the next point along y and x.
static ptrdiff_t weights_ahead(const conv_job *job, int first, int end, int unit, int point, int block) {
    const nk_conv_plan *plan = job->plan;
    const int deep = nk_conv_minimal_points_z(plan), all = nk_conv_minimal_points(plan) * deep;
    const float *from = minimal_weights(plan, &plan->units[unit], point, block);
    if ((point + 1) % deep != 0) return minimal_weights(plan, &plan->units[unit], point + 1, block) - from;
    if (unit + 1 < end) return minimal_weights(plan, &plan->units[unit + 1], point + 1 - deep, block) - from;
    return point + 1 < all ? minimal_weights(plan, &plan->units[first], point + 1, block) - from : 0;
}

/// Multiplies the points of some units, transformed along z, too, and adds the products of each unit, transformed back
/// along z, to `products`, `words.products` apart.
static void multiply(
    const conv_job *job, int first, int end, const minimal_inputs *inputs, minimal_step step, float *products) {
    const nk_conv_plan *plan = job->plan;
    const conv_kernels *kernels = plan->kernels;
    const int deep = nk_conv_minimal_points_z(plan), tiles = inputs->tiles_y * inputs->tiles_x;
    const int slabs = ceil_div(step.count, plan->minimal_z), rows = slabs * tiles;
    const bool is_last = inputs->block + inputs->blocks == plan->block_count;
    const conv_minimal_words words = nk_conv_minimal_measure(plan);
    float *points = products + words.products * (size_t)(end - first), *sums = points + words.z_points;
    const ptrdiff_t input_block = (ptrdiff_t)rows * CONV_BLOCK, tap = 0;
    const ptrdiff_t point_words = (ptrdiff_t)nk_conv_minimal_stride((size_t)(inputs->blocks * input_block));
    ptrdiff_t planes[LARGEST_DEPTH + 2];
    for (int z = 0; z < slabs * plan->minimal_z + 2; z++) planes[z] = (step.first + z) % inputs->planes * inputs->plane;
    for (int p = 0; p < nk_conv_minimal_points(plan); p++) {
        const conv_minimal_z_input in = {
            .input = inputs->points + p * inputs->point,
            .planes = planes,
            .block = inputs->block_step,
            .blocks = inputs->blocks,
            .slabs = slabs,
            .tiles = tiles,
            .points = points,
            .point = point_words,
        };
        kernels->minimal_z_input(&in);
        for (int u = first; u < end; u++) {
            const conv_unit *unit = &plan->units[u];
            const int width = unit->vectors * kernels->lanes;
            const ptrdiff_t sum_words = (ptrdiff_t)nk_conv_minimal_stride((size_t)rows * width);
            for (int k = 0; k < deep; k++) {
                const conv_tile tile = {
                    .input = points + k * point_words,
                    .input_block = input_block,
                    .taps = &tap,
                    .tap_count = 1,
                    .block_count = inputs->blocks,
                    .last_words = is_last ? plan->last_words : CONV_BLOCK,
                    .weights = minimal_weights(plan, unit, p * deep + k, inputs->block),
                    .weights_ahead = weights_ahead(job, first, end, u, p * deep + k, inputs->block),
                    .bias = nk_conv_zeros,
                    .output = sums + k * sum_words,
                    .output_step = width,
                    .channels = width,
                };
                run_row(tile, rows, kernels->longest / 2, CONV_BLOCK, kernels->two_sets[unit->vectors - 1]);
            }
            const size_t plane_words = (size_t)tiles * width;
            const conv_minimal_z_output out = {
                .points = sums,
                .point = sum_words,
                .slabs = slabs,
                .tiles = tiles,
                .width = width,
                .products = products + words.products * (size_t)(u - first) +
                    (size_t)p * nk_conv_minimal_stride(step.count * plane_words),
                .planes = step.count,
                .adds = inputs->block > 0,
            };
            kernels->minimal_z_output(&out);
        }
    }
}

/// Transforms the products of some units back along y and x.
static void transform_back(
    const conv_job *job, int first, int end, const minimal_inputs *inputs, minimal_step step, float *products) {
    const nk_conv_plan *plan = job->plan;
    const conv_minimal_words all = nk_conv_minimal_measure(plan);
    for (int u = first; u < end; u++) {
        const int width = plan->units[u].vectors * plan->kernels->lanes;
        const size_t words = (size_t)step.count * inputs->tiles_y * inputs->tiles_x * width;
        const minimal_planes work = {
            .job = job,
            .unit = &plan->units[u],
            .step = step,
            .tiles_y = inputs->tiles_y,
            .tiles_x = inputs->tiles_x,
            .products = products + (size_t)(u - first) * all.products,
            .product_point = (ptrdiff_t)nk_conv_minimal_stride(words),
            .rows = products + all.products * (size_t)(end - first) + all.z_points + all.z_products,
        };
        nk_conv_minimal_transform_back(&work);
    }
}

void nk_conv_minimal_run_z(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    const conv_minimal_words words = nk_conv_minimal_measure(plan);
    minimal_inputs inputs = {
        .points = job->packed + words.packed,
        .planes = plan->depth + 2,
        .tiles_y = ceil_div(job->size[Y], plan->minimal_y),
        .tiles_x = ceil_div(job->size[X], plan->minimal_x),
    };
    inputs.plane = (ptrdiff_t)(inputs.tiles_y * inputs.tiles_x) * CONV_BLOCK;
    inputs.block_step = inputs.planes * inputs.plane;
    float *products = inputs.points + words.points;
    for (int z = 0; z < job->size[Z]; z += plan->depth) {
        const minimal_step step = {z, min_int(plan->depth, job->size[Z] - z)};
        const int end_plane = z + ceil_div(step.count, plan->minimal_z) * plan->minimal_z + 2;
        // With all blocks in one pass, the last two planes are still there.
        const int first_plane = z > 0 && plan->pass_blocks == plan->block_count ? z + 2 : z;
        for (int block = 0; block < plan->block_count; block += plan->pass_blocks) {
            inputs.block = block;
            inputs.blocks = min_int(plan->pass_blocks, plan->block_count - block);
            inputs.point = (ptrdiff_t)nk_conv_minimal_stride((size_t)(inputs.blocks * inputs.block_step));
            nk_conv_minimal_transform_in(job, &inputs, first_plane, end_plane);
            multiply(job, first, end, &inputs, step, products);
        }
        transform_back(job, first, end, &inputs, step, products);
    }
}
