// A chunk under computation, and the positions of its box in packed memory, input and output.

#pragma once

#include "internal.h"

/// A chunk under computation.
struct conv_job {
    const nk_conv_plan *plan;
    const nk_conv_source *sources;
    int source_count;
    const float *residual;
    float *out;
    float out_slope;
    double *sums, *squares;
    float *packed;
    /// First point and extent of the box.
    int first[3], size[3];
    /// The output voxel of the first point of the sub-grid.
    int place[3];
};

/// The first input of the taps of a row of the box.
static inline const float *packed_row(const conv_job *job, int z, int y) {
    const nk_conv_plan *plan = job->plan;
    const size_t in_z = (size_t)z * plan->in_stride[Z], in_y = (size_t)y * plan->in_stride[Y];
    return job->packed + (in_z * plan->packed[Y] + in_y) * plan->row;
}

/// The position along an axis in the input of a voxel of the packed box; may be outside of the input.
static inline int input_place(const conv_job *job, int axis, int voxel) {
    const nk_conv_plan *plan = job->plan;
    const int point = job->first[axis] * plan->in_stride[axis] + voxel;
    return point * plan->spacing[axis] + plan->lowest[axis] + job->place[axis];
}

/// Output voxels between adjacent points along an axis.
static inline int output_step(const nk_conv_plan *plan, int axis) {
    return plan->out_stride[axis] * plan->spacing[axis];
}

/// The number of the output voxel at a point of the box.
static inline size_t output_voxel(const conv_job *job, const conv_phase *phase, int z, int y, int x) {
    const nk_conv_plan *plan = job->plan;
    const int point[] = {z, y, x};
    size_t o[3];
    for (int a = 0; a < 3; a++) {
        const size_t at = (size_t)(job->first[a] + point[a]) * output_step(plan, a);
        o[a] = at + phase->place[a] + job->place[a];
    }
    return (o[Z] * plan->out[Y] + o[Y]) * plan->out[X] + o[X];
}

/// Whether the output of the job is stored past the caches.
static inline bool job_streams(const conv_job *job) {
    return (uintptr_t)job->out % 64 == 0 && nk_conv_streams(job->plan);
}

/// The values that start the sums of a tile, where those are not of the bias.
extern const float nk_conv_zeros[32];

/// Computes a row of register tiles of nearly equal lengths, at most `longest`, with the functions for one number of
/// segments. `distance`: words between voxels of the input.
static inline void run_row(
    conv_tile tile, int length, int longest, ptrdiff_t distance, conv_tile_function *const *functions) {
    const int tiles = ceil_div(length, longest), shorter = length / tiles, longer = length % tiles;
    for (int i = 0; i < tiles; i++) {
        const int count = shorter + (i < longer);
        functions[count - 1](&tile);
        tile.input += count * distance;
        tile.output += count * tile.output_step;
        tile.weights_ahead = 0;
    }
}

/// The largest number of rows that one tile computes; 1 for rows longer than a tile.
static inline int rows_together(conv_tile_function *const (*functions)[14], int length, int longest) {
    int together = 1;
    for (int s = 2; s <= LONGEST_TILE_ROWS && length <= longest; s++) {
        if (functions[s - 1][length - 1]) together = s;
    }
    return together;
}
