// The division of the grid into chunks for sums of products: all boxes and ranges that differ are tried, and the cheapest
// is kept. Layer 2, plan.

#include "steps.h"

/// Bytes of packed input and weights that should stay in the second-level cache together.
#define CACHE_BYTES (640 * 1024)

void nk_conv_measure_packed(conv_plan *plan) {
    for (int a = 0; a < 3; a++) plan->packed[a] = (plan->box[a] - 1) * plan->in_stride[a] + plan->span[a];
    plan->row_voxels = plan->box[X] + (plan->span[X] - 1) / plan->in_stride[X];
    // Rows one page apart would map to the same few cache lines.
    if ((size_t)plan->row_voxels * plan->in_stride[X] * plan->distance % 1024 == 0) plan->row_voxels++;
    plan->row = (size_t)plan->row_voxels * plan->in_stride[X] * plan->distance;
    plan->part = (size_t)plan->row_voxels * plan->distance;
    plan->plane = (size_t)plan->packed[Y] * plan->row;
    plan->block = (size_t)plan->packed[Z] * plan->plane;
}

double nk_conv_imbalance(double chunks) {
    // For two threads and for sixteen: at the end the other threads wait for half a chunk on average, at worst for the
    // remainder of the division.
    const int threads[] = {2, 16};
    const double weights[] = {0.75, 0.25};
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        const double turns = chunks / threads[i];
        const double whole = (double)(int64_t)(turns + 0.999999);
        sum += weights[i] * (0.5 * whole / turns + 0.5 * (turns + 0.5) / turns);
    }
    return sum;
}

/// The costs that all divisions of a layer share.
typedef struct layer_costs {
    /// Cycles of products for one point of the grid, for all units together.
    double products;
    /// Bytes of weights: of all units, and of the largest unit's block of input channels.
    double all_weights, unit_weights;
} layer_costs;

static layer_costs costs_of(const conv_plan *plan) {
    const double lanes = has_vectors(plan) ? plan->set.lanes : 8;
    const double deep = plan->layer.depthwise ? 1 : plan->pairs ? words_of(plan) : plan->group_in;
    layer_costs costs = {0, 0, 0};
    for (int u = 0; u < plan->unit_count; u++) {
        const double t = plan->phases[plan->units[u].phase].tap_count;
        costs.products += (t * deep + 4) * plan->units[u].vectors / 2;
        costs.all_weights += t * deep * plan->units[u].vectors * lanes * 4;
        const double one = t * CONV_BLOCK * plan->units[u].vectors * lanes * 4;
        if (one > costs.unit_weights) costs.unit_weights = one;
    }
    if (plan->layer.depthwise) costs.unit_weights /= CONV_BLOCK;
    if (plan->fold > 1) {
        // Products are needed for the whole packed row, and then their sums.
        costs.products *= (plan->box[X] + plan->span[X] - 1.0) / plan->box[X];
        costs.products += plan->fold + 4;
    }
    return costs;
}

/// The cheapest division into ranges for the plan's box, whose packed memory has been measured. Costs are in cycles of
/// one core: products, copying the input, reading weights from memory, sums in the output between passes, and threads
/// that wait for the last chunk. Negative if the layer cannot be computed with this box.
static double cost_of_box(const conv_plan *plan, const layer_costs *costs, int *best_ranges) {
    const double block_bytes = (double)plan->block * 4;
    const double points = (double)plan->box[Z] * plan->box[Y] * plan->box[X];
    const double boxes = (double)ceil_div(plan->grid[Z], plan->box[Z]) * ceil_div(plan->grid[Y], plan->box[Y]) *
        plan->boxes[X] * plan->spacing[Z] * plan->spacing[Y];
    double blocks = (CACHE_BYTES - 64 * 1024) / (block_bytes + costs->unit_weights);
    double crowd = 1;
    if (blocks < 1) {
        crowd = (block_bytes + costs->unit_weights) / CACHE_BYTES;
        crowd = crowd > 1 ? 1 + 0.5 * (crowd - 1) : 1;
        blocks = 1;
    }
    // Folded products are not kept between passes.
    if (plan->fold > 1 && blocks < plan->block_count) return -1;
    const double passes = blocks >= plan->block_count ? 1 : ceil_div(plan->block_count, (int)blocks);
    double best = -1;
    for (int ranges = 1; ranges <= plan->unit_count && ranges <= 64; ranges++) {
        const int units = ceil_div(plan->unit_count, ranges);
        if (ranges > 1 && units == ceil_div(plan->unit_count, ranges - 1)) continue;
        const double share = (double)units / plan->unit_count;
        const double groups = plan->groups * share < 1 ? 1 : plan->groups * share;
        double cycles = points * costs->products * share * crowd;
        cycles += (double)plan->block * plan->block_count * groups / 16 * 6;
        cycles += 150.0 * plan->packed[Z] * plan->packed[Y] * plan->block_count * groups;
        cycles += costs->all_weights * share / 16;
        cycles += (passes - 1) * points * plan->unit_count * share * 8;
        cycles = cycles * plan->spacing[X] + 3000;
        const double chunks = boxes * ranges;
        const double cost = cycles * chunks * nk_conv_imbalance(chunks);
        if (best < 0 || cost < best) {
            best = cost;
            *best_ranges = ranges;
        }
    }
    return best;
}

double nk_conv_choose_boxes(conv_plan *plan) {
    const int *grid = plan->grid;
    // Long rows for folded layers, whose products cover the border of each row.
    plan->boxes[X] = ceil_div(grid[X], plan->fold > 1 ? 256 : 112);
    plan->box[X] = ceil_div(grid[X], plan->boxes[X]);
    const layer_costs costs = costs_of(plan);

    double best = -1;
    int best_box[2] = {1, 1}, best_ranges = 1, last_z = 0;
    for (int cut_z = 1; cut_z <= grid[Z]; cut_z++) {
        const int box_z = ceil_div(grid[Z], cut_z);
        if (box_z == last_z || box_z > 16) continue;
        last_z = box_z;
        int last_y = 0;
        for (int cut_y = 1; cut_y <= grid[Y]; cut_y++) {
            const int box_y = ceil_div(grid[Y], cut_y);
            if (box_y == last_y || box_y > 64) continue;
            last_y = box_y;
            plan->box[Z] = box_z;
            plan->box[Y] = box_y;
            nk_conv_measure_packed(plan);
            int ranges = 1;
            const double cost = cost_of_box(plan, &costs, &ranges);
            if (cost < 0 || (best >= 0 && cost >= best)) continue;
            best = cost;
            best_box[0] = box_z;
            best_box[1] = box_y;
            best_ranges = ranges;
        }
    }
    plan->box[Z] = best_box[0];
    plan->box[Y] = best_box[1];
    for (int a = 0; a < 2; a++) plan->boxes[a] = ceil_div(grid[a], plan->box[a]);
    const int per_range = ceil_div(plan->unit_count, best_ranges);
    plan->ranges = ceil_div(plan->unit_count, per_range);
    nk_conv_measure_packed(plan);
    double blocks = (CACHE_BYTES - 64 * 1024) / ((double)plan->block * 4 + costs.unit_weights);
    plan->pass_blocks = blocks < 1 ? 1 : blocks > plan->block_count ? plan->block_count : (int)blocks;
    plan->pass_blocks = ceil_div(plan->block_count, ceil_div(plan->block_count, plan->pass_blocks));
    return best;
}
