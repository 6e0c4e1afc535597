// How the grid of a plan is cut into chunks.

#include "conv_internal.h"

/// Bytes of packed input and weights that should stay in the second-level cache together.
#define CACHE_BYTES (640 * 1024)

/// The sizes of packed memory that follow from a box.
void nk_conv_measure_packed(nk_conv_plan *plan) {
    for (int a = 0; a < 3; a++) plan->packed[a] = (plan->box[a] - 1) * plan->in_stride[a] + plan->span[a];
    plan->row_voxels = plan->box[X] + (plan->span[X] - 1) / plan->in_stride[X];
    // Rows a page apart would meet in the same few lines of the cache.
    if ((size_t)plan->row_voxels * plan->in_stride[X] * plan->distance % 1024 == 0) plan->row_voxels++;
    plan->row = (size_t)plan->row_voxels * plan->in_stride[X] * plan->distance;
    plan->block = (size_t)plan->packed[Z] * plan->packed[Y] * plan->row;
    plan->low = 0;
    if (plan->split) {
        plan->low = plan->block;
        plan->block *= 2;
    }
}

double nk_conv_waiting(double chunks) {
    // Two threads and sixteen: on average the others stand half a chunk's time at the end, at worst as division has it.
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

/// Cuts the grid into boxes and the units into ranges. What is weighed, in cycles of one core: products, copying the
/// input, reading weights from far, resting sums, and threads that wait for the last chunk. Returns the sum.
double nk_conv_choose_boxes(nk_conv_plan *plan) {
    const int *grid = plan->grid;
    plan->boxes[X] = ceil_div(grid[X], 112);
    plan->box[X] = ceil_div(grid[X], plan->boxes[X]);

    const double lanes = plan->kernels ? plan->kernels->lanes : 8;
    const double deep = plan->depthwise ? 1 : plan->pairs ? words_of(plan) : plan->group_in;
    // Cycles of products for one point of the grid, all units together.
    double products = 0, unit_weights = 0, all_weights = 0;
    for (int u = 0; u < plan->unit_count; u++) {
        const double t = plan->phases[plan->units[u].phase].tap_count;
        products += (t * deep * plan->product_cost + 4) * plan->units[u].vectors / 2;
        all_weights += t * deep * plan->units[u].vectors * lanes * 4;
        const double one = t * CONV_BLOCK * plan->units[u].vectors * lanes * 4;
        if (one > unit_weights) unit_weights = one;
    }
    if (plan->depthwise) unit_weights /= CONV_BLOCK;

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
            const double block_bytes = (double)plan->block * 4;
            const double points = (double)box_z * box_y * plan->box[X];
            const double boxes =
                (double)ceil_div(grid[Z], box_z) * ceil_div(grid[Y], box_y) * plan->boxes[X];
            double go = (CACHE_BYTES - 64 * 1024) / (block_bytes + unit_weights);
            double crowd = 1;
            if (go < 1) {
                crowd = (block_bytes + unit_weights) / CACHE_BYTES;
                crowd = crowd > 1 ? 1 + 0.5 * (crowd - 1) : 1;
                go = 1;
            }
            const double goes = go >= plan->block_count ? 1 : (double)plan->block_count / go;
            for (int ranges = 1; ranges <= plan->unit_count && ranges <= 64; ranges++) {
                const int units = ceil_div(plan->unit_count, ranges);
                if (ranges > 1 && units == ceil_div(plan->unit_count, ranges - 1)) continue;
                const double share = (double)units / plan->unit_count;
                const double groups = plan->groups * share < 1 ? 1 : plan->groups * share;
                double cycles = points * products * share * crowd;
                cycles += (double)plan->block * plan->block_count * groups / 16 * 6;
                cycles += 150.0 * plan->packed[Z] * plan->packed[Y] * plan->block_count * groups;
                cycles += all_weights * share / 16;
                cycles += (goes - 1) * points * plan->unit_count * share * 8;
                cycles += 3000;
                const double chunks = boxes * ranges;
                const double cost = cycles * chunks * nk_conv_waiting(chunks);
                if (best < 0 || cost < best) {
                    best = cost;
                    best_box[0] = box_z;
                    best_box[1] = box_y;
                    best_ranges = ranges;
                }
            }
        }
    }
    plan->box[Z] = best_box[0];
    plan->box[Y] = best_box[1];
    for (int a = 0; a < 2; a++) plan->boxes[a] = ceil_div(grid[a], plan->box[a]);
    const int per_range = ceil_div(plan->unit_count, best_ranges);
    plan->ranges = ceil_div(plan->unit_count, per_range);
    nk_conv_measure_packed(plan);
    double go = (CACHE_BYTES - 64 * 1024) / ((double)plan->block * 4 + unit_weights);
    plan->go = go < 1 ? 1 : go > plan->block_count ? plan->block_count : (int)go;
    plan->go = ceil_div(plan->block_count, ceil_div(plan->block_count, plan->go));
    return best;
}
