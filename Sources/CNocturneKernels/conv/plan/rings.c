// The division of the grid into chunks for matrix tiles. A chunk has a long run of planes; their input is packed once, into
// a ring that stays in the second-level cache. All divisions are tried, and the cheapest is kept. Layer 2, plan.

#include "steps.h"

/// Bytes of the ring, and of ring and weights together, that fit in the second-level cache.
#define RING_BYTES (1400 * 1024.0)
#define CACHE_BYTES (1800 * 1024.0)
#define KEPT_BYTES (1000 * 1024.0)

/// Zeros between rows that are the border of both neighbours: the flattened plane has them once. Only for whole rows.
static int shared_border(const conv_plan *plan) {
    if (plan->box[X] < plan->grid[X] || plan->in_stride[X] != 1 || plan->spacing[X] != 1) return 0;
    const int before = -plan->lowest[X];
    const int after = plan->lowest[X] + plan->grid[X] + plan->span[X] - 1 - plan->layer.in[X];
    // The positions of the output must still differ.
    return max_int(0, min_int(min_int(before, after), plan->span[X] - 1));
}

void nk_conv_measure_ring(conv_plan *plan) {
    const int *stride = plan->in_stride, *span = plan->span;
    for (int a = 0; a < 3; a++) plan->packed[a] = (plan->box[a] - 1) * stride[a] + span[a];
    plan->ring = (min_int(plan->depth, plan->box[Z]) - 1) * stride[Z] + span[Z];
    plan->row_voxels = plan->box[X] + (span[X] - 1) / stride[X];
    plan->row = (size_t)(plan->row_voxels - shared_border(plan)) * CONV_BLOCK;
    plan->part = (size_t)(plan->box[Y] + (span[Y] - 1) / stride[Y]) * plan->row;
    plan->part_y = plan->part * stride[X];
    plan->plane = plan->part_y * stride[Y];
    // Planes one page apart would map to the same few cache lines.
    if (plan->plane % 1024 == 0) plan->plane += CONV_BLOCK;
    plan->block = plan->ring * plan->plane + CONV_BLOCK;
    plan->low = 0;
    if (plan->split) {
        plan->low = plan->block;
        plan->block *= SPLIT_PARTS;
    }
}

int nk_conv_groups_of_plane(const conv_plan *plan, int rows, int columns) {
    const int pitch = (int)(plan->row / CONV_BLOCK);
    if (has_whole_tiles(plan)) return ceil_div(rows, MATRIX_HALF / MATRIX_ROWS) * (plan->box[X] / MATRIX_ROWS);
    return ceil_div((rows - 1) * pitch + columns, MATRIX_HALF);
}

/// The costs that all divisions of a layer share: cycles of the products of a block for all units, and bytes of weights.
typedef struct ring_costs {
    double products, weights;
} ring_costs;

static ring_costs costs_of(const conv_plan *plan) {
    ring_costs costs = {0, 0};
    for (int u = 0; u < plan->unit_count; u++) {
        const double steps = (double)plan->phases[plan->units[u].phase].tap_count * plan->block_count;
        const double products = steps * products_of(plan);
        // 16 cycles a product, and 16 to 20 for each row of the end that does not find its place between products.
        const double end = 200 + (products < 24 ? (24 - products) * 80 : 0);
        costs.products += plan->units[u].vectors * (products * 6 * 16.5 + end);
        costs.weights += plan->units[u].vectors * steps * 1024 * parts_of(plan);
    }
    return costs;
}

/// Cycles of one chunk of the measured plan with a share of the units.
static double cycles_of_chunk(const conv_plan *plan, const ring_costs *costs, double share) {
    const double groups = nk_conv_groups_of_plane(plan, plan->box[Y], plan->box[X]), planes = plan->box[Z];
    const double steps = ceil_div(plan->box[Z], plan->depth), weights = costs->weights * share;
    const double ring = 4.0 * plan->block * plan->block_count;
    const double blocks = (int)(planes / 2) * groups + ((int)planes % 2) * ((int)groups + 1) / 2;
    double cycles = blocks * costs->products * share;
    if (ring > RING_BYTES) cycles *= 1 + 0.5 * (ring / RING_BYTES - 1);
    const double packed_groups = plan->groups * share < 1 ? 1 : plan->groups * share;
    const double lines = (double)plan->packed[Z] * plan->packed[Y] * plan->block_count * packed_groups;
    cycles += lines * (100 + 12.0 * plan->box[X] * plan->in_stride[X] * (plan->split ? 2 : 1));
    cycles += weights / 9 * (weights + ring > CACHE_BYTES ? steps : 1);
    return cycles + 5000;
}

/// Tries all depths and ranges for a box, and keeps the cheapest in `best` if it costs less than `cost`.
static void try_box(conv_plan cut, const ring_costs *costs, conv_plan *best, double *cost) {
    for (int a = 0; a < 3; a++) cut.boxes[a] = ceil_div(cut.grid[a], cut.box[a]);
    const double boxes = (double)cut.boxes[Z] * cut.boxes[Y] * cut.boxes[X] * cut.spacing[Z] * cut.spacing[Y];
    for (int depth = 2; depth < 2 * cut.box[Z] || depth == 2; depth *= 2) {
        cut.depth = min_int(depth, max_int(2, cut.box[Z]));
        nk_conv_measure_ring(&cut);
        for (int ranges = 1; ranges <= cut.unit_count && ranges <= 64; ranges++) {
            const int units = ceil_div(cut.unit_count, ranges);
            if (ranges > 1 && units == ceil_div(cut.unit_count, ranges - 1)) continue;
            cut.ranges = ceil_div(cut.unit_count, units);
            const double chunks = boxes * cut.ranges;
            const double cycles = cycles_of_chunk(&cut, costs, (double)units / cut.unit_count);
            const double total = cycles * cut.spacing[X] * chunks * nk_conv_imbalance(chunks);
            if (*cost >= 0 && total >= *cost) continue;
            *cost = total;
            *best = cut;
        }
    }
}

double nk_conv_choose_rings(conv_plan *plan) {
    const ring_costs costs = costs_of(plan);
    conv_plan cut = *plan;
    double cost = -1;
    for (int cut_x = 1; cut_x == 1 || ceil_div(plan->grid[X], cut_x) >= 64; cut_x++) {
        const int box_x = ceil_div(plan->grid[X], cut_x);
        cut.box[X] = cut_x == 1 ? box_x : (int)round_up((size_t)box_x, MATRIX_ROWS);
        for (int cut_z = 1; cut_z <= plan->grid[Z]; cut_z++) {
            cut.box[Z] = ceil_div(plan->grid[Z], cut_z);
            if (cut_z > 1 && cut.box[Z] == ceil_div(plan->grid[Z], cut_z - 1)) continue;
            for (int cut_y = 1; cut_y <= plan->grid[Y]; cut_y++) {
                cut.box[Y] = ceil_div(plan->grid[Y], cut_y);
                if (cut_y > 1 && cut.box[Y] == ceil_div(plan->grid[Y], cut_y - 1)) continue;
                try_box(cut, &costs, plan, &cost);
            }
        }
    }
    plan->pass_blocks = plan->block_count;
    plan->keeps_weights = costs.weights / plan->ranges <= KEPT_BYTES;
    return cost;
}
