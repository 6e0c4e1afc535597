// The packed weights of a plan, in the order in which its kernels read them. Layer 3, execution.

#include "../description/memory.h"
#include "bfloat16.h"
#include "minimal_weights.h"
#include "prepared.h"

/// The weights of a unit at a tap: that of its first output channel and the first input channel of its group, and the distances
/// to the next channels.
typedef struct tap_weights {
    const float *first;
    size_t output, input;
    bool rounds;
} tap_weights;

static tap_weights weights_of(const conv_plan *plan, const conv_unit *unit, const float *weights, int tap) {
    const conv_layer *layer = &plan->layer;
    const size_t taps = (size_t)layer->kernel[Z] * layer->kernel[Y] * layer->kernel[X];
    const size_t group_in = (size_t)(layer->cin / layer->groups), group_out = (size_t)(layer->cout / layer->groups);
    tap_weights found = {.output = group_in * taps, .input = taps};
    if (layer->transposed) found = (tap_weights){.output = taps, .input = group_out * taps};
    const size_t group = (size_t)unit->group * group_in * group_out * taps;
    found.first = weights + group + (size_t)unit->first * found.output + tap;
    // Weights of pairs are rounded when they are packed.
    found.rounds = plan->rounds;
    return found;
}

/// Weight of an output channel of the unit and an input channel of the group.
static inline float weight_at(const tap_weights *of, int o, int i) {
    const float weight = of->first[(size_t)o * of->output + (size_t)i * of->input];
    return of->rounds ? rounded(weight) : weight;
}

/// The value of which a bfloat16 is part `part`: the parts before it are subtracted.
static float part_of(float weight, int part) {
    for (; part > 0; part--) weight -= rounded(weight);
    return weight;
}

/// Packs the words of pairs of `width` channels of a unit from `first` on, `[block][tap][pair][output channel]`; for split
/// weights, the parts of a tap's block after one another.
static uint16_t *pack_pairs(
    const conv_plan *plan, const conv_unit *unit, const float *weights, int first, int width, uint16_t *to) {
    const conv_phase *phase = &plan->phases[unit->phase];
    const int channels = min_int(width, unit->channels - first), parts = parts_of(plan);
    for (int block = 0; block < plan->block_count; block++) {
        const int from = 2 * block * plan->distance;
        const int words = block + 1 < plan->block_count ? plan->distance : plan->last_words;
        const size_t part = 2 * (size_t)words * width;
        for (int t = 0; t < phase->tap_count; t++) {
            const tap_weights tap = weights_of(plan, unit, weights, phase->kernel[t]);
            for (int i = from; i < min_int(from + 2 * words, plan->group_in); i++) {
                for (int o = 0; o < channels; o++) {
                    const float weight = weight_at(&tap, first + o, i);
                    uint16_t *place = to + 2 * ((size_t)(i - from) / 2 * width + o) + (i - from) % 2;
                    for (int p = 0; p < parts; p++) place[p * part] = bfloat16_of(part_of(weight, p));
                }
            }
            to += parts * part;
        }
    }
    return to;
}

/// `[tap][channel of the unit]`.
static void pack_depthwise(const conv_plan *plan, const conv_unit *unit, const float *weights, float *to) {
    const conv_phase *phase = &plan->phases[unit->phase];
    const size_t taps = (size_t)plan->layer.kernel[Z] * plan->layer.kernel[Y] * plan->layer.kernel[X];
    for (int t = 0; t < phase->tap_count; t++) {
        // Every channel is a group; in both layouts its taps follow those of the channel before.
        const tap_weights tap = {weights + (size_t)unit->first * taps + phase->kernel[t], taps, 0, plan->rounds};
        for (int c = 0; c < unit->channels; c++) to[t * CONV_BLOCK + c] = weight_at(&tap, c, 0);
    }
}

/// `[block][tap][input channel][folded tap][output channel]`.
static void pack_vectors(const conv_plan *plan, const conv_unit *unit, const float *weights, float *to) {
    const conv_phase *phase = &plan->phases[unit->phase];
    const int width = unit->vectors * plan->set.lanes;
    for (int block = 0; block < plan->block_count; block++) {
        const int from = block * plan->distance, channels = min_int(plan->distance, plan->group_in - from);
        for (int t = 0; t < phase->tap_count; t++) {
            for (int fold = 0; fold < plan->fold; fold++) {
                const tap_weights tap = weights_of(plan, unit, weights, phase->kernel[t] + fold);
                float *at = to + fold * unit->channels;
                for (int i = from; i < from + channels; i++, at += width) {
                    for (int o = 0; o < unit->channels; o++) at[o] = weight_at(&tap, o, i);
                }
            }
            to += (size_t)channels * width;
        }
    }
}

/// The columns of a unit in the matrix of its phase and group: `[tap][input channel][output channel]`.
static void pack_matrix(const conv_plan *plan, const conv_unit *unit, const float *weights, float *to) {
    const conv_phase *phase = &plan->phases[unit->phase];
    for (int t = 0; t < phase->tap_count; t++) {
        const tap_weights tap = weights_of(plan, unit, weights, phase->kernel[t]);
        for (int i = 0; i < plan->group_in; i++, to += plan->group_out) {
            for (int o = 0; o < unit->channels; o++) to[o] = weight_at(&tap, o, i);
        }
    }
}

bool nk_conv_pack_weights(nk_conv_plan *prepared, const float *weights, const float *bias) {
    const conv_plan *plan = &prepared->plan;
    const size_t cout = (size_t)plan->layer.cout;
    prepared->weights = nk_conv_allocate(plan->weight_count * sizeof(float), &prepared->bytes);
    prepared->bias = nk_conv_allocate((cout + 64) * sizeof(float), &prepared->bytes);
    if (!prepared->weights || !prepared->bias) return false;
    if (bias) memcpy(prepared->bias, bias, cout * sizeof(float));
    for (int u = 0; u < plan->unit_count; u++) {
        const conv_unit *unit = &plan->units[u];
        float *to = prepared->weights + unit->weights;
        if (plan->minimal[X]) {
            nk_conv_pack_minimal_weights(plan, unit, weights, to);
        } else if (plan->layer.depthwise) {
            pack_depthwise(plan, unit, weights, to);
        } else if (plan->pairs) {
            const int all = unit->vectors * plan->set.lanes, width = plan->set.matrix ? plan->set.lanes : all;
            uint16_t *words = (uint16_t *)to;
            for (int o = 0; o < all; o += width) words = pack_pairs(plan, unit, weights, o, width, words);
        } else if (has_vectors(plan)) {
            pack_vectors(plan, unit, weights, to);
        } else {
            pack_matrix(plan, unit, weights, to);
        }
    }
    return true;
}
