// Sizes of minimal filtering that follow from the tile of a plan. Layer 2, plan.

#pragma once

#include "plan.h"

/// The kind of tile, one of MINIMAL_*.
static inline int minimal_tile(const conv_plan *plan) {
    if (plan->minimal[X] == 2) return MINIMAL_2_2;
    return plan->minimal[Y] == 2 ? MINIMAL_2_4 : MINIMAL_4_4;
}

/// Points of a tile along y and x.
static inline int minimal_points(const conv_plan *plan) { return (plan->minimal[Y] + 2) * (plan->minimal[X] + 2); }

/// Points along z of a tile, each with its own weights; the taps along z if the tile has one output there.
static inline int minimal_points_z(const conv_plan *plan) {
    return plan->minimal[Z] > 1 ? plan->minimal[Z] + 2 : plan->layer.kernel[Z];
}

/// Packed blocks of channels, which are float32, per block of words.
static inline int minimal_plane_blocks(const conv_plan *plan) { return plan->pairs ? 2 : 1; }

/// Words from the packed plane of a block of channels to that of the next block.
static inline size_t minimal_plane_block(const conv_plan *plan) {
    return round_up((size_t)plan->packed[Y] * plan->row, 16);
}

/// Planes of input for `size` planes of output.
static inline int minimal_planes(const conv_plan *plan, int size) {
    return ((int)round_up((size_t)size, (size_t)plan->minimal[Z]) - 1) * plan->in_stride[Z] + plan->span[Z];
}

/// Words from a point to the next one, for points of `words` words: an odd number of cache lines, so that the points of a
/// tile are kept in different sets of the first-level cache.
static inline size_t minimal_stride(size_t words) {
    return words / CONV_BLOCK % 2 == 1 ? words : words + CONV_BLOCK;
}

/// Floats of the packed weights of a unit.
static inline size_t minimal_unit_weights(const conv_plan *plan, const conv_unit *unit) {
    const size_t points = (size_t)minimal_points_z(plan) * minimal_points(plan);
    return points * (size_t)words_of(plan) * unit->vectors * plan->set.lanes;
}
