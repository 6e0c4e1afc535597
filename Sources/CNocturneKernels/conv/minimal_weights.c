// Transformed weights of minimal filtering.

#include "internal.h"

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

/// The largest number of output channels of a unit.
#define LARGEST_WIDTH 32

typedef double channel_values[LARGEST_WIDTH];

size_t nk_conv_minimal_weight_count(const nk_conv_plan *plan) {
    size_t vectors = 0;
    for (int u = 0; u < plan->unit_count; u++) vectors += (size_t)plan->units[u].vectors;
    const size_t points = (size_t)nk_conv_minimal_points_z(plan) * nk_conv_minimal_points(plan);
    return vectors * plan->kernels->lanes * (size_t)words_of(plan) * points;
}

/// The points of 3 × 3 taps along y and x: first along y, then along x.
static void transform_taps(const nk_conv_plan *plan, const channel_values taps[9], channel_values points[36]) {
    const double(*along_y)[3] = plan->minimal_y == 2 ? transform_2 : transform_4;
    const double(*along_x)[3] = plan->minimal_x == 2 ? transform_2 : transform_4;
    const int points_y = plan->minimal_y + 2, points_x = plan->minimal_x + 2;
    for (int j = 0; j < points_y; j++) {
        const double *y = along_y[j];
        channel_values rows[3];
        for (int k = 0; k < 3; k++) {
            for (int o = 0; o < LARGEST_WIDTH; o++) {
                rows[k][o] = y[0] * taps[k][o] + y[1] * taps[3 + k][o] + y[2] * taps[6 + k][o];
            }
        }
        for (int i = 0; i < points_x; i++) {
            const double *x = along_x[i];
            double *to = points[j * points_x + i];
            for (int o = 0; o < LARGEST_WIDTH; o++) to[o] = x[0] * rows[0][o] + x[1] * rows[1][o] + x[2] * rows[2][o];
        }
    }
}

/// The points along y and x of the taps of a unit for one input channel and one tap along z.
static void points_of(
    const nk_conv_plan *plan, const conv_unit *unit, const float *weights, int input, int z, channel_values points[36]
) {
    const size_t kz = (size_t)plan->desc.kz, cin = (size_t)plan->desc.cin;
    channel_values taps[9] = {{0}};
    for (int o = 0; o < unit->channels; o++) {
        const float *kernel = weights + (((size_t)(unit->first + o) * cin + (size_t)input) * kz + (size_t)z) * 9;
        for (int k = 0; k < 9; k++) taps[k][o] = plan->rounds ? nk_conv_rounded(kernel[k]) : kernel[k];
    }
    transform_taps(plan, taps, points);
}

/// Stores the points of one input channel of a unit, `point` words apart.
static void store(
    const nk_conv_plan *plan, const conv_unit *unit, int input, const channel_values points[36], float *to, size_t point
) {
    for (int p = 0; p < nk_conv_minimal_points(plan); p++) {
        float *of_point = to + (size_t)p * point;
        for (int o = 0; o < unit->channels; o++) {
            if (plan->pairs) {
                ((uint16_t *)(of_point + o))[input % 2] = nk_conv_bfloat16((float)points[p][o]);
            } else {
                of_point[o] = (float)points[p][o];
            }
        }
    }
}

/// `[point][block of 16 words][z tap][word][output channel]`.
static void pack_with_taps_along_z(nk_conv_plan *plan, const conv_unit *unit, const float *weights, int input) {
    const int kz = plan->desc.kz, word = plan->pairs ? input / 2 : input, block = word / CONV_BLOCK;
    const int words = block + 1 == plan->block_count ? plan->last_words : CONV_BLOCK;
    const size_t width = (size_t)unit->vectors * plan->kernels->lanes;
    for (int z = 0; z < kz; z++) {
        const size_t at = (size_t)block * CONV_BLOCK * kz + (size_t)z * words + word % CONV_BLOCK;
        channel_values points[36];
        points_of(plan, unit, weights, input, z, points);
        store(plan, unit, input, points, plan->weights + unit->weights + at * width, (size_t)words_of(plan) * kz * width);
    }
}

/// `[point along y and x][point along z][word][output channel]`.
static void pack_with_points_along_z(nk_conv_plan *plan, const conv_unit *unit, const float *weights, int input) {
    const int points_z = nk_conv_minimal_points_z(plan), count = nk_conv_minimal_points(plan);
    const size_t width = (size_t)unit->vectors * plan->kernels->lanes, words = (size_t)words_of(plan);
    channel_values of_taps[3][36];
    for (int z = 0; z < 3; z++) points_of(plan, unit, weights, input, z, of_taps[z]);
    for (int j = 0; j < points_z; j++) {
        const double *along = transform_4[j];
        channel_values points[36];
        for (int p = 0; p < count; p++) {
            for (int o = 0; o < LARGEST_WIDTH; o++) {
                points[p][o] = along[0] * of_taps[0][p][o] + along[1] * of_taps[1][p][o] + along[2] * of_taps[2][p][o];
            }
        }
        float *to = plan->weights + unit->weights + (j * words + (size_t)input) * width;
        store(plan, unit, input, points, to, words * points_z * width);
    }
}

void nk_conv_minimal_pack_weights(nk_conv_plan *plan, const float *weights) {
    const size_t points = (size_t)nk_conv_minimal_points_z(plan) * nk_conv_minimal_points(plan);
    size_t place = 0;
    for (int u = 0; u < plan->unit_count; u++) {
        conv_unit *unit = &plan->units[u];
        unit->weights = place;
        for (int i = 0; i < plan->desc.cin; i++) {
            if (plan->minimal_z > 1) {
                pack_with_points_along_z(plan, unit, weights, i);
            } else {
                pack_with_taps_along_z(plan, unit, weights, i);
            }
        }
        place += points * (size_t)words_of(plan) * unit->vectors * plan->kernels->lanes;
    }
}
