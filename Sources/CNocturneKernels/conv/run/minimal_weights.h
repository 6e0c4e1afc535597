// Transformed weights of minimal filtering. Layer 3, execution.

#pragma once

#include "../plan/plan.h"

/// Packs the weights of a unit, transformed to the points of the plan's tile, to `to`.
void nk_conv_pack_minimal_weights(const conv_plan *plan, const conv_unit *unit, const float *weights, float *to);
