// A plan with what its execution needs: nk_conv_plan of nk_conv.h. Layer 3, execution.

#pragma once

#include "../kernels/kernels.h"
#include "../plan/plan.h"

struct nk_conv_plan {
    conv_plan plan;
    /// NULL for the baseline.
    const conv_kernels *kernels;
    /// Packed weights, and the bias of every output channel with space for a vector after the last one.
    float *weights, *bias;
    /// Bytes of all its memory.
    size_t bytes;
};

/// Packs `weights`, in the ONNX layout, in the order in which the kernels of the plan read them, and copies the bias.
/// False when memory runs out.
bool nk_conv_pack_weights(nk_conv_plan *prepared, const float *weights, const float *bias);
