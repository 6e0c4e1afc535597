// The check of a layer's description. Layer 1, description.

#include "layer.h"

/// Whether the values along one axis are in range: positions along it, in voxels, are far from overflowing an int.
static bool is_valid_along(const conv_layer *layer, int a) {
    const int positive[] = {layer->in[a], layer->out[a], layer->kernel[a], layer->stride[a], layer->dilation[a]};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        if (positive[i] < 1 || positive[i] > 1 << 24) return false;
    }
    if (layer->pad[a] < -(1 << 24) || layer->pad[a] > 1 << 24) return false;
    if ((int64_t)(layer->kernel[a] - 1) * layer->dilation[a] > 1 << 24) return false;
    return (int64_t)(layer->transposed ? layer->in[a] : layer->out[a]) * layer->stride[a] <= 1 << 28;
}

static bool is_valid(const conv_layer *layer) {
    const int positive[] = {layer->cin, layer->cout, layer->groups};
    for (int i = 0; i < 3; i++) {
        if (positive[i] < 1 || positive[i] > 1 << 24) return false;
    }
    for (int a = 0; a < 3; a++) {
        if (!is_valid_along(layer, a)) return false;
    }
    const int *kernel = layer->kernel, *stride = layer->stride;
    if ((double)kernel[Z] * kernel[Y] * kernel[X] > 1 << 20) return false;
    if (layer->transposed && (double)stride[Z] * stride[Y] * stride[X] > 1 << 16) return false;
    if (layer->precision < NK_CONV_FLOAT32 || layer->precision > NK_CONV_SPLIT) return false;
    return layer->cin % layer->groups == 0 && layer->cout % layer->groups == 0;
}

bool nk_conv_describe(const nk_conv_desc *d, conv_layer *layer) {
    *layer = (conv_layer){
        .in = {d->in_z, d->in_y, d->in_x},
        .out = {d->out_z, d->out_y, d->out_x},
        .kernel = {d->kz, d->ky, d->kx},
        .stride = {d->stride_z, d->stride_y, d->stride_x},
        .pad = {d->pad_z, d->pad_y, d->pad_x},
        .dilation = {d->dilation_z, d->dilation_y, d->dilation_x},
        .cin = d->cin,
        .cout = d->cout,
        .groups = d->groups,
        .transposed = d->transposed,
        .depthwise = d->groups > 1 && d->groups == d->cin && d->groups == d->cout,
        .precision = d->precision,
    };
    return is_valid(layer);
}
