// The steps by which a plan is made, in their order (choose.c takes them). Layer 2, plan.

#pragma once

#include "plan.h"

/// 1. The phases and their taps, the grid and the strides. False when memory runs out.
bool nk_conv_create_phases(conv_plan *plan);

/// 2. The units. False when memory runs out or there are too many.
bool nk_conv_create_units(conv_plan *plan);

/// 3. Divides the grid into boxes and the units into ranges for sums of products. Returns the cost in cycles, negative if
/// there is no division.
double nk_conv_choose_boxes(conv_plan *plan);

/// The same for matrix tiles.
double nk_conv_choose_rings(conv_plan *plan);

/// 4. The same for minimal filtering, with its tile; the cost includes that of keeping the weights.
double nk_conv_choose_minimal(conv_plan *plan);

/// The positions of the packed weights of minimal filtering, once it is chosen.
void nk_conv_place_minimal_weights(conv_plan *plan);

/// 5. The positions of the taps in packed memory.
void nk_conv_place_taps(conv_plan *plan);

/// 6. Scratch memory, and whether the output is stored past the caches.
void nk_conv_measure_scratch(conv_plan *plan);

/// The sizes of packed memory that follow from a box: part of steps 3 and 4.
void nk_conv_measure_packed(conv_plan *plan);
void nk_conv_measure_ring(conv_plan *plan);

/// The factor by which this number of equal chunks takes longer than an exact division of the work among the threads.
double nk_conv_imbalance(double chunks);

/// What it must be worth to keep `count` weights in memory, in cycles: half a cycle of a run for each byte; two cycles
/// for pairs of bfloat16, because the larger error of minimal filtering must be worth it, too.
static inline double cost_of_weights(const conv_plan *plan, size_t count) {
    return (plan->pairs ? 2 : 0.5) * sizeof(float) * (double)count;
}
