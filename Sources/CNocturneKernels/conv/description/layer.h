// The description of a layer, axis by axis. Layer 1, description: values only.

#pragma once

#include "nk_conv.h"
#include "numbers.h"

/// The geometry of nk_conv_desc, checked, in arrays of the axes z, y and x.
typedef struct conv_layer {
    int in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
    int cin, cout, groups;
    bool transposed;
    /// Whether every output channel has one input channel.
    bool depthwise;
    /// One of NK_CONV_FLOAT32, NK_CONV_BFLOAT16, NK_CONV_SPLIT.
    int precision;
} conv_layer;

/// False if the description is invalid, or so large that positions could exceed an int.
bool nk_conv_describe(const nk_conv_desc *desc, conv_layer *layer);
