// Execution of a chunk, and its statistics.

#include <string.h>

#include "job.h"

/// Computes some units of the job's box in one sub-grid.
static void run_box(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    if (plan->minimal_x) {
        nk_conv_minimal_run(job, first, end);
    } else if (plan->kernels) {
        nk_conv_vectors_run(job, first, end);
    } else {
        nk_conv_portable_run(job, first, end);
    }
}

/// Computes some units of the box in all sub-grids along x, which share cache lines.
static void run_boxes(conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    for (int x = 0; x < plan->spacing[X]; x++) {
        job->place[X] = x;
        bool is_empty = false;
        for (int a = 0; a < 3; a++) {
            const int points = ceil_div(plan->out[a] - job->place[a], output_step(plan, a));
            job->size[a] = min_int(plan->box[a], points - job->first[a]);
            is_empty = is_empty || job->size[a] <= 0;
        }
        if (!is_empty) run_box(job, first, end);
    }
}

void nk_conv_run_chunk(
    const nk_conv_plan *plan, const nk_conv_source *sources, int32_t source_count, const float *residual, float *out,
    float out_slope, double *stats, int32_t chunk, void *scratch) {
    conv_job job = {
        .plan = plan,
        .sources = sources,
        .source_count = source_count,
        .residual = residual,
        .out = out,
        .out_slope = out_slope,
    };
    // Chunks that are adjacent in memory are consecutive, and so are the ranges of channels of one box.
    const int range = chunk % plan->ranges;
    int box = chunk / plan->ranges;
    for (int a = X; a >= Z; a--) {
        job.first[a] = box % plan->boxes[a] * plan->box[a];
        box /= plan->boxes[a];
    }
    job.place[Y] = box % plan->spacing[Y];
    job.place[Z] = box / plan->spacing[Y];
    const int each = ceil_div(plan->unit_count, plan->ranges);
    const int first = range * each, end = min_int(first + each, plan->unit_count);

    const size_t cout = (size_t)plan->desc.cout;
    float *aligned = (float *)(((uintptr_t)scratch + 63) / 64 * 64);
    if (stats) {
        job.sums = (double *)aligned;
        job.squares = job.sums + cout + 32;
        memset(job.sums, 0, 2 * (cout + 32) * sizeof(double));
    }
    job.packed = aligned + round_up(4 * (cout + 32), 16);
    if (plan->kernels && plan->kernels->begin) plan->kernels->begin();
    run_boxes(&job, first, end);
    if (plan->kernels && plan->kernels->end) plan->kernels->end();
    if (stats) {
        double *row = stats + (size_t)chunk * 2 * cout;
        memcpy(row, job.sums, cout * sizeof(double));
        memcpy(row + cout, job.squares, cout * sizeof(double));
    }
}

void nk_conv_merge_stats(const nk_conv_plan *plan, const double *stats, double *merged) {
    const size_t width = 2 * (size_t)plan->desc.cout;
    memset(merged, 0, width * sizeof(double));
    for (int32_t chunk = 0; chunk < nk_conv_chunk_count(plan); chunk++) {
        for (size_t i = 0; i < width; i++) merged[i] += stats[(size_t)chunk * width + i];
    }
}
