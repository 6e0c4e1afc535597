// The tile and the division into chunks for minimal filtering: all tiles, boxes, ranges and passes that differ are tried,
// and the cheapest is kept. Costs are estimates in cycles of one core. Layer 2, plan.

#include "minimal.h"
#include "steps.h"

/// The part of the second-level cache available to the transformed inputs and products of a chunk.
#define POINT_BYTES (600 * 1024)
/// The same where weights are too large to stay in that cache.
#define DEEP_POINT_BYTES (840 * 1024)
/// Weights of this size stay in it with them.
#define KEPT_WEIGHT_BYTES (512 * 1024)
/// Larger weights come from memory, again and again.
#define SHARED_WEIGHT_BYTES (32 * 1024 * 1024)

/// Number of planes of products that justify one pass over the weights, when all input channels are available at once.
static int depth_of(int box_z, double tiles) {
    const int enough = (int)(128 / tiles) + 1;
    return min_int(box_z, enough);
}

/// Whether minimal filtering supports a layer.
static bool is_suitable(const conv_plan *plan) {
    const conv_layer *layer = &plan->layer;
    // Matrix tiles multiply faster than their input could be transformed.
    if (!has_vectors(plan) || plan->set.matrix || plan->distance != CONV_BLOCK) return false;
    if (layer->transposed || layer->groups != 1 || plan->fold > 1 || layer->kernel[Z] > 16) return false;
    for (int a = Y; a <= X; a++) {
        if (layer->kernel[a] != 3 || layer->stride[a] != 1 || layer->dilation[a] != plan->spacing[a]) return false;
    }
    return true;
}

/// Whether minimal filtering along z, too, supports a layer that the others support.
static bool is_suitable_along_z(const conv_plan *plan) {
    const conv_layer *layer = &plan->layer;
    return plan->set.along_z && layer->kernel[Z] == 3 && layer->stride[Z] == 1 && layer->dilation[Z] == plan->spacing[Z];
}

/// The values that all divisions of a layer share.
typedef struct minimal_layer {
    const conv_plan *plan;
    /// Tiles of the grid along y and x.
    int all_y, all_x;
    double points, points_z, plane_blocks, lanes, vectors, weight_bytes;
} minimal_layer;

/// A division: the box, in tiles, the units of a range, the blocks of a pass, and the number of planes of products that
/// are stored at a time.
typedef struct minimal_cut {
    int box_z, tiles_y, tiles_x, units, pass_blocks, depth;
    /// In cycles; negative if there is no division.
    double cost;
} minimal_cut;

/// The cycles of a chunk for packing and for the transforms along y and x, forth and back.
static double cycles_of_transforms(const minimal_layer *layer, const minimal_cut *cut) {
    const conv_plan *plan = layer->plan;
    const double planes = minimal_planes(plan, cut->box_z), tiles = (double)cut->tiles_y * cut->tiles_x;
    const double row = 150 + (cut->tiles_x * plan->minimal[X] + 2) * 6.0 * 16 / layer->lanes;
    double cycles = planes * tiles * layer->plane_blocks * layer->points * 3 * 16 / layer->lanes;
    cycles += planes * (cut->tiles_y * plan->minimal[Y] + 2) * row * layer->plane_blocks;
    const double back = layer->points * 3 + plan->minimal[Y] * plan->minimal[X] * 5;
    return cycles + cut->box_z * tiles * layer->vectors * cut->units / plan->unit_count * back;
}

/// The cycles of a chunk whose tiles have several outputs along z.
static double cycles_along_z(const minimal_layer *layer, const minimal_cut *cut) {
    const conv_plan *plan = layer->plan;
    const double share = (double)cut->units / plan->unit_count, vectors = layer->vectors * share;
    const double rows = ceil_div(cut->box_z, plan->minimal[Z]) * (double)cut->tiles_y * cut->tiles_x;
    const double steps = ceil_div(cut->box_z, cut->depth), passes = ceil_div(plan->block_count, cut->pass_blocks);
    const double parts = steps * ceil_div((int)(rows / steps), plan->set.longest / 2);
    const double columns = layer->points * layer->points_z;
    // Products, and what each of their parts takes besides.
    double cycles = columns * rows * words_of(plan) * vectors / 2 * (1 + 0.6 * parts / rows);
    cycles += columns * passes * vectors * (1.5 * rows + 10 * parts);
    // Transforms along z, forth and back.
    cycles += layer->points * rows * (layer->plane_blocks * 20 * 16 / layer->lanes + vectors * (24 * passes - 10));
    cycles += cycles_of_transforms(layer, cut);
    cycles += steps * layer->weight_bytes * share / (layer->weight_bytes <= SHARED_WEIGHT_BYTES ? 32 : 10);
    return cycles * plan->spacing[X] + 3000;
}

/// The cycles of a chunk whose tiles have one output along z.
static double cycles_of(const minimal_layer *layer, const minimal_cut *cut) {
    const conv_plan *plan = layer->plan;
    const double share = (double)cut->units / plan->unit_count, vectors = layer->vectors * share;
    const int tiles = cut->tiles_y * cut->tiles_x, longest = plan->set.longest;
    // Tiles that do not fill the registers load their weights more often.
    const int rows = tiles > longest ? tiles / ceil_div(tiles, longest)
                                     : tiles * (tiles * 2 <= longest && cut->box_z > 1 ? 2 : 1);
    const double passes = ceil_div(plan->block_count, cut->pass_blocks), columns = layer->points * cut->box_z * tiles;
    const double deep = (double)plan->layer.kernel[Z] * words_of(plan);
    double cycles = columns * deep * vectors / 2 * (1 + 0.6 / rows) + (passes - 1) * columns * vectors * 8;
    cycles += cycles_of_transforms(layer, cut);
    // Weights that stay in the second-level cache are nearly free after the first pass over them.
    const double again = layer->weight_bytes <= KEPT_WEIGHT_BYTES ? 128 : 32, times = ceil_div(cut->box_z, cut->depth);
    cycles += layer->weight_bytes * share / 32 + layer->weight_bytes * share * (times - 1) / again;
    return cycles * plan->spacing[X] + 3000;
}

/// Chooses the planes of products for a cut with all blocks in one pass, or the blocks of a pass when the products of all
/// planes are kept, so that they fit in the cache. False if they do not.
static bool fit_cache(const minimal_layer *layer, bool in_one_pass, minimal_cut *cut) {
    const conv_plan *plan = layer->plan;
    const double planes = minimal_planes(plan, cut->box_z);
    const double tiles = (double)cut->tiles_y * cut->tiles_x;
    const double block_bytes = planes * tiles * layer->points * CONV_BLOCK * 4;
    const double plane_bytes = layer->points * tiles * 2 * layer->lanes * 4;
    if (in_one_pass) {
        cut->pass_blocks = plan->block_count;
        const int fitting = (int)((POINT_BYTES - block_bytes * plan->block_count) / plane_bytes);
        cut->depth = min_int(depth_of(cut->box_z, tiles), fitting);
        return cut->depth >= 1;
    }
    cut->depth = cut->box_z;
    cut->pass_blocks = (int)((POINT_BYTES - plane_bytes * cut->depth * cut->units) / block_bytes);
    if (cut->pass_blocks < 1) return false;
    cut->pass_blocks = min_int(cut->pass_blocks, plan->block_count);
    cut->pass_blocks = ceil_div(plan->block_count, ceil_div(plan->block_count, cut->pass_blocks));
    return true;
}

/// The same with several outputs along z, for the planes of `cut` that are computed at a time.
static bool fit_cache_along_z(const minimal_layer *layer, bool in_one_pass, minimal_cut *cut) {
    const conv_plan *plan = layer->plan;
    const double tiles = (double)cut->tiles_y * cut->tiles_x, rows = cut->depth / plan->minimal[Z] * tiles;
    const double sums = (layer->points * cut->depth * cut->units * tiles + layer->points_z * rows) * 2 * layer->lanes * 4;
    const double block = (layer->points * (cut->depth + 2) * tiles + layer->points_z * rows) * CONV_BLOCK * 4;
    cut->pass_blocks = (int)((DEEP_POINT_BYTES - sums) / block);
    if (cut->pass_blocks < 1) return false;
    if (in_one_pass) {
        if (cut->pass_blocks < plan->block_count) return false;
        cut->pass_blocks = plan->block_count;
        return true;
    }
    // Planes that have been transformed are not kept from step to step.
    if (cut->depth < cut->box_z) return false;
    cut->pass_blocks = min_int(cut->pass_blocks, plan->block_count);
    cut->pass_blocks = ceil_div(plan->block_count, ceil_div(plan->block_count, cut->pass_blocks));
    return true;
}

/// Tries all divisions of the units into ranges for the box of `cut`, and keeps the cheapest in `best`.
static void try_ranges(const minimal_layer *layer, minimal_cut cut, minimal_cut *best) {
    const conv_plan *plan = layer->plan;
    const bool deep = plan->minimal[Z] > 1;
    const double boxes = (double)ceil_div(plan->grid[Z], cut.box_z) * ceil_div(layer->all_y, cut.tiles_y) *
        ceil_div(layer->all_x, cut.tiles_x) * plan->spacing[Z] * plan->spacing[Y];
    for (int ranges = 1; ranges <= plan->unit_count && ranges <= 64; ranges++) {
        cut.units = ceil_div(plan->unit_count, ranges);
        if (ranges > 1 && cut.units == ceil_div(plan->unit_count, ranges - 1)) continue;
        for (int passes = 0; passes < 2; passes++) {
            for (int depth = deep ? plan->minimal[Z] : LARGEST_DEPTH; depth <= LARGEST_DEPTH; depth += plan->minimal[Z]) {
                cut.depth = depth;
                const bool fits = deep ? fit_cache_along_z(layer, passes == 0, &cut) : fit_cache(layer, passes == 0, &cut);
                if (!fits) continue;
                const double cycles = deep ? cycles_along_z(layer, &cut) : cycles_of(layer, &cut);
                cut.cost = cycles * nk_conv_imbalance(boxes * ranges) * boxes * ranges;
                if (best->cost < 0 || cut.cost < best->cost) *best = cut;
            }
        }
    }
}

/// The cheapest of all divisions.
static minimal_cut choose_cut(const minimal_layer *layer) {
    const int grid_z = layer->plan->grid[Z], largest_z = layer->plan->minimal[Z] > 1 ? 24 : 16;
    minimal_cut best = {.cost = -1};
    int last_z = 0;
    for (int cut_z = 1; cut_z <= grid_z; cut_z++) {
        const int box_z = ceil_div(grid_z, cut_z);
        if (box_z == last_z || box_z > largest_z) continue;
        last_z = box_z;
        int last_y = 0;
        for (int cut_y = 1; cut_y <= layer->all_y; cut_y++) {
            const int tiles_y = ceil_div(layer->all_y, cut_y);
            if (tiles_y == last_y || tiles_y > 16) continue;
            last_y = tiles_y;
            int last_x = 0;
            for (int cut_x = 1; cut_x <= layer->all_x; cut_x++) {
                const int tiles_x = ceil_div(layer->all_x, cut_x);
                if (tiles_x == last_x || tiles_x > 32) continue;
                last_x = tiles_x;
                try_ranges(layer, (minimal_cut){.box_z = box_z, .tiles_y = tiles_y, .tiles_x = tiles_x}, &best);
            }
        }
    }
    return best;
}

/// Floats of the packed weights.
static size_t weight_count(const conv_plan *plan) {
    size_t count = 0;
    for (int u = 0; u < plan->unit_count; u++) count += minimal_unit_weights(plan, &plan->units[u]);
    return count;
}

/// The cheapest division for the tile of the plan.
static minimal_cut cut_of(const conv_plan *plan) {
    minimal_layer layer = {
        .plan = plan,
        .all_y = ceil_div(plan->grid[Y], plan->minimal[Y]),
        .all_x = ceil_div(plan->grid[X], plan->minimal[X]),
        .points = minimal_points(plan),
        .points_z = minimal_points_z(plan),
        .plane_blocks = ceil_div(plan->layer.cin, CONV_BLOCK),
        .lanes = plan->set.lanes,
        .weight_bytes = (double)weight_count(plan) * sizeof(float),
    };
    for (int u = 0; u < plan->unit_count; u++) layer.vectors += plan->units[u].vectors;
    return choose_cut(&layer);
}

/// `outputs`: of a tile along y and x.
static void set_tile(conv_plan *plan, const int outputs[2], int outputs_z) {
    plan->minimal[Y] = outputs[0];
    plan->minimal[X] = outputs[1];
    plan->minimal[Z] = outputs_z;
}

double nk_conv_choose_minimal(conv_plan *plan) {
    if (!is_suitable(plan)) return -1;
    // Points that are rounded to bfloat16 allow no larger tile: its error would be too large.
    static const int outputs[][2] = {{2, 2}, {2, 4}, {4, 4}};
    const int first = plan->pairs ? MINIMAL_2_2 : MINIMAL_2_4, last = plan->pairs ? MINIMAL_2_2 : MINIMAL_4_4;
    const int tries = is_suitable_along_z(plan) ? last + 1 : last;
    minimal_cut best = {.cost = -1};
    int tile = first;
    for (int t = first; t <= tries; t++) {
        set_tile(plan, outputs[min_int(t, last)], t > last ? 4 : 1);
        minimal_cut cut = cut_of(plan);
        if (cut.cost < 0) continue;
        cut.cost += cost_of_weights(plan, weight_count(plan));
        if (best.cost >= 0 && best.cost <= cut.cost) continue;
        best = cut;
        tile = t;
    }
    if (best.cost < 0) return -1;
    set_tile(plan, outputs[min_int(tile, last)], tile > last ? 4 : 1);
    const int box[] = {best.box_z, best.tiles_y * plan->minimal[Y], best.tiles_x * plan->minimal[X]};
    for (int a = 0; a < 3; a++) {
        plan->box[a] = box[a];
        plan->boxes[a] = ceil_div(plan->grid[a], plan->box[a]);
    }
    plan->ranges = ceil_div(plan->unit_count, best.units);
    plan->pass_blocks = best.pass_blocks;
    plan->depth = best.depth;
    nk_conv_measure_packed(plan);
    return best.cost;
}

void nk_conv_place_minimal_weights(conv_plan *plan) {
    plan->weight_count = 0;
    for (int u = 0; u < plan->unit_count; u++) {
        plan->units[u].weights = plan->weight_count;
        plan->weight_count += minimal_unit_weights(plan, &plan->units[u]);
    }
}
