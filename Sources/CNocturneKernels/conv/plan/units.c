// The units of a plan: consecutive output channels of one phase and group, and the positions of their weights. Layer 2,
// plan.

#include "../description/memory.h"
#include "steps.h"

static bool is_empty(const conv_phase *phase) {
    return phase->count[Z] == 0 || phase->count[Y] == 0 || phase->count[X] == 0;
}

/// Adds a unit of up to `width` channels.
static void add_unit(conv_plan *plan, int p, int group, int first, int width) {
    const conv_phase *phase = &plan->phases[p];
    const int lanes = plan->set.lanes;
    conv_unit *unit = &plan->units[plan->unit_count++];
    unit->phase = p;
    unit->group = group;
    unit->first = first;
    unit->channels = min_int(width, plan->group_out - first);
    unit->vectors = lanes > 0 && !plan->layer.depthwise ? ceil_div(unit->channels * plan->fold, lanes) : 2;
    unit->weights = plan->weight_count;
    const size_t taps = (size_t)phase->tap_count;
    if (plan->layer.depthwise) {
        plan->weight_count += taps * CONV_BLOCK;
    } else if (lanes > 0) {
        const size_t deep = plan->pairs ? (size_t)words_of(plan) : (size_t)plan->group_in;
        plan->weight_count += taps * deep * unit->vectors * lanes * (size_t)parts_of(plan);
    } else {
        // One matrix per phase and group, [tap][input channel][output channel]; units are its columns.
        if (first == 0) plan->weight_count += taps * plan->group_in * plan->group_out;
        if (first > 0) unit->weights = unit[-1].weights + (size_t)unit[-1].channels;
    }
}

bool nk_conv_create_units(conv_plan *plan) {
    const int width = plan->layer.depthwise ? CONV_BLOCK : has_vectors(plan) ? 2 * plan->set.lanes : 64;
    const int each = ceil_div(plan->group_out, width);
    size_t phases = 0;
    for (int p = 0; p < plan->phase_count; p++) phases += !is_empty(&plan->phases[p]);
    const size_t units = phases * plan->groups * each;
    if (units > 1 << 24) return false;
    plan->units = nk_conv_allocate(units * sizeof(conv_unit), &plan->bytes);
    if (!plan->units) return false;
    for (int group = 0; group < plan->groups; group++) {
        for (int p = 0; p < plan->phase_count; p++) {
            if (is_empty(&plan->phases[p])) continue;
            for (int first = 0; first < plan->group_out; first += width) add_unit(plan, p, group, first, width);
        }
    }
    return true;
}
