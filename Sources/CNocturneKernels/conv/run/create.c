// Creation and release of plans, and the values of them that nk_conv.h gives. Layer 3, execution.

#include <cblas.h>

#include "../description/memory.h"
#include "../kernels/processor.h"
#include "prepared.h"

nk_conv_plan *nk_conv_plan_create(const nk_conv_desc *desc, const float *weights, const float *bias) {
    const bool is_direct = desc->isa & NK_CONV_DIRECT;
    const int isa = nk_conv_resolve_isa(desc->isa & ~NK_CONV_DIRECT);
    conv_layer layer;
    if (isa < 0 || !nk_conv_describe(desc, &layer)) return NULL;
    nk_conv_plan *prepared = calloc(1, sizeof *prepared);
    if (!prepared) return NULL;
    if (!nk_conv_choose(&layer, isa, is_direct, &prepared->plan)) {
        free(prepared);
        return NULL;
    }
    prepared->kernels = nk_conv_kernels(prepared->plan.kernels);
    prepared->bytes = sizeof *prepared + prepared->plan.bytes;
    if (!nk_conv_pack_weights(prepared, weights, bias)) {
        nk_conv_plan_destroy(prepared);
        return NULL;
    }
    // Every thread of the caller computes its own products.
    if (!prepared->kernels) openblas_set_num_threads(1);
    return prepared;
}

void nk_conv_plan_destroy(nk_conv_plan *prepared) {
    if (!prepared) return;
    nk_conv_release_plan(&prepared->plan);
    free(prepared->weights);
    free(prepared->bias);
    free(prepared);
}

size_t nk_conv_plan_bytes(const nk_conv_plan *prepared) { return prepared->bytes; }
int32_t nk_conv_plan_isa(const nk_conv_plan *prepared) { return prepared->plan.isa; }
size_t nk_conv_scratch_bytes(const nk_conv_plan *prepared) { return prepared->plan.scratch_bytes; }
double nk_conv_plan_operations(const nk_conv_plan *prepared) { return nk_conv_operations_of(&prepared->plan); }
nk_conv_work nk_conv_plan_work(const nk_conv_plan *prepared) { return nk_conv_work_of(&prepared->plan); }

int32_t nk_conv_reads_bfloat16(int32_t cin, int32_t groups) { return nk_conv_fills_pairs(cin, groups); }

int32_t nk_conv_plan_stores_bfloat16(const nk_conv_plan *prepared) {
    return stores_halves(&prepared->plan);
}

const char *nk_conv_plan_method(const nk_conv_plan *prepared) { return nk_conv_method_of(&prepared->plan); }

int32_t nk_conv_chunk_count(const nk_conv_plan *prepared) {
    const conv_plan *plan = &prepared->plan;
    return plan->boxes[Z] * plan->boxes[Y] * plan->boxes[X] * plan->ranges * plan->spacing[Z] * plan->spacing[Y];
}
