// Sums of products over the units of a chunk, with the vector kernels. Layer 3, execution.

#include "methods.h"
#include "pack.h"
#include "tiles.h"

/// Index into the table of tiles.
static int distance_index(const conv_plan *plan) {
    return plan->distance == CONV_BLOCK ? 0 : plan->distance == 4 ? 1 : 2;
}

/// Index of the unit's first output channel at the start of a row of the box.
static size_t output_row(const conv_job *job, const conv_unit *unit, int z, int y) {
    const conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const size_t channel = (size_t)unit->group * plan->group_out + unit->first;
    return output_voxel(job, phase, z, y, 0) * plan->layer.cout + channel;
}

/// Applies what follows the sums of some rows, which begin at `output`; `last` is NULL if nothing does.
static void finish_rows(const conv_job *job, conv_finish *last, size_t output, int segments, int length) {
    if (!last) return;
    last->output = job->stores_halves ? job->out + output / 2 : job->out + output;
    last->residual = job->residual ? job->residual + output : NULL;
    last->segments = segments;
    last->length = length;
    if (job->stores_halves) {
        job->kernels->finish_halves(last);
    } else {
        job->kernels->finish(last);
    }
}

/// The values that all tiles of a unit share, over some blocks of input channels.
static conv_tile tile_of(const conv_job *job, const conv_unit *unit, int block, int blocks) {
    const conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int cout = plan->layer.cout;
    const bool start = plan->layer.depthwise || block == 0;
    const bool end = plan->layer.depthwise || block + blocks == plan->block_count;
    conv_tile tile = {
        .input_segment = (ptrdiff_t)plan->in_stride[Y] * (ptrdiff_t)plan->row,
        .input_block = (ptrdiff_t)plan->block,
        .taps = phase->taps,
        .tap_count = phase->tap_count,
        .block_count = blocks,
        .row_taps = plan->layer.kernel[X],
        .plane_taps = plan->layer.kernel[Y] * plan->layer.kernel[X],
        .last_words = end ? plan->last_words : plan->distance,
        .weights = job->weights + unit->weights,
        .bias = start ? job->bias + unit->group * plan->group_out + unit->first : NULL,
        .output_segment = (ptrdiff_t)output_step(plan, Y) * plan->layer.out[X] * cout,
        .output_step = (ptrdiff_t)output_step(plan, X) * cout,
        .channels = unit->channels,
    };
    if (!plan->layer.depthwise) {
        tile.weights += (size_t)block * phase->tap_count * plan->distance * unit->vectors * plan->set.lanes;
    }
    return tile;
}

/// Computes one unit of a depthwise layer over the whole box, in rows or pairs of rows. `last` may be NULL.
static void run_depthwise(
    const conv_job *job, const conv_unit *unit, conv_tile tile, conv_finish *last, const int size[3]) {
    const conv_plan *plan = job->plan;
    for (int z = 0; z < size[Z]; z++) {
        for (int y = 0; y < size[Y];) {
            const int segments = plan->row_pairs ? min_int(2, size[Y] - y) : 1;
            const size_t output = output_row(job, unit, z, y);
            tile.input = packed_row(job, z, y);
            tile.output = job->out + output;
            job->kernels->depthwise(&tile, segments, size[X]);
            finish_rows(job, last, output, segments, size[X]);
            y += segments;
        }
    }
}

/// Computes one unit of a folded layer over the whole box: row by row, the products of all voxels with all taps along
/// x, and then the sums of those that meet in an output voxel. `last` may be NULL.
static void run_folded(
    const conv_job *job, const conv_unit *unit, conv_tile tile, conv_finish *last, const int size[3]) {
    const conv_plan *plan = job->plan;
    const int length = size[X] + plan->span[X] - 1, width = unit->vectors * plan->set.lanes;
    conv_tile_function *const *row = job->kernels->tiles[distance_index(plan)][unit->vectors - 1][0];
    float *products = job->packed + plan->scratch.packed;
    conv_fold sums = {
        .products = products,
        .bias = tile.bias,
        .width = width,
        .taps = plan->fold,
        .tap_step = plan->layer.dilation[X] / plan->spacing[X],
        .output_step = tile.output_step,
        .length = size[X],
        .channels = unit->channels,
    };
    tile.bias = zeros_of_tile;
    tile.output_step = width;
    tile.channels = width;
    for (int place = 0; place < size[Z] * size[Y]; place++) {
        const int z = place / size[Y], y = place % size[Y];
        tile.input = packed_row(job, z, y);
        tile.output = products;
        run_row(tile, length, plan->set.longest, plan->distance, row);
        const size_t output = output_row(job, unit, z, y);
        sums.output = job->out + output;
        job->kernels->fold(&sums);
        finish_rows(job, last, output, 1, size[X]);
    }
}

/// Computes one unit over the whole box with vectors. Tiles have nearly equal lengths; several short rows are combined
/// into one tile. `last` may be NULL.
static void run_tiles(
    const conv_job *job, const conv_unit *unit, conv_tile tile, conv_finish *last, const int size[3]) {
    const conv_plan *plan = job->plan;
    const int longest = plan->set.longest;
    conv_tile_function *const(*table)[AVX512_LONGEST] = job->kernels->tiles[distance_index(plan)][unit->vectors - 1];
    float *rows = NULL;
    if (last && (job_streams(job) || job->stores_halves)) {
        rows = job->packed + plan->scratch.packed;
        last->values = rows;
        last->width = unit->vectors * plan->set.lanes;
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
            finish_rows(job, last, output, segments, size[X]);
            y += segments;
        }
    }
}

/// Computes one unit over the whole box, with some blocks of input channels.
static void run_unit(const conv_job *job, const conv_unit *unit, int block, int blocks) {
    const conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int channel = unit->group * plan->group_out + unit->first;
    int size[3];
    if (!phase_size(job, phase, size)) return;
    conv_tile tile = tile_of(job, unit, block, blocks);
    conv_finish last = {
        .output_segment = tile.output_segment,
        .output_step = tile.output_step,
        .channels = unit->channels,
        .slope = job->out_slope,
        .sums = job->sums ? job->sums + channel : NULL,
        .squares = job->sums ? job->squares + channel : NULL,
    };
    const bool end = plan->layer.depthwise || block + blocks == plan->block_count;
    const bool finishes = end && (job->residual || job->out_slope != 1 || job->sums || job_streams(job) || job->stores_halves);
    if (plan->layer.depthwise) {
        run_depthwise(job, unit, tile, finishes ? &last : NULL, size);
    } else if (plan->fold > 1) {
        run_folded(job, unit, tile, finishes ? &last : NULL, size);
    } else {
        run_tiles(job, unit, tile, finishes ? &last : NULL, size);
    }
}

void nk_conv_run_vectors(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    for (int u = first; u < end;) {
        const int group = plan->units[u].group;
        int after = u;
        while (after < end && plan->units[after].group == group) after++;
        if (plan->layer.depthwise) {
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
