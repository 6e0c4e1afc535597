// Execution of a chunk, and its statistics. Layer 3, execution.

#include <string.h>

#include "methods.h"

/// Computes some units of the job's box in one sub-grid.
static void run_box(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    if (plan->minimal[Z] > 1) {
        nk_conv_run_minimal_z(job, first, end);
    } else if (plan->minimal[X]) {
        nk_conv_run_minimal(job, first, end);
    } else if (plan->set.matrix) {
        nk_conv_run_matrix(job, first, end);
    } else if (has_vectors(plan)) {
        nk_conv_run_vectors(job, first, end);
    } else {
        nk_conv_run_portable(job, first, end);
    }
}

/// Computes some units of the box in all sub-grids along x, which share cache lines.
static void run_boxes(conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    for (int x = 0; x < plan->spacing[X]; x++) {
        job->place[X] = x;
        bool is_empty = false;
        for (int a = 0; a < 3; a++) {
            const int points = ceil_div(plan->layer.out[a] - job->place[a], output_step(plan, a));
            job->size[a] = min_int(plan->box[a], points - job->first[a]);
            is_empty = is_empty || job->size[a] <= 0;
        }
        if (!is_empty) run_box(job, first, end);
    }
}

/// Sets the box and the sub-grids of a chunk; returns its range of units. Chunks that are adjacent in memory are
/// consecutive, and so are the ranges of one box.
static int place_chunk(conv_job *job, int chunk) {
    const conv_plan *plan = job->plan;
    int box = chunk / plan->ranges;
    for (int a = X; a >= Z; a--) {
        job->first[a] = box % plan->boxes[a] * plan->box[a];
        box /= plan->boxes[a];
    }
    job->place[Y] = box % plan->spacing[Y];
    job->place[Z] = box / plan->spacing[Y];
    return chunk % plan->ranges;
}

void nk_conv_run_chunk(const nk_conv_plan *prepared, const nk_conv_run *run, int32_t chunk, void *scratch) {
    const conv_plan *plan = &prepared->plan;
    const conv_kernels *kernels = prepared->kernels;
    conv_job job = {
        .plan = plan,
        .kernels = kernels,
        .weights = prepared->weights,
        .bias = prepared->bias,
        .sources = run->sources,
        .source_count = run->source_count,
        .residual = run->residual,
        .out = run->out,
        .stores_halves = run->out_bfloat16,
        .out_slope = run->out_slope,
    };
    const size_t cout = (size_t)plan->layer.cout;
    float *aligned = (float *)(((uintptr_t)scratch + 63) / 64 * 64);
    if (run->stats) {
        job.sums = (double *)aligned;
        job.squares = job.sums + cout + 32;
        memset(job.sums, 0, 2 * (cout + 32) * sizeof(double));
    }
    job.packed = aligned + round_up(4 * (cout + 32), 16);
    const int range = place_chunk(&job, chunk), each = ceil_div(plan->unit_count, plan->ranges);
    if (kernels && kernels->begin) kernels->begin();
    run_boxes(&job, range * each, min_int((range + 1) * each, plan->unit_count));
    if (kernels) kernels->fence();
    if (kernels && kernels->end) kernels->end();
    if (run->stats) {
        double *row = run->stats + (size_t)chunk * 2 * cout;
        memcpy(row, job.sums, cout * sizeof(double));
        memcpy(row + cout, job.squares, cout * sizeof(double));
    }
}

void nk_conv_merge_stats(const nk_conv_plan *prepared, const double *stats, double *merged) {
    const size_t width = 2 * (size_t)prepared->plan.layer.cout;
    memset(merged, 0, width * sizeof(double));
    for (int32_t chunk = 0; chunk < nk_conv_chunk_count(prepared); chunk++) {
        for (size_t i = 0; i < width; i++) merged[i] += stats[(size_t)chunk * width + i];
    }
}
