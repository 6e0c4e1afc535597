// Minimal filtering (Winograd) along y and x: a tile of 2 × 4 outputs of a 3 × 3 kernel from 4 × 6 = 24 products of
// transformed inputs and weights instead of 72. Taps along z stay sums, so a 3 × 3 × 3 convolution needs a third of the
// multiplications. A chunk transforms its input plane by plane, multiplies point by point with the same register tiles
// as the direct form (a tile is a voxel there, a tap along z a tap), and transforms back on the way out. Tiles of 4 × 4
// would save another quarter but err three times as much; these err hardly more than the plain sum.

#include "conv_internal.h"

/// What the transformed inputs and products of a chunk may take of the second-level cache.
#define POINT_BYTES (600 * 1024)

/// How the taps of the kernel become points, along y and along x.
static const double transform_2[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
static const double transform_4[6][3] = {
    {1.0 / 4, 0, 0},
    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
    {1.0 / 24, 1.0 / 12, 1.0 / 6},
    {1.0 / 24, -1.0 / 12, 1.0 / 6},
    {0, 0, 1},
};

static int points_of(const nk_conv_plan *plan) { return POINTS_Y * (plan->minimal_x + 2); }

/// Channels of a packed plane's block, and how many of those make up a block of words.
static int plane_blocks(const nk_conv_plan *plan) { return plan->pairs ? 2 : 1; }

static int plane_count(const nk_conv_plan *plan, int size) { return (size - 1) * plan->in_stride[Z] + plan->span[Z]; }

double nk_conv_minimal_choose(nk_conv_plan *plan) {
    const nk_conv_desc *d = &plan->desc;
    if (!plan->kernels || plan->split || d->transposed || plan->depthwise || d->groups != 1 || plan->distance != CONV_BLOCK) return -1;
    if (d->ky != 3 || d->kx != 3 || d->kz > 16) return -1;
    if (d->stride_y != 1 || d->stride_x != 1 || d->dilation_y != 1 || d->dilation_x != 1) return -1;
    plan->minimal_x = plan->pairs ? 2 : 4;
    const double weight_bytes = (double)nk_conv_minimal_weight_count(plan) * sizeof(float);

    const int *grid = plan->grid;
    const int all_y = ceil_div(grid[Y], MINIMAL_Y), all_x = ceil_div(grid[X], plan->minimal_x);
    const double points = points_of(plan);
    const double plane_block_count = ceil_div(d->cin, CONV_BLOCK);
    const double lanes = plan->kernels->lanes;
    double vectors = 0;
    for (int u = 0; u < plan->unit_count; u++) vectors += plan->units[u].vectors;

    double best = -1;
    int best_box[3] = {1, 1, 1}, best_ranges = 1, best_go = 1;
    int last_z = 0;
    for (int cut_z = 1; cut_z <= grid[Z]; cut_z++) {
        const int box_z = ceil_div(grid[Z], cut_z);
        if (box_z == last_z || box_z > 16) continue;
        last_z = box_z;
        const double planes = plane_count(plan, box_z);
        int last_y = 0;
        for (int cut_y = 1; cut_y <= all_y; cut_y++) {
            const int tiles_y = ceil_div(all_y, cut_y);
            if (tiles_y == last_y || tiles_y > 16) continue;
            last_y = tiles_y;
            int last_x = 0;
            for (int cut_x = 1; cut_x <= all_x; cut_x++) {
                const int tiles_x = ceil_div(all_x, cut_x);
                if (tiles_x == last_x || tiles_x > 32) continue;
                last_x = tiles_x;
                const double tiles = (double)tiles_y * tiles_x;
                const double boxes =
                    (double)ceil_div(grid[Z], box_z) * ceil_div(all_y, tiles_y) * ceil_div(all_x, tiles_x);
                const double block_bytes = planes * tiles * points * CONV_BLOCK * 4;
                // Tiles that do not fill the registers pay for their weights more often.
                const int rows = tiles > plan->kernels->longest
                    ? (int)(tiles / ceil_div((int)tiles, plan->kernels->longest))
                    : (int)tiles * (tiles * 2 <= plan->kernels->longest && box_z > 1 ? 2 : 1);
                const double filling = 1 + 0.6 / rows;
                for (int ranges = 1; ranges <= plan->unit_count && ranges <= 64; ranges++) {
                    const int units = ceil_div(plan->unit_count, ranges);
                    if (ranges > 1 && units == ceil_div(plan->unit_count, ranges - 1)) continue;
                    const double share = (double)units / plan->unit_count;
                    const double unit_bytes = points * box_z * tiles * 2 * lanes * 4;
                    int go = plan->block_count;
                    if (block_bytes * go + unit_bytes > POINT_BYTES) {
                        go = (int)((POINT_BYTES - unit_bytes * units) / block_bytes);
                        if (go < 1) continue;
                        go = min_int(go, plan->block_count);
                        go = ceil_div(plan->block_count, ceil_div(plan->block_count, go));
                    }
                    const double goes = ceil_div(plan->block_count, go);
                    double cycles = points * box_z * tiles * d->kz * words_of(plan) * plan->product_cost * vectors * share / 2 *
                        filling;
                    cycles += planes * tiles * plane_block_count * points * 3 * 16 / lanes;
                    const double row = 150 + (tiles_x * plan->minimal_x + 2) * 6.0 * 16 / lanes;
                    cycles += planes * (tiles_y * MINIMAL_Y + 2) * row * plane_block_count;
                    cycles += box_z * tiles * vectors * share * (points * 3 + MINIMAL_Y * plan->minimal_x * 5);
                    cycles += (goes - 1) * points * box_z * tiles * vectors * share * 2;
                    cycles += weight_bytes * share / 16;
                    cycles += 3000;
                    const double cost = cycles * nk_conv_waiting(boxes * ranges) * boxes * ranges;
                    if (best < 0 || cost < best) {
                        best = cost;
                        best_box[Z] = box_z;
                        best_box[Y] = tiles_y * MINIMAL_Y;
                        best_box[X] = tiles_x * plan->minimal_x;
                        best_ranges = units;
                        best_go = go;
                    }
                }
            }
        }
    }
    if (best < 0) return -1;
    for (int a = 0; a < 3; a++) {
        plan->box[a] = best_box[a];
        plan->boxes[a] = ceil_div(grid[a], plan->box[a]);
    }
    plan->ranges = ceil_div(plan->unit_count, best_ranges);
    plan->go = best_go;
    return best;
}

size_t nk_conv_minimal_weight_count(const nk_conv_plan *plan) {
    size_t vectors = 0;
    for (int u = 0; u < plan->unit_count; u++) vectors += (size_t)plan->units[u].vectors;
    return vectors * plan->kernels->lanes * (size_t)words_of(plan) * plan->desc.kz * points_of(plan);
}

/// `[unit][point][block of 16 words][z tap][word][output channel]`.
void nk_conv_minimal_pack_weights(nk_conv_plan *plan, const float *weights) {
    const int cin = plan->desc.cin, kz = plan->desc.kz;
    const int points_x = plan->minimal_x + 2, points = points_of(plan);
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
                for (int o = 0; o < unit->channels; o++) {
                    const float *kernel = weights + (((size_t)(unit->first + o) * cin + i) * kz + z) * 9;
                    float taps[9];
                    for (int k = 0; k < 9; k++) taps[k] = plan->rounds ? nk_conv_rounded(kernel[k]) : kernel[k];
                    for (int p = 0; p < points; p++) {
                        const double *y = transform_2[p / points_x];
                        const double *x = (plan->minimal_x == 2 ? transform_2 : transform_4)[p % points_x];
                        double sum = 0;
                        for (int k = 0; k < 9; k++) sum += y[k / 3] * x[k % 3] * taps[k];
                        float *place = to + p * point + o;
                        if (plan->pairs) {
                            ((uint16_t *)place)[i % 2] = nk_conv_bfloat16((float)sum);
                        } else {
                            *place = (float)sum;
                        }
                    }
                }
            }
        }
        place += point * points;
    }
}

/// Floats of the packed planes, of the inputs' points and of the products of one unit.
static void measure(const nk_conv_plan *plan, size_t floats[3]) {
    const size_t tiles = (size_t)plan->box[Y] / MINIMAL_Y * (plan->box[X] / plan->minimal_x);
    floats[0] = plan->go * plane_blocks(plan) * round_up((size_t)plan->packed[Y] * plan->row, 16);
    floats[1] = (size_t)plan->go * plane_count(plan, plan->box[Z]) * tiles * points_of(plan) * CONV_BLOCK;
    floats[2] = (size_t)plan->box[Z] * tiles * points_of(plan) * 2 * plan->kernels->lanes;
}

size_t nk_conv_minimal_scratch_floats(const nk_conv_plan *plan) {
    size_t floats[3];
    measure(plan, floats);
    const int units = plan->go == plan->block_count ? 1 : ceil_div(plan->unit_count, plan->ranges);
    return floats[0] + floats[1] + floats[2] * units;
}

static const float zeros[32];

void nk_conv_minimal_run(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    const nk_conv_desc *d = &plan->desc;
    const int tiles_y = ceil_div(job->size[Y], MINIMAL_Y), tiles_x = ceil_div(job->size[X], plan->minimal_x);
    const int tiles = tiles_y * tiles_x;
    const int planes = plane_count(plan, job->size[Z]);
    size_t floats[3];
    measure(plan, floats);
    float *inputs = job->packed + floats[0], *products = inputs + floats[1];
    const int points = points_of(plan);
    const int plane_blocks_a_block = plane_blocks(plan);
    const bool resting = plan->go < plan->block_count;

    // Distances within the inputs' points, `[point][block][plane][tile][channel]`.
    const ptrdiff_t plane = (ptrdiff_t)tiles * CONV_BLOCK, block_step = planes * plane;
    ptrdiff_t taps[16];
    for (int k = 0; k < d->kz; k++) taps[k] = (ptrdiff_t)k * d->dilation_z * plane;

    const int longest = plan->kernels->longest;
    const int parts = ceil_div(tiles, longest), shorter = tiles / parts, longer = tiles % parts;

    for (int block = 0; block < plan->block_count; block += plan->go) {
        const int blocks = min_int(plan->go, plan->block_count - block);
        const bool last = block + blocks == plan->block_count;
        // Of packed planes; matrix tiles read the words of the last block that have no channels too.
        int plane_blocks = blocks * plane_blocks_a_block;
        if (last && !plan->kernels->matrix) {
            plane_blocks = ceil_div(d->cin, CONV_BLOCK) - block * plane_blocks_a_block;
        }
        const size_t plane_block = floats[0] / ((size_t)plan->go * plane_blocks_a_block);
        const ptrdiff_t input_point = blocks * block_step;
        for (int z = 0; z < planes; z++) {
            if (!plan->reads[Z][z % plan->in_stride[Z]]) continue;
            const int in_z = job->first[Z] * plan->in_stride[Z] + plan->lowest[Z] + z;
            for (int y = 0; y < tiles_y * MINIMAL_Y + 2; y++) {
                nk_conv_pack_row(
                    job, 0, block * plane_blocks_a_block, plane_blocks, in_z, job->first[Y] + plan->lowest[Y] + y,
                    job->packed + (size_t)y * plan->row, plane_block);
            }
            for (int b = 0; b < plane_blocks; b++) {
                const conv_minimal_input work = {
                    .input = job->packed + b * plane_block,
                    .row = (ptrdiff_t)plan->row,
                    .tiles_y = tiles_y,
                    .tiles_x = tiles_x,
                    .points = inputs + b / plane_blocks_a_block * block_step + z * plane +
                        b % plane_blocks_a_block * (CONV_BLOCK / 2),
                    .point = input_point,
                };
                plan->kernels->minimal_input[plan->minimal_x / 4](&work);
            }
        }

        for (int u = first; u < end; u++) {
            const conv_unit *unit = &plan->units[u];
            const int width = unit->vectors * plan->kernels->lanes;
            float *unit_products = products + (resting ? (size_t)(u - first) * floats[2] : 0);
            const ptrdiff_t product_point = (ptrdiff_t)job->size[Z] * tiles * width;
            conv_tile_function *const(*table)[14] = plan->kernels->tiles[0][unit->vectors - 1];
            int together = 1;
            for (int s = 2; s <= 4 && parts == 1 && !plan->kernels->matrix; s++) {
                if (table[s - 1][tiles - 1]) together = s;
            }
            conv_tile tile = {
                .input_segment = plan->in_stride[Z] * plane,
                .input_block = block_step,
                .taps = taps,
                .tap_count = d->kz,
                .block_count = blocks,
                .last_words = last ? plan->last_words : CONV_BLOCK,
                .bias = block == 0 ? zeros : NULL,
                .output_segment = (ptrdiff_t)tiles * width,
                .output_step = width,
                .channels = width,
            };
            for (int p = 0; p < points; p++) {
                const size_t terms = ((size_t)p * words_of(plan) + (size_t)block * CONV_BLOCK) * d->kz;
                tile.weights = plan->weights + unit->weights + terms * width;
                for (int z = 0; z < job->size[Z];) {
                    const int segments = job->size[Z] - z >= together ? together : 1;
                    int at = 0;
                    for (int i = 0; i < parts; i++) {
                        const int length =
                            plan->kernels->matrix ? min_int(longest, tiles - at) : shorter + (i < longer);
                        tile.input = inputs + p * input_point + (ptrdiff_t)z * plan->in_stride[Z] * plane +
                            (ptrdiff_t)at * CONV_BLOCK;
                        tile.output = unit_products + p * product_point + ((ptrdiff_t)z * tiles + at) * width;
                        if (plan->kernels->matrix) {
                            plan->kernels->matrix(&tile, segments, length, unit->vectors);
                        } else {
                            table[segments - 1][length - 1](&tile);
                        }
                        at += length;
                    }
                    z += segments;
                }
            }
            if (!last) continue;

            const ptrdiff_t row = (ptrdiff_t)plan->out[X] * d->cout;
            for (int z = 0; z < job->size[Z]; z++) {
                for (int ty = 0; ty < tiles_y; ty++) {
                    const size_t line = (size_t)(job->first[Z] + z) * plan->out[Y] + job->first[Y] + ty * MINIMAL_Y;
                    const size_t at = (line * plan->out[X] + job->first[X]) * d->cout + unit->first;
                    const conv_minimal_output work = {
                        .points = unit_products + ((ptrdiff_t)z * tiles + (ptrdiff_t)ty * tiles_x) * width,
                        .point = product_point,
                        .width = width,
                        .bias = plan->bias + unit->first,
                        .output = job->out + at,
                        .output_row = row,
                        .output_step = d->cout,
                        .rows = min_int(MINIMAL_Y, job->size[Y] - ty * MINIMAL_Y),
                        .columns = job->size[X],
                        .channels = unit->channels,
                            };
                    plan->kernels->minimal_output[plan->minimal_x / 4](&work);
                    if (!job->residual && job->out_slope == 1 && !job->sums) continue;
                    const conv_finish finish = {
                        .output = work.output,
                        .residual = job->residual ? job->residual + at : NULL,
                        .output_segment = row,
                        .output_step = d->cout,
                        .segments = work.rows,
                        .length = work.columns,
                        .channels = unit->channels,
                        .slope = job->out_slope,
                        .sums = job->sums ? job->sums + unit->first : NULL,
                        .squares = job->sums ? job->squares + unit->first : NULL,
                    };
                    plan->kernels->finish(&finish);
                }
            }
        }
    }
}
