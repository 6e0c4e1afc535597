// Slabs: the chunks of a range along z, and the planes that they read and write. Layer 3, execution.

#include "../plan/minimal.h"
#include "prepared.h"

int32_t nk_conv_slab_count(const nk_conv_plan *prepared) {
    const conv_plan *plan = &prepared->plan;
    // Sub-grids are interleaved along z; a ring of planes moves along all of it.
    return plan->spacing[Z] > 1 || plan->spacing[Y] > 1 || plan->set.matrix ? 1 : plan->boxes[Z];
}

nk_conv_slab nk_conv_slab_of(const nk_conv_plan *prepared, int32_t slab) {
    const conv_plan *plan = &prepared->plan;
    const int32_t count = nk_conv_slab_count(prepared), chunks = nk_conv_chunk_count(prepared) / count;
    nk_conv_slab result = {
        .first_chunk = slab * chunks,
        .chunk_count = chunks,
        .read_to = plan->layer.in[Z],
        .written_to = plan->layer.out[Z],
    };
    if (count == 1) return result;
    const int first = slab * plan->box[Z], size = min_int(plan->box[Z], plan->grid[Z] - first);
    const int low = first * plan->in_stride[Z] + plan->lowest[Z];
    result.read_from = min_int(max_int(low, 0), plan->layer.in[Z]);
    result.read_to = min_int(max_int(low + minimal_planes(plan, size), result.read_from), plan->layer.in[Z]);
    result.written_from = first * plan->out_stride[Z];
    result.written_to = min_int((first + size) * plan->out_stride[Z], plan->layer.out[Z]);
    return result;
}
