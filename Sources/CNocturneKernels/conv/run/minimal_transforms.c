// Minimal filtering: the transforms of a chunk's planes along y and x, forth and back. Layer 3, execution.

#include "minimal_transforms.h"

#include "pack.h"

void nk_conv_transform_back(const minimal_products *work) {
    const conv_job *job = work->job;
    const conv_plan *plan = job->plan;
    const conv_unit *unit = work->unit;
    const int cout = plan->layer.cout, width = unit->vectors * plan->set.lanes;
    const ptrdiff_t step = (ptrdiff_t)output_step(plan, X) * cout;
    const ptrdiff_t row = (ptrdiff_t)output_step(plan, Y) * plan->layer.out[X] * cout;
    const float *products = work->products;
    // What is stored past the caches is put together before.
    float *rows = job_streams(job) ? work->rows : NULL;
    const bool finishes = rows || job->residual || job->out_slope != 1 || job->sums;
    for (int z = work->step.first; z < work->step.first + work->step.count; z++) {
        for (int ty = 0; ty < work->tiles_y; ty++) {
            const size_t at = output_voxel(job, plan->phases, z, ty * plan->minimal[Y], 0) * cout + unit->first;
            const conv_minimal_output back = {
                .points = products,
                .point = work->product_point,
                .width = width,
                .bias = job->bias + unit->first,
                .output = rows ? rows : job->out + at,
                .output_row = rows ? (ptrdiff_t)job->size[X] * width : row,
                .output_step = rows ? width : step,
                .rows = min_int(plan->minimal[Y], job->size[Y] - ty * plan->minimal[Y]),
                .columns = job->size[X],
                .channels = unit->channels,
            };
            job->kernels->minimal_output[minimal_tile(plan)](&back);
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
            job->kernels->finish(&finish);
        }
    }
}

void nk_conv_transform_in(const conv_job *job, const minimal_inputs *inputs, int first, int end) {
    const conv_plan *plan = job->plan;
    const int each = minimal_plane_blocks(plan);
    // For packed planes: of the last block's words, only those that contain channels.
    const int plane_blocks =
        min_int(inputs->blocks * each, ceil_div(plan->layer.cin, CONV_BLOCK) - inputs->block * each);
    const size_t plane_block = minimal_plane_block(plan);
    const conv_blocks blocks = {
        .first = inputs->block * each,
        .count = plane_blocks,
        .target_block = plane_block,
        .rows = inputs->tiles_y * plan->minimal[Y] + 2,
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
            job->kernels->minimal_input[minimal_tile(plan)](&work);
        }
    }
}
