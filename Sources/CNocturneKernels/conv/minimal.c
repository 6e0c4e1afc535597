// Minimal filtering (Winograd) along y and x: a tile of 4 × 4 outputs of a 3 × 3 kernel from 6 × 6 = 36 products of
// transformed inputs and weights instead of 144, or a tile of 2 × 4 outputs from 24 instead of 72. Taps along z remain
// sums (minimal_z.c has tiles with several outputs along z), so a 3 × 3 × 3 convolution needs a quarter or a third of the
// multiplications. A chunk transforms its input plane by plane, multiplies point by point with the same register tiles as
// the direct form (a tile is a voxel there, a tap along z a tap), and transforms back when it writes the output.
//
// The error depends on the points at which the polynomials of four outputs are evaluated: with 0, ±3/4, ±3/2 and
// infinity that of 4 × 4 outputs is as small as with the usual 0, ±1, ±2 and infinity that of 2 × 4 is, and hardly larger
// than that of the plain sum (nk_conv.h has figures).

#include "minimal.h"

/// Computes the products of all points. `tile` has the values they share; `input` is the position of the first point of
/// the box's first plane.
static void multiply(const minimal_planes *work, conv_tile tile, const float *input, ptrdiff_t input_point, int block) {
    const nk_conv_plan *plan = work->job->plan;
    const conv_kernels *kernels = plan->kernels;
    const int tiles = work->tiles_y * work->tiles_x, width = tile.channels;
    conv_tile_function *const(*table)[14] = kernels->tiles[0][work->unit->vectors - 1];
    const int together = rows_together(table, tiles, kernels->longest);
    const int points = nk_conv_minimal_points(plan);
    for (int p = 0; p < points; p++) {
        tile.weights = minimal_weights(plan, work->unit, p, block);
        // The weights of one point are too short a stream for the processor to fetch them in time.
        tile.weights_ahead = p + 1 < points ? (ptrdiff_t)words_of(plan) * plan->desc.kz * width : 0;
        for (int z = 0; z < work->step.count;) {
            const int segments = work->step.count - z >= together ? together : 1;
            tile.input = input + p * input_point + (work->step.first + z) * tile.input_segment;
            tile.output = work->products + p * work->product_point + (ptrdiff_t)z * tiles * width;
            run_row(tile, tiles, kernels->longest, CONV_BLOCK, table[segments - 1]);
            tile.weights_ahead = 0;
            z += segments;
        }
    }
}

void nk_conv_minimal_transform_back(const minimal_planes *work) {
    const conv_job *job = work->job;
    const nk_conv_plan *plan = job->plan;
    const conv_unit *unit = work->unit;
    const int cout = plan->desc.cout, width = unit->vectors * plan->kernels->lanes;
    const ptrdiff_t step = (ptrdiff_t)output_step(plan, X) * cout;
    const ptrdiff_t row = (ptrdiff_t)output_step(plan, Y) * plan->out[X] * cout;
    const float *products = work->products;
    // What is stored past the caches is put together before.
    float *rows = job_streams(job) ? work->rows : NULL;
    const bool finishes = rows || job->residual || job->out_slope != 1 || job->sums;
    for (int z = work->step.first; z < work->step.first + work->step.count; z++) {
        for (int ty = 0; ty < work->tiles_y; ty++) {
            const size_t at = output_voxel(job, plan->phases, z, ty * plan->minimal_y, 0) * cout + unit->first;
            const conv_minimal_output back = {
                .points = products,
                .point = work->product_point,
                .width = width,
                .bias = plan->bias + unit->first,
                .output = rows ? rows : job->out + at,
                .output_row = rows ? (ptrdiff_t)job->size[X] * width : row,
                .output_step = rows ? width : step,
                .rows = min_int(plan->minimal_y, job->size[Y] - ty * plan->minimal_y),
                .columns = job->size[X],
                .channels = unit->channels,
            };
            plan->kernels->minimal_output[nk_conv_minimal_tile(plan)](&back);
            products += (ptrdiff_t)work->tiles_x * width;
            if (!finishes) continue;
            const conv_finish finish = {
                .output = job->out + at,
                .residual = job->residual ? job->residual + at : NULL,
                .output_segment = row,
                .output_step = step,
                .segments = back.rows,
                .length = back.columns,
                .channels = unit->channels,
                .slope = job->out_slope,
                .sums = job->sums ? job->sums + unit->first : NULL,
                .squares = job->sums ? job->squares + unit->first : NULL,
                .values = rows,
                .width = width,
            };
            plan->kernels->finish(&finish);
        }
    }
}

void nk_conv_minimal_transform_in(const conv_job *job, const minimal_inputs *inputs, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    const int each = nk_conv_minimal_plane_blocks(plan);
    // For packed planes: of the last block's words, only those that contain channels.
    const int plane_blocks =
        min_int(inputs->blocks * each, ceil_div(plan->desc.cin, CONV_BLOCK) - inputs->block * each);
    const size_t plane_block = nk_conv_minimal_measure(plan).packed / ((size_t)plan->pass_blocks * each);
    const conv_blocks blocks = {
        .first = inputs->block * each,
        .count = plane_blocks,
        .target_block = plane_block,
        .rows = inputs->tiles_y * plan->minimal_y + 2,
    };
    for (int z = first; z < end; z++) {
        if (!plan->reads[Z][z % plan->in_stride[Z]]) continue;
        for (int y = 0; y < blocks.rows; y++) {
            nk_conv_pack_row(job, &blocks, z, y, job->packed + (size_t)y * plan->row);
        }
        for (int b = 0; b < plane_blocks; b++) {
            const conv_minimal_input work = {
                .input = job->packed + b * plane_block,
                .row = (ptrdiff_t)plan->row,
                .tiles_y = inputs->tiles_y,
                .tiles_x = inputs->tiles_x,
                .points = inputs->points + b / each * inputs->block_step + z % inputs->planes * inputs->plane +
                    b % each * (CONV_BLOCK / 2),
                .point = inputs->point,
            };
            plan->kernels->minimal_input[nk_conv_minimal_tile(plan)](&work);
        }
    }
}

/// Multiplies the points by the weights of one unit, some planes at a time, and transforms back after the last block.
static void multiply_unit(
    const conv_job *job, const conv_unit *unit, const minimal_inputs *inputs, const ptrdiff_t *taps, float *products,
    float *rows) {
    const nk_conv_plan *plan = job->plan;
    const int tiles = inputs->tiles_y * inputs->tiles_x;
    const bool last = inputs->block + inputs->blocks == plan->block_count;
    const int width = unit->vectors * plan->kernels->lanes;
    const conv_tile tile = {
        .input_segment = plan->in_stride[Z] * inputs->plane,
        .input_block = inputs->block_step,
        .taps = taps,
        .tap_count = plan->desc.kz,
        .block_count = inputs->blocks,
        .last_words = last ? plan->last_words : CONV_BLOCK,
        .bias = inputs->block == 0 ? nk_conv_zeros : NULL,
        .output_segment = (ptrdiff_t)tiles * width,
        .output_step = width,
        .channels = width,
    };
    for (int z = 0; z < job->size[Z]; z += plan->depth) {
        const int count = min_int(plan->depth, job->size[Z] - z);
        const minimal_planes work = {
            .job = job,
            .unit = unit,
            .step = {z, count},
            .tiles_y = inputs->tiles_y,
            .tiles_x = inputs->tiles_x,
            .products = products,
            .product_point = (ptrdiff_t)nk_conv_minimal_stride((size_t)count * tiles * width),
            .rows = rows,
        };
        multiply(&work, tile, inputs->points, inputs->point, inputs->block);
        if (last) nk_conv_minimal_transform_back(&work);
    }
}

void nk_conv_minimal_run(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    if (plan->minimal_z > 1) {
        nk_conv_minimal_run_z(job, first, end);
        return;
    }
    const nk_conv_desc *d = &plan->desc;
    const conv_minimal_words words = nk_conv_minimal_measure(plan);
    minimal_inputs inputs = {
        .points = job->packed + words.packed,
        .planes = nk_conv_minimal_planes(plan, job->size[Z]),
        .tiles_y = ceil_div(job->size[Y], plan->minimal_y),
        .tiles_x = ceil_div(job->size[X], plan->minimal_x),
    };
    inputs.plane = (ptrdiff_t)(inputs.tiles_y * inputs.tiles_x) * CONV_BLOCK;
    inputs.block_step = inputs.planes * inputs.plane;
    float *products = inputs.points + words.points;
    const bool keeps_products = plan->pass_blocks < plan->block_count;
    float *rows = products + words.products * (size_t)(keeps_products ? end - first : 1);
    ptrdiff_t taps[16];
    for (int k = 0; k < d->kz; k++) taps[k] = (ptrdiff_t)k * (d->dilation_z / plan->spacing[Z]) * inputs.plane;

    for (int block = 0; block < plan->block_count; block += plan->pass_blocks) {
        inputs.block = block;
        inputs.blocks = min_int(plan->pass_blocks, plan->block_count - block);
        inputs.point = (ptrdiff_t)nk_conv_minimal_stride((size_t)(inputs.blocks * inputs.block_step));
        nk_conv_minimal_transform_in(job, &inputs, 0, inputs.planes);
        for (int u = first; u < end; u++) {
            float *own = products + (keeps_products ? (size_t)(u - first) * words.products : 0);
            multiply_unit(job, &plan->units[u], &inputs, taps, own, rows);
        }
    }
}
