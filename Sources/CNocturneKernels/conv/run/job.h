// A chunk under computation, and the positions of its box in packed memory, input and output. Layer 3, execution.

#pragma once

#include "prepared.h"

/// A chunk under computation.
typedef struct conv_job {
    const conv_plan *plan;
    const conv_kernels *kernels;
    const float *weights, *bias;
    const nk_conv_source *sources;
    int source_count;
    const float *residual;
    float *out;
    /// Whether `out` is bfloat16.
    bool stores_halves;
    float out_slope;
    double *sums, *squares;
    /// Scratch memory, which begins with the packed input.
    float *packed;
    /// First point and extent of the box.
    int first[3], size[3];
    /// The output voxel of the first point of the sub-grid.
    int place[3];
} conv_job;

/// The first input of the taps of a row of the box.
static inline const float *packed_row(const conv_job *job, int z, int y) {
    const conv_plan *plan = job->plan;
    const size_t in_z = (size_t)z * plan->in_stride[Z], in_y = (size_t)y * plan->in_stride[Y];
    return job->packed + (in_z * plan->packed[Y] + in_y) * plan->row;
}

/// The position along an axis in the input of a voxel of the packed box; may be outside of the input.
static inline int input_place(const conv_job *job, int axis, int voxel) {
    const conv_plan *plan = job->plan;
    const int point = job->first[axis] * plan->in_stride[axis] + voxel;
    return point * plan->spacing[axis] + plan->lowest[axis] + job->place[axis];
}

/// Voxels of the packed box along an axis, those that are not read included.
static inline int packed_extent(const conv_job *job, int axis) {
    return (job->size[axis] - 1) * job->plan->in_stride[axis] + job->plan->span[axis];
}

/// The number of the output voxel at a point of the box.
static inline size_t output_voxel(const conv_job *job, const conv_phase *phase, int z, int y, int x) {
    const conv_plan *plan = job->plan;
    const int point[] = {z, y, x}, *out = plan->layer.out;
    size_t o[3];
    for (int a = 0; a < 3; a++) {
        const size_t at = (size_t)(job->first[a] + point[a]) * output_step(plan, a);
        o[a] = at + phase->place[a] + job->place[a];
    }
    return (o[Z] * out[Y] + o[Y]) * out[X] + o[X];
}

/// The points of the box that a phase has, along each axis; false if there are none.
static inline bool phase_size(const conv_job *job, const conv_phase *phase, int size[3]) {
    for (int a = 0; a < 3; a++) size[a] = min_int(job->size[a], phase->count[a] - job->first[a]);
    return size[Z] > 0 && size[Y] > 0 && size[X] > 0;
}

/// Whether the output of the job is stored past the caches.
static inline bool job_streams(const conv_job *job) {
    return (uintptr_t)job->out % 64 == 0 && job->plan->streams;
}
