// What minimal filtering with and without points along z has in common: inputs, weights and transforms along y and x.
// Layer 3, execution.

#pragma once

#include "../plan/minimal.h"
#include "job.h"

/// The input points of several blocks of channels, `[point][block][plane][tile][channel]`, and their strides.
typedef struct minimal_inputs {
    float *points;
    /// The first block, and the number of blocks.
    int block, blocks;
    /// Planes for which there is memory: plane z of the box is at z modulo this number.
    int planes;
    int tiles_y, tiles_x;
    ptrdiff_t plane, block_step, point;
} minimal_inputs;

/// Planes of a box's output that are computed together.
typedef struct minimal_step {
    int first, count;
} minimal_step;

/// The weights of a unit for a point (of all axes along which there are points), from a block of channels on.
static inline const float *minimal_weights(const conv_job *job, const conv_unit *unit, int point, int block) {
    const conv_plan *plan = job->plan;
    const size_t taps = plan->minimal[Z] > 1 ? 1 : (size_t)plan->layer.kernel[Z];
    const size_t words = (size_t)point * words_of(plan) + (size_t)block * CONV_BLOCK;
    return job->weights + unit->weights + words * taps * unit->vectors * plan->set.lanes;
}

/// Packs and transforms the planes `first ..< end` of the box, for the blocks of `inputs`.
void nk_conv_transform_in(const conv_job *job, const minimal_inputs *inputs, int first, int end);

/// The products of several planes of the output.
typedef struct minimal_products {
    const conv_job *job;
    const conv_unit *unit;
    /// The planes, within the box.
    minimal_step step;
    int tiles_y, tiles_x;
    /// `[point][plane][tile][output channel]`.
    float *products;
    ptrdiff_t product_point;
    /// Memory for a row of tiles of the output.
    float *rows;
} minimal_products;

/// Transforms products to outputs, and applies the operations that follow.
void nk_conv_transform_back(const minimal_products *work);
