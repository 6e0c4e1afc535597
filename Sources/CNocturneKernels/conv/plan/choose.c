// The choice of a layer's plan: every form that an instruction set offers is planned, and the cheapest is kept. Costs are
// estimates in cycles of one core. With measured times, the method, and so the last bits of the results, would depend on
// the machine's load. Layer 2, plan.

#include "../description/memory.h"
#include "steps.h"

/// A way of computing a layer.
typedef struct conv_form {
    /// One of NK_CONV_ISA_*.
    int kernels;
    bool split, rounds, folds;
    int spacing[3];
} conv_form;

/// The forms that a precision and an instruction set offer for a layer, one or two.
static int forms_of(const conv_layer *layer, int isa, bool is_direct, conv_form forms[2]) {
    const int precision = layer->precision;
    const conv_set *products = &nk_conv_sets[isa];
    const conv_form plain = {
        .kernels = min_int(isa, NK_CONV_ISA_AVX512),
        .rounds = precision == NK_CONV_BFLOAT16,
    };
    if (!products->pairs || !nk_conv_fills_pairs(layer->cin, layer->groups) || precision == NK_CONV_FLOAT32) {
        forms[0] = plain;
        return 1;
    }
    if (precision == NK_CONV_BFLOAT16) {
        forms[0] = (conv_form){.kernels = isa};
        // float32, whose minimal filtering has larger tiles, is slower than matrix tiles in all layers.
        forms[1] = plain;
        forms[1].rounds = false;
        return is_direct || products->matrix ? 1 : 2;
    }
    int count = 0;
    if (products->matrix) forms[count++] = (conv_form){.kernels = isa, .split = true};
    if (count == 0 || !is_direct) forms[count++] = plain;
    return count;
}

/// Divides a form into sub-grids along the axes of a set (bit a for axis a). False for axes where that is not possible:
/// those that are not dilated, and sub-grids without voxels.
static bool divide_form(const conv_layer *layer, int axes, conv_form *form) {
    for (int a = 0; a < 3; a++) {
        form->spacing[a] = 1;
        if (!(axes >> a & 1)) continue;
        const int dilation = layer->dilation[a];
        if (layer->transposed || layer->kernel[a] == 1 || layer->stride[a] != 1) return false;
        if (dilation == 1 || dilation > layer->out[a]) return false;
        form->spacing[a] = dilation;
    }
    return true;
}

/// Folds the taps along x of a form. False where that is not possible: only for vectors of float32, and if all taps and
/// output channels are one unit.
static bool fold_form(const conv_layer *layer, conv_form *form) {
    const conv_set *set = &nk_conv_sets[form->kernels];
    if (set->lanes == 0 || set->pairs || layer->transposed) return false;
    if (layer->groups != 1 || layer->stride[X] != 1) return false;
    form->folds = true;
    return layer->kernel[X] > 1 && (int64_t)layer->kernel[X] * layer->cout <= 2 * set->lanes;
}

/// The values of a plan that follow from its form alone.
static conv_plan plan_of(const conv_layer *layer, int isa, const conv_form *form) {
    conv_plan plan = {
        .layer = *layer,
        .isa = isa,
        .kernels = form->kernels,
        .set = nk_conv_sets[form->kernels],
        .split = form->split,
        .rounds = form->rounds,
        .fold = form->folds ? layer->kernel[X] : 1,
        .minimal = {1, 0, 0},
        .groups = layer->depthwise ? 1 : layer->groups,
        .distance = CONV_BLOCK,
    };
    memcpy(plan.spacing, form->spacing, sizeof plan.spacing);
    plan.pairs = plan.set.pairs;
    plan.row_pairs = !layer->transposed && layer->stride[Y] == 1 && layer->kernel[Y] > 1 &&
        layer->dilation[Y] == plan.spacing[Y];
    plan.group_in = layer->cin / plan.groups;
    plan.group_out = layer->cout / plan.groups;
    if (!has_vectors(&plan)) {
        plan.distance = plan.group_in;
    } else if (!layer->depthwise && plan.group_in <= 4) {
        plan.distance = plan.group_in == 1 ? 1 : 4;
    }
    const int words = plan.pairs ? ceil_div(plan.group_in, 2) : plan.group_in;
    plan.block_count = ceil_div(words, plan.distance);
    plan.last_words = words - (plan.block_count - 1) * plan.distance;
    // Matrix tiles process whole blocks.
    if (plan.set.matrix) plan.last_words = plan.distance;
    return plan;
}

/// Completes a plan, with minimal filtering if that is faster; `cost` includes that of keeping the weights. False when
/// memory runs out.
static bool complete(conv_plan *plan, bool is_direct, double *cost) {
    if (!nk_conv_create_phases(plan) || !nk_conv_create_units(plan)) return false;
    const double direct = plan->set.matrix ? nk_conv_choose_rings(plan) : nk_conv_choose_boxes(plan);
    const double weights = cost_of_weights(plan, plan->weight_count);
    conv_plan filtered = *plan;
    const double minimal = is_direct ? -1 : nk_conv_choose_minimal(&filtered);
    // The plain sum errs less, so that minimal filtering must be faster by more than a little.
    if (minimal < 0 || 0.9 * direct + weights < minimal) {
        *cost = direct < 0 ? direct : direct + weights;
    } else {
        *cost = minimal;
        *plan = filtered;
        nk_conv_place_minimal_weights(plan);
    }
    nk_conv_place_taps(plan);
    return true;
}

bool nk_conv_choose(const conv_layer *layer, int isa, bool is_direct, conv_plan *plan) {
    conv_form forms[2];
    const int form_count = forms_of(layer, isa, is_direct, forms);
    bool is_found = false;
    double best = 0;
    for (int i = 0; i < 16 * form_count; i++) {
        conv_form form = forms[i / 16];
        if (i & 8 && !fold_form(layer, &form)) continue;
        if (!divide_form(layer, i % 8, &form)) continue;
        conv_plan other = plan_of(layer, isa, &form);
        double cost = -1;
        const bool is_complete = complete(&other, is_direct, &cost);
        if (!is_complete || cost < 0 || (is_found && best <= cost)) {
            nk_conv_release_plan(&other);
            if (is_complete) continue;
            if (is_found) nk_conv_release_plan(plan);
            return false;
        }
        if (is_found) nk_conv_release_plan(plan);
        *plan = other;
        best = cost;
        is_found = true;
    }
    if (is_found) nk_conv_measure_scratch(plan);
    return is_found;
}

void nk_conv_release_plan(conv_plan *plan) {
    for (int p = 0; plan->phases && p < plan->phase_count; p++) {
        free(plan->phases[p].taps);
        free(plan->phases[p].kernel);
        free(plan->phases[p].planes);
    }
    for (int a = 0; a < 3; a++) free(plan->reads[a]);
    free(plan->phases);
    free(plan->units);
}
