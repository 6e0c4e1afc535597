// The vector kernels over the units of a chunk.

#include "job.h"

const float nk_conv_zeros[32];

/// Index into the table of tiles.
static int distance_index(const nk_conv_plan *plan) {
    return plan->distance == CONV_BLOCK ? 0 : plan->distance == 4 ? 1 : 2;
}

/// Index of the unit's first output channel at the start of a row of the box.
static size_t output_row(const conv_job *job, const conv_unit *unit, int z, int y) {
    const nk_conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const size_t channel = (size_t)unit->group * plan->group_out + unit->first;
    return output_voxel(job, phase, z, y, 0) * plan->desc.cout + channel;
}

/// Computes one or two rows of a unit from a voxel on, on matrix tiles.
static void run_matrix_rows(
    const conv_job *job, const conv_unit *unit, conv_tile *tile, conv_finish *last, const int place[3], int segments,
    int length) {
    const size_t output = output_row(job, unit, place[Z], place[Y]) + (size_t)place[X] * tile->output_step;
    tile->input = packed_row(job, place[Z], place[Y]) + (size_t)place[X] * job->plan->distance;
    tile->output = job->out + output;
    job->plan->kernels->matrix(tile, segments, length, unit->vectors);
    if (!last) return;
    last->output = tile->output;
    last->residual = job->residual ? job->residual + output : NULL;
    last->segments = segments;
    last->length = length;
    job->plan->kernels->finish(last);
}

/// Computes one unit over the whole box on matrix tiles: 32 voxels of a row at a time, and the remainders of two rows
/// together if they have at most 16 voxels each.
static void run_matrix(
    const conv_job *job, const conv_unit *unit, conv_tile *tile, conv_finish *last, const int size[3]) {
    const int longest = job->plan->kernels->longest;
    const int rest = size[X] % longest, whole = size[X] - rest;
    for (int z = 0; z < size[Z]; z++) {
        for (int y = 0; y < size[Y]; y += 2) {
            const int rows = min_int(2, size[Y] - y);
            for (int row = 0; row < rows; row++) {
                for (int x = 0; x < whole; x += longest) {
                    run_matrix_rows(job, unit, tile, last, (int[]){z, y + row, x}, 1, longest);
                }
            }
            if (rest == 0) continue;
            const int together = rest <= longest / 2 ? rows : 1;
            for (int row = 0; row < rows; row += together) {
                run_matrix_rows(job, unit, tile, last, (int[]){z, y + row, whole}, together, rest);
            }
        }
    }
}

/// The values that all tiles of a unit share, over some blocks of input channels.
static conv_tile tile_of(const conv_job *job, const conv_unit *unit, int block, int blocks) {
    const nk_conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int cout = plan->desc.cout;
    const bool start = plan->depthwise || block == 0;
    const bool end = plan->depthwise || block + blocks == plan->block_count;
    conv_tile tile = {
        .input_segment = (ptrdiff_t)plan->in_stride[Y] * (ptrdiff_t)plan->row,
        .input_block = (ptrdiff_t)plan->block,
        .taps = phase->taps,
        .tap_count = phase->tap_count,
        .block_count = blocks,
        .row_taps = plan->desc.kx,
        .plane_taps = plan->desc.ky * plan->desc.kx,
        .input_low = (ptrdiff_t)plan->low,
        .last_words = end ? plan->last_words : plan->distance,
        .weights = plan->weights + unit->weights,
        .bias = start ? plan->bias + unit->group * plan->group_out + unit->first : NULL,
        .output_segment = (ptrdiff_t)output_step(plan, Y) * plan->out[X] * cout,
        .output_step = (ptrdiff_t)output_step(plan, X) * cout,
        .channels = unit->channels,
    };
    if (!plan->depthwise) {
        const int width = unit->vectors * plan->kernels->lanes, parts = plan->split ? 2 : 1;
        tile.weights += (size_t)block * phase->tap_count * plan->distance * width * parts;
    }
    return tile;
}

/// Computes one unit of a depthwise layer over the whole box, in rows or pairs of rows. `last` may be NULL.
static void run_depthwise(
    const conv_job *job, const conv_unit *unit, conv_tile tile, conv_finish *last, const int size[3]) {
    const nk_conv_plan *plan = job->plan;
    for (int z = 0; z < size[Z]; z++) {
        for (int y = 0; y < size[Y];) {
            const int segments = plan->row_pairs ? min_int(2, size[Y] - y) : 1;
            const size_t output = output_row(job, unit, z, y);
            tile.input = packed_row(job, z, y);
            tile.output = job->out + output;
            plan->kernels->depthwise(&tile, segments, size[X]);
            if (last) {
                last->output = tile.output;
                last->residual = job->residual ? job->residual + output : NULL;
                last->segments = segments;
                last->length = size[X];
                plan->kernels->finish(last);
            }
            y += segments;
        }
    }
}

size_t nk_conv_folded_floats(const nk_conv_plan *plan) {
    const size_t width = (size_t)plan->units[0].vectors * plan->kernels->lanes;
    // Loads of the last tap read up to a vector beyond the row.
    return (size_t)(plan->box[X] + plan->span[X] - 1) * width + 2 * plan->kernels->lanes;
}

/// Computes one unit of a folded layer over the whole box: row by row, the products of all voxels with all taps along
/// x, and then the sums of those that meet in an output voxel. `last` may be NULL.
static void run_folded(
    const conv_job *job, const conv_unit *unit, conv_tile tile, conv_finish *last, const int size[3]) {
    const nk_conv_plan *plan = job->plan;
    const int length = size[X] + plan->span[X] - 1, width = unit->vectors * plan->kernels->lanes;
    conv_tile_function *const *row = plan->kernels->tiles[distance_index(plan)][unit->vectors - 1][0];
    float *products = job->packed + round_up(plan->block * plan->pass_blocks, 16);
    conv_fold sums = {
        .products = products,
        .bias = tile.bias,
        .width = width,
        .taps = plan->fold,
        .tap_step = plan->desc.dilation_x / plan->spacing[X],
        .output_step = tile.output_step,
        .length = size[X],
        .channels = unit->channels,
    };
    tile.bias = nk_conv_zeros;
    tile.output_step = width;
    tile.channels = width;
    for (int place = 0; place < size[Z] * size[Y]; place++) {
        const int z = place / size[Y], y = place % size[Y];
        tile.input = packed_row(job, z, y);
        tile.output = products;
        run_row(tile, length, plan->kernels->longest, plan->distance, row);
        const size_t output = output_row(job, unit, z, y);
        sums.output = job->out + output;
        plan->kernels->fold(&sums);
        if (!last) continue;
        last->output = sums.output;
        last->residual = job->residual ? job->residual + output : NULL;
        last->segments = 1;
        last->length = size[X];
        plan->kernels->finish(last);
    }
}

/// Computes one unit over the whole box with vectors. Tiles have nearly equal lengths; several short rows are combined
/// into one tile. `last` may be NULL.
static void run_tiles(
    const conv_job *job, const conv_unit *unit, conv_tile tile, conv_finish *last, const int size[3]) {
    const nk_conv_plan *plan = job->plan;
    const int longest = plan->kernels->longest;
    conv_tile_function *const(*table)[14] = plan->kernels->tiles[distance_index(plan)][unit->vectors - 1];
    float *rows = NULL;
    if (last && job_streams(job)) {
        rows = job->packed + round_up(plan->block * plan->pass_blocks, 16);
        last->values = rows;
        last->width = unit->vectors * plan->kernels->lanes;
        tile.output_step = last->width;
        tile.output_segment = (ptrdiff_t)size[X] * last->width;
    }
    const int together = rows_together(table, size[X], longest);
    for (int z = 0; z < size[Z]; z++) {
        for (int y = 0; y < size[Y];) {
            const int segments = size[Y] - y >= together ? together : 1;
            const size_t output = output_row(job, unit, z, y);
            tile.input = packed_row(job, z, y);
            tile.output = rows ? rows : job->out + output;
            run_row(tile, size[X], longest, plan->distance, table[segments - 1]);
            // A whole row at a time: what a tile has just stored would have to be waited for.
            if (last) {
                last->output = job->out + output;
                last->residual = job->residual ? job->residual + output : NULL;
                last->segments = segments;
                last->length = size[X];
                plan->kernels->finish(last);
            }
            y += segments;
        }
    }
}

/// Computes one unit over the whole box, with some blocks of input channels.
static void run_unit(const conv_job *job, const conv_unit *unit, int block, int blocks) {
    const nk_conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int channel = unit->group * plan->group_out + unit->first;
    int size[3];
    for (int a = 0; a < 3; a++) size[a] = min_int(job->size[a], phase->count[a] - job->first[a]);
    if (size[Z] <= 0 || size[Y] <= 0 || size[X] <= 0) return;

    conv_tile tile = tile_of(job, unit, block, blocks);
    conv_finish last = {
        .output_segment = tile.output_segment,
        .output_step = tile.output_step,
        .channels = unit->channels,
        .slope = job->out_slope,
        .sums = job->sums ? job->sums + channel : NULL,
        .squares = job->sums ? job->squares + channel : NULL,
    };
    const bool end = plan->depthwise || block + blocks == plan->block_count;
    const bool finishes = end && (job->residual || job->out_slope != 1 || job->sums || job_streams(job));
    if (plan->depthwise) {
        run_depthwise(job, unit, tile, finishes ? &last : NULL, size);
    } else if (plan->fold > 1) {
        run_folded(job, unit, tile, finishes ? &last : NULL, size);
    } else if (plan->kernels->matrix) {
        run_matrix(job, unit, &tile, finishes ? &last : NULL, size);
    } else {
        run_tiles(job, unit, tile, finishes ? &last : NULL, size);
    }
}

void nk_conv_vectors_run(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    for (int u = first; u < end;) {
        const int group = plan->units[u].group;
        int after = u;
        while (after < end && plan->units[after].group == group) after++;
        if (plan->depthwise) {
            // Every unit has its own block.
            for (int i = u; i < after; i++) {
                const int block = plan->units[i].first / CONV_BLOCK;
                if (i == u || plan->units[i].first != plan->units[i - 1].first) nk_conv_pack_box(job, 0, block, 1);
                run_unit(job, &plan->units[i], block, 1);
            }
        } else {
            for (int block = 0; block < plan->block_count; block += plan->pass_blocks) {
                const int blocks = min_int(plan->pass_blocks, plan->block_count - block);
                nk_conv_pack_box(job, group, block, blocks);
                for (int i = u; i < after; i++) run_unit(job, &plan->units[i], block, blocks);
            }
        }
        u = after;
    }
}
