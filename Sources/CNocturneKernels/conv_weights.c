// The packed weights of a plan, in the order in which its kernels read them.

#include <stdlib.h>
#include <string.h>

#include "conv_internal.h"

/// Zeroed memory of a plan, on a cache line; counted in its bytes. Freed with the plan, piece by piece.
void *nk_conv_allocate(nk_conv_plan *plan, size_t bytes) {
    bytes = round_up(bytes ? bytes : 1, 64);
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes)) return NULL;
    memset(memory, 0, bytes);
    plan->plan_bytes += bytes;
    return memory;
}

/// Weight of an output channel and an input channel of a group (from 0 within it), at a tap.
static float weight_at(const nk_conv_plan *plan, const float *weights, int group, int o, int i, int tap) {
    const nk_conv_desc *d = &plan->desc;
    const size_t taps = (size_t)d->kz * d->ky * d->kx;
    const size_t group_in = (size_t)(d->cin / d->groups), group_out = (size_t)(d->cout / d->groups);
    if (d->transposed) return weights[((((size_t)group * group_in + i) * group_out) + o) * taps + tap];
    return weights[((((size_t)group * group_out + o) * group_in) + i) * taps + tap];
}

bool nk_conv_pack_weights(nk_conv_plan *plan, const float *weights, const float *bias) {
    if (plan->minimal) plan->weight_count = nk_conv_minimal_weight_count(plan);
    plan->weights = nk_conv_allocate(plan, plan->weight_count * sizeof(float));
    plan->bias = nk_conv_allocate(plan, ((size_t)plan->desc.cout + 64) * sizeof(float));
    if (!plan->weights || !plan->bias) return false;
    if (bias) memcpy(plan->bias, bias, (size_t)plan->desc.cout * sizeof(float));
    if (plan->minimal) {
        nk_conv_minimal_pack_weights(plan, weights);
        return true;
    }
    for (int u = 0; u < plan->unit_count; u++) {
        const conv_unit *unit = &plan->units[u];
        const conv_phase *phase = &plan->phases[unit->phase];
        float *to = plan->weights + unit->weights;
        if (plan->depthwise) {
            for (int t = 0; t < phase->tap_count; t++) {
                for (int c = 0; c < unit->channels; c++) {
                    to[t * CONV_BLOCK + c] = weight_at(plan, weights, unit->first + c, 0, 0, phase->kernel[t]);
                }
            }
        } else if (plan->kernels) {
            const int width = unit->vectors * plan->kernels->lanes;
            for (int block = 0; block < plan->block_count; block++) {
                const int from = block * plan->distance, channels = min_int(plan->distance, plan->group_in - from);
                for (int t = 0; t < phase->tap_count; t++) {
                    for (int i = from; i < from + channels; i++) {
                        for (int o = 0; o < unit->channels; o++) {
                            to[o] = weight_at(plan, weights, unit->group, unit->first + o, i, phase->kernel[t]);
                        }
                        to += width;
                    }
                }
            }
        } else {
            for (int t = 0; t < phase->tap_count; t++) {
                for (int i = 0; i < plan->group_in; i++) {
                    for (int o = 0; o < unit->channels; o++) {
                        to[o] = weight_at(plan, weights, unit->group, unit->first + o, i, phase->kernel[t]);
                    }
                    to += plan->group_out;
                }
            }
        }
    }
    return true;
}
