// The packed weights of a plan, in the order in which its kernels read them.

#include <stdlib.h>
#include <string.h>

#include "internal.h"

/// Allocates zeroed memory of a plan, aligned to a cache line and counted in the plan's bytes. Freed with the plan.
void *nk_conv_allocate(nk_conv_plan *plan, size_t bytes) {
    bytes = round_up(bytes ? bytes : 1, 64);
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes)) return NULL;
    memset(memory, 0, bytes);
    plan->plan_bytes += bytes;
    return memory;
}

/// Weight of an output channel and an input channel of a group (indices from 0 within the group), at a tap.
static float weight_at(const nk_conv_plan *plan, const float *weights, int group, int o, int i, int tap) {
    const nk_conv_desc *d = &plan->desc;
    const size_t taps = (size_t)d->kz * d->ky * d->kx;
    const size_t group_in = (size_t)(d->cin / d->groups), group_out = (size_t)(d->cout / d->groups);
    size_t place = (((size_t)group * group_out + o) * group_in + i) * taps + tap;
    if (d->transposed) place = (((size_t)group * group_in + i) * group_out + o) * taps + tap;
    const float weight = weights[place];
    // Weights of pairs are rounded when they are packed.
    return plan->rounds ? nk_conv_rounded(weight) : weight;
}

uint16_t nk_conv_bfloat16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    // NaN stays NaN, whatever its bits.
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float nk_conv_rounded(float value) {
    if (value != value) return value;
    const uint32_t bits = (uint32_t)nk_conv_bfloat16(value) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Packs the words of pairs of a unit, `[block][tap][pair][output channel]`; for split weights, the high parts of a
/// tap's block and then the low ones.
static void pack_pairs(const nk_conv_plan *plan, const conv_unit *unit, const float *weights, uint16_t *to) {
    const conv_phase *phase = &plan->phases[unit->phase];
    const int width = unit->vectors * plan->kernels->lanes;
    for (int block = 0; block < plan->block_count; block++) {
        const int from = 2 * block * plan->distance;
        const int words = block + 1 < plan->block_count ? plan->distance : plan->last_words;
        const size_t part = 2 * (size_t)words * width;
        for (int t = 0; t < phase->tap_count; t++) {
            for (int i = from; i < min_int(from + 2 * words, plan->group_in); i++) {
                for (int o = 0; o < unit->channels; o++) {
                    const float weight = weight_at(plan, weights, unit->group, unit->first + o, i, phase->kernel[t]);
                    uint16_t *place = to + 2 * ((size_t)(i - from) / 2 * width + o) + (i - from) % 2;
                    *place = nk_conv_bfloat16(weight);
                    if (plan->split) place[part] = nk_conv_bfloat16(weight - nk_conv_rounded(weight));
                }
            }
            to += plan->split ? 2 * part : part;
        }
    }
}

bool nk_conv_pack_weights(nk_conv_plan *plan, const float *weights, const float *bias) {
    if (plan->minimal_x) plan->weight_count = nk_conv_minimal_weight_count(plan);
    plan->weights = nk_conv_allocate(plan, plan->weight_count * sizeof(float));
    plan->bias = nk_conv_allocate(plan, ((size_t)plan->desc.cout + 64) * sizeof(float));
    if (!plan->weights || !plan->bias) return false;
    if (bias) memcpy(plan->bias, bias, (size_t)plan->desc.cout * sizeof(float));
    if (plan->minimal_x) {
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
        } else if (plan->pairs) {
            pack_pairs(plan, unit, weights, (uint16_t *)to);
        } else if (plan->kernels) {
            const int width = unit->vectors * plan->kernels->lanes;
            for (int block = 0; block < plan->block_count; block++) {
                const int from = block * plan->distance, channels = min_int(plan->distance, plan->group_in - from);
                for (int t = 0; t < phase->tap_count; t++) {
                    for (int i = from; i < from + channels; i++) {
                        for (int f = 0; f < plan->fold * unit->channels; f++) {
                            const int o = unit->first + f % unit->channels, tap = phase->kernel[t] + f / unit->channels;
                            to[f] = weight_at(plan, weights, unit->group, o, i, tap);
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
