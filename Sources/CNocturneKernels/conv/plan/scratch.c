// Scratch memory of a chunk, which follows from the method and the box of a plan. Layer 2, plan.

#include "minimal.h"
#include "steps.h"

/// An output of this size is no longer in the caches when the next layer reads it.
#define STREAMED_BYTES (32 << 20)

static bool streams(const conv_plan *plan) {
    const conv_layer *layer = &plan->layer;
    if (plan->set.lanes != CONV_BLOCK || layer->depthwise || plan->fold > 1) return false;
    if (plan->groups > 1 || layer->cout % CONV_BLOCK != 0) return false;
    if (!plan->minimal[X] && plan->pass_blocks < plan->block_count) return false;
    // Matrix tiles store one line of a voxel at a time; past the caches that is slow where the lines are far apart.
    if (plan->set.matrix && layer->cout > 4 * CONV_BLOCK) return false;
    return 4.0 * layer->out[Z] * layer->out[Y] * layer->out[X] * layer->cout >= STREAMED_BYTES;
}

static conv_scratch scratch_of_minimal(const conv_plan *plan) {
    const size_t tiles = (size_t)plan->box[Y] / plan->minimal[Y] * (plan->box[X] / plan->minimal[X]);
    const size_t points = (size_t)minimal_points(plan);
    const int planes = minimal_planes(plan, plan->minimal[Z] > 1 ? plan->depth : plan->box[Z]);
    const size_t width = 2 * (size_t)plan->set.lanes;
    conv_scratch scratch = {
        .packed = plan->pass_blocks * minimal_plane_blocks(plan) * minimal_plane_block(plan),
        .points = minimal_stride(plan->pass_blocks * (size_t)planes * tiles * CONV_BLOCK) * points,
        .unit_products = minimal_stride(plan->depth * tiles * width) * points,
    };
    if (plan->minimal[Z] > 1) {
        const size_t rows = (size_t)ceil_div(plan->depth, plan->minimal[Z]) * tiles;
        const size_t points_z = (size_t)minimal_points_z(plan);
        scratch.z_points = minimal_stride(plan->pass_blocks * rows * CONV_BLOCK) * points_z;
        scratch.z_products = minimal_stride(rows * width) * points_z;
    }
    if (plan->streams) scratch.rows = (size_t)plan->minimal[Y] * plan->box[X] * width;
    return scratch;
}

/// The baseline gathers as many rows of the grid as their taps fill about a megabyte, and at least 64 points.
static void measure_gathered(conv_plan *plan) {
    size_t taps = 1;
    for (int p = 0; p < plan->phase_count; p++) {
        if ((size_t)plan->phases[p].tap_count > taps) taps = (size_t)plan->phases[p].tap_count;
    }
    const size_t depth = taps * plan->group_in;
    const size_t points = 256 * 1024 / depth < 64 ? 64 : 256 * 1024 / depth > 1024 ? 1024 : 256 * 1024 / depth;
    plan->rows = max_int(1, min_int((int)(points / plan->box[X]), plan->box[Z] * plan->box[Y]));
    plan->scratch.gathered = round_up((size_t)plan->rows * plan->box[X] * depth, 16);
    plan->scratch.products = round_up((size_t)plan->rows * plan->box[X] * plan->group_out, 16);
}

static void measure_direct(conv_plan *plan) {
    plan->scratch.packed = round_up((size_t)plan->pass_blocks * plan->block, 16);
    if (!has_vectors(plan)) {
        if (!plan->layer.depthwise) measure_gathered(plan);
        return;
    }
    const size_t lanes = (size_t)plan->set.lanes;
    if (plan->fold > 1) {
        const size_t width = (size_t)plan->units[0].vectors * lanes;
        // Loads of the last tap read up to a vector beyond the row.
        plan->scratch.products = (size_t)(plan->box[X] + plan->span[X] - 1) * width + 2 * lanes;
    }
    if (plan->streams || stores_halves(plan)) plan->scratch.rows = LONGEST_TILE_ROWS * (size_t)plan->box[X] * 2 * lanes;
}

static void measure_ring(conv_plan *plan) {
    size_t taps = 0;
    for (int p = 0; p < plan->phase_count; p++) {
        if ((size_t)plan->phases[p].tap_count > taps) taps = (size_t)plan->phases[p].tap_count;
    }
    taps *= (size_t)products_of(plan);
    const size_t groups = (size_t)nk_conv_groups_of_plane(plan, plan->box[Y], plan->box[X]) + 2;
    // Blocks read beyond the last row.
    plan->scratch.packed = plan->block_count * plan->block + 4 * plan->row + MATRIX_BLOCK * CONV_BLOCK;
    plan->scratch.products = MATRIX_BLOCK * CONV_BLOCK * 3 / 2;
    plan->scratch.taps = taps;
    plan->scratch.rows = round_up(groups * MATRIX_HALF + 3 * taps * sizeof(ptrdiff_t) / sizeof(float), 16);
}

void nk_conv_measure_scratch(conv_plan *plan) {
    plan->streams = streams(plan);
    size_t units = 1;
    if (plan->minimal[X]) {
        plan->scratch = scratch_of_minimal(plan);
        // Those of all units of a range are kept while another one is computed.
        const bool keeps_products = plan->minimal[Z] > 1 || plan->pass_blocks < plan->block_count;
        if (keeps_products) units = (size_t)ceil_div(plan->unit_count, plan->ranges);
    } else if (plan->set.matrix) {
        measure_ring(plan);
    } else {
        measure_direct(plan);
    }
    const conv_scratch *s = &plan->scratch;
    size_t floats = s->packed + s->points + s->unit_products * units + s->z_points + s->z_products;
    floats += s->gathered + s->products + s->rows;
    // Statistics, then space to align.
    plan->scratch_bytes = floats * sizeof(float) + 2 * ((size_t)plan->layer.cout + 64) * sizeof(double) + 64;
}
