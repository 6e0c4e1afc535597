// Plans of minimal filtering: its boxes, weights and memory.

#include "internal.h"

/// The part of the second-level cache available to the transformed inputs and products of a chunk.
#define POINT_BYTES (600 * 1024)
/// Weights of this size stay in it beside them.
#define KEPT_WEIGHT_BYTES (512 * 1024)

/// The transform from kernel taps to points, along one axis: the values of the taps' polynomial at 0, ±1 and infinity, and
/// at 0, ±3/4, ±3/2 and infinity, divided by the products of the differences of the points.
static const double transform_2[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
static const double transform_4[6][3] = {
    {64.0 / 81, 0, 0},
    {-128.0 / 243, -96.0 / 243, -72.0 / 243},
    {-128.0 / 243, 96.0 / 243, -72.0 / 243},
    {32.0 / 243, 48.0 / 243, 72.0 / 243},
    {32.0 / 243, -48.0 / 243, 72.0 / 243},
    {0, 0, 1},
};

int nk_conv_minimal_tile(const nk_conv_plan *plan) {
    if (plan->minimal_x == 2) return MINIMAL_2_2;
    return plan->minimal_y == 2 ? MINIMAL_2_4 : MINIMAL_4_4;
}

int nk_conv_minimal_points(const nk_conv_plan *plan) { return (plan->minimal_y + 2) * (plan->minimal_x + 2); }

int nk_conv_minimal_plane_blocks(const nk_conv_plan *plan) { return plan->pairs ? 2 : 1; }

/// Number of planes of products that justify one pass over the weights, when all input channels are available at once.
static int depth_of(int box_z, double tiles) {
    const int enough = (int)(128 / tiles) + 1;
    return min_int(box_z, enough);
}

int nk_conv_minimal_planes(const nk_conv_plan *plan, int size) {
    return (size - 1) * plan->in_stride[Z] + plan->span[Z];
}

/// Whether minimal filtering supports a layer.
static bool is_suitable(const nk_conv_plan *plan) {
    const nk_conv_desc *d = &plan->desc;
    // Matrix tiles multiply faster than their input could be transformed.
    if (!plan->kernels || plan->kernels->matrix || plan->depthwise || plan->distance != CONV_BLOCK) return false;
    if (d->transposed || d->groups != 1 || plan->fold > 1) return false;
    if (d->ky != 3 || d->kx != 3 || d->kz > 16) return false;
    if (d->stride_y != 1 || d->stride_x != 1) return false;
    return d->dilation_y == plan->spacing[Y] && d->dilation_x == plan->spacing[X];
}

/// The values that all divisions of a layer share.
typedef struct minimal_layer {
    const nk_conv_plan *plan;
    /// Tiles of the grid along y and x.
    int all_y, all_x;
    double points, plane_blocks, lanes, vectors, weight_bytes;
} minimal_layer;

/// A division: the box, in tiles, the units of a range, the blocks of a pass, and the number of planes of products that
/// are stored at a time.
typedef struct minimal_cut {
    int box_z, tiles_y, tiles_x, units, pass_blocks, depth;
    /// In cycles; negative if there is no division.
    double cost;
} minimal_cut;

/// The cycles of a chunk.
static double cycles_of(const minimal_layer *layer, const minimal_cut *cut) {
    const nk_conv_plan *plan = layer->plan;
    const double points = layer->points, lanes = layer->lanes, vectors = layer->vectors;
    const int box_z = cut->box_z, tiles_y = cut->tiles_y, tiles_x = cut->tiles_x;
    const double planes = nk_conv_minimal_planes(plan, box_z);
    const double tiles = (double)tiles_y * tiles_x;
    const double share = (double)cut->units / plan->unit_count;
    // Tiles that do not fill the registers load their weights more often.
    const int rows = tiles > plan->kernels->longest
        ? (int)(tiles / ceil_div((int)tiles, plan->kernels->longest))
        : (int)tiles * (tiles * 2 <= plan->kernels->longest && box_z > 1 ? 2 : 1);
    const double filling = 1 + 0.6 / rows;
    const double passes = ceil_div(plan->block_count, cut->pass_blocks);
    const double deep = (double)plan->desc.kz * words_of(plan) * plan->product_cost;
    double cycles = points * box_z * tiles * deep * vectors * share / 2 * filling;
    cycles += planes * tiles * layer->plane_blocks * points * 3 * 16 / lanes;
    const double row = 150 + (tiles_x * plan->minimal_x + 2) * 6.0 * 16 / lanes;
    cycles += planes * (tiles_y * plan->minimal_y + 2) * row * layer->plane_blocks;
    cycles += box_z * tiles * vectors * share * (points * 3 + plan->minimal_y * plan->minimal_x * 5);
    cycles += (passes - 1) * points * box_z * tiles * vectors * share * 2;
    // Weights that stay in the second-level cache are nearly free after the first pass over them.
    const double again = layer->weight_bytes <= KEPT_WEIGHT_BYTES ? 128 : 32;
    cycles += layer->weight_bytes * share / 16 + layer->weight_bytes * share * (ceil_div(box_z, cut->depth) - 1) / again;
    return cycles * plan->spacing[X] + 3000;
}

/// Chooses the planes of products for a cut with all blocks in one pass, or the blocks of a pass when the products of all
/// planes are kept, so that they fit in the cache. False if they do not.
static bool fit_cache(const minimal_layer *layer, bool in_one_pass, minimal_cut *cut) {
    const nk_conv_plan *plan = layer->plan;
    const double planes = nk_conv_minimal_planes(plan, cut->box_z);
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

/// Tries all divisions of the units into ranges for the box of `cut`, and keeps the cheapest in `best`.
static void try_ranges(const minimal_layer *layer, minimal_cut cut, minimal_cut *best) {
    const nk_conv_plan *plan = layer->plan;
    const double boxes = (double)ceil_div(plan->grid[Z], cut.box_z) * ceil_div(layer->all_y, cut.tiles_y) *
        ceil_div(layer->all_x, cut.tiles_x) * plan->spacing[Z] * plan->spacing[Y];
    for (int ranges = 1; ranges <= plan->unit_count && ranges <= 64; ranges++) {
        cut.units = ceil_div(plan->unit_count, ranges);
        if (ranges > 1 && cut.units == ceil_div(plan->unit_count, ranges - 1)) continue;
        for (int passes = 0; passes < 2; passes++) {
            if (!fit_cache(layer, passes == 0, &cut)) continue;
            cut.cost = cycles_of(layer, &cut) * nk_conv_imbalance(boxes * ranges) * boxes * ranges;
            if (best->cost < 0 || cut.cost < best->cost) *best = cut;
        }
    }
}

/// The cheapest of all divisions.
static minimal_cut choose_cut(const minimal_layer *layer) {
    const int grid_z = layer->plan->grid[Z];
    minimal_cut best = {.cost = -1};
    int last_z = 0;
    for (int cut_z = 1; cut_z <= grid_z; cut_z++) {
        const int box_z = ceil_div(grid_z, cut_z);
        if (box_z == last_z || box_z > 16) continue;
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

/// The cheapest division for the tile of the plan.
static minimal_cut cut_of(const nk_conv_plan *plan) {
    minimal_layer layer = {
        .plan = plan,
        .all_y = ceil_div(plan->grid[Y], plan->minimal_y),
        .all_x = ceil_div(plan->grid[X], plan->minimal_x),
        .points = nk_conv_minimal_points(plan),
        .plane_blocks = ceil_div(plan->desc.cin, CONV_BLOCK),
        .lanes = plan->kernels->lanes,
        .weight_bytes = (double)nk_conv_minimal_weight_count(plan) * sizeof(float),
    };
    for (int u = 0; u < plan->unit_count; u++) layer.vectors += plan->units[u].vectors;
    return choose_cut(&layer);
}

double nk_conv_minimal_choose(nk_conv_plan *plan) {
    if (!is_suitable(plan)) return -1;
    // Points that are rounded to bfloat16 allow no larger tile: its error would be too large.
    static const int outputs[][2] = {{2, 2}, {2, 4}, {4, 4}};
    const int first = plan->pairs ? MINIMAL_2_2 : MINIMAL_2_4, last = plan->pairs ? MINIMAL_2_2 : MINIMAL_4_4;
    minimal_cut best = {.cost = -1};
    int tile = first;
    for (int t = first; t <= last; t++) {
        plan->minimal_y = outputs[t][0];
        plan->minimal_x = outputs[t][1];
        const minimal_cut cut = cut_of(plan);
        if (cut.cost < 0 || (best.cost >= 0 && best.cost <= cut.cost)) continue;
        best = cut;
        tile = t;
    }
    if (best.cost < 0) return -1;
    plan->minimal_y = outputs[tile][0];
    plan->minimal_x = outputs[tile][1];
    const int box[] = {best.box_z, best.tiles_y * plan->minimal_y, best.tiles_x * plan->minimal_x};
    for (int a = 0; a < 3; a++) {
        plan->box[a] = box[a];
        plan->boxes[a] = ceil_div(plan->grid[a], plan->box[a]);
    }
    plan->ranges = ceil_div(plan->unit_count, best.units);
    plan->pass_blocks = best.pass_blocks;
    plan->depth = best.depth;
    return best.cost;
}

size_t nk_conv_minimal_weight_count(const nk_conv_plan *plan) {
    size_t vectors = 0;
    for (int u = 0; u < plan->unit_count; u++) vectors += (size_t)plan->units[u].vectors;
    return vectors * plan->kernels->lanes * (size_t)words_of(plan) * plan->desc.kz * nk_conv_minimal_points(plan);
}

/// Output channels whose weights are transformed together.
#define TRANSFORMED 32

/// The points of 3 × 3 taps along y and x, each `[output channel]`: first along y, then along x.
static void transform_taps(
    const nk_conv_plan *plan, const double taps[9][TRANSFORMED], double points[36][TRANSFORMED]
) {
    const double(*along_y)[3] = plan->minimal_y == 2 ? transform_2 : transform_4;
    const double(*along_x)[3] = plan->minimal_x == 2 ? transform_2 : transform_4;
    const int points_y = plan->minimal_y + 2, points_x = plan->minimal_x + 2;
    for (int j = 0; j < points_y; j++) {
        const double *y = along_y[j];
        double rows[3][TRANSFORMED];
        for (int k = 0; k < 3; k++) {
            for (int o = 0; o < TRANSFORMED; o++) {
                rows[k][o] = y[0] * taps[k][o] + y[1] * taps[3 + k][o] + y[2] * taps[6 + k][o];
            }
        }
        for (int i = 0; i < points_x; i++) {
            const double *x = along_x[i];
            double *to = points[j * points_x + i];
            for (int o = 0; o < TRANSFORMED; o++) to[o] = x[0] * rows[0][o] + x[1] * rows[1][o] + x[2] * rows[2][o];
        }
    }
}

/// `[unit][point][block of 16 words][z tap][word][output channel]`.
void nk_conv_minimal_pack_weights(nk_conv_plan *plan, const float *weights) {
    const int cin = plan->desc.cin, kz = plan->desc.kz, points = nk_conv_minimal_points(plan);
    const int channels_a_word = plan->pairs ? 2 : 1;
    size_t place = 0;
    for (int u = 0; u < plan->unit_count; u++) {
        conv_unit *unit = &plan->units[u];
        const size_t width = (size_t)unit->vectors * plan->kernels->lanes;
        unit->weights = place;
        const size_t point = (size_t)words_of(plan) * kz * width;
        for (int i = 0; i < cin; i++) {
            const int word = i / channels_a_word, block = word / CONV_BLOCK;
            const int words = block + 1 == plan->block_count ? plan->last_words : CONV_BLOCK;
            for (int z = 0; z < kz; z++) {
                float *to = plan->weights + place +
                    ((size_t)block * CONV_BLOCK * kz + (size_t)z * words + word % CONV_BLOCK) * width;
                for (int first = 0; first < unit->channels; first += TRANSFORMED) {
                    const int count = min_int(TRANSFORMED, unit->channels - first);
                    double taps[9][TRANSFORMED] = {0}, sums[36][TRANSFORMED];
                    for (int o = 0; o < count; o++) {
                        const float *kernel = weights + (((size_t)(unit->first + first + o) * cin + i) * kz + z) * 9;
                        for (int k = 0; k < 9; k++) taps[k][o] = plan->rounds ? nk_conv_rounded(kernel[k]) : kernel[k];
                    }
                    transform_taps(plan, taps, sums);
                    for (int p = 0; p < points; p++) {
                        float *of_point = to + p * point + first;
                        for (int o = 0; o < count; o++) {
                            if (plan->pairs) {
                                ((uint16_t *)(of_point + o))[i % 2] = nk_conv_bfloat16((float)sums[p][o]);
                            } else {
                                of_point[o] = (float)sums[p][o];
                            }
                        }
                    }
                }
            }
        }
        place += point * points;
    }
}

/// Floats of the packed planes, of the points of the inputs and of the products of one unit.
void nk_conv_minimal_measure(const nk_conv_plan *plan, size_t floats[3]) {
    const size_t tiles = (size_t)plan->box[Y] / plan->minimal_y * (plan->box[X] / plan->minimal_x);
    const size_t points = (size_t)nk_conv_minimal_points(plan), planes = nk_conv_minimal_planes(plan, plan->box[Z]);
    const size_t plane_block = round_up((size_t)plan->packed[Y] * plan->row, 16);
    floats[0] = plan->pass_blocks * nk_conv_minimal_plane_blocks(plan) * plane_block;
    floats[1] = nk_conv_minimal_stride(plan->pass_blocks * planes * tiles * CONV_BLOCK) * points;
    floats[2] = nk_conv_minimal_stride(plan->depth * tiles * 2 * plan->kernels->lanes) * points;
}

size_t nk_conv_minimal_scratch_floats(const nk_conv_plan *plan) {
    size_t floats[3];
    nk_conv_minimal_measure(plan, floats);
    const int units = plan->pass_blocks == plan->block_count ? 1 : ceil_div(plan->unit_count, plan->ranges);
    return floats[0] + floats[1] + floats[2] * units;
}
