// Transformed weights of minimal filtering, computed in float64 and rounded once. Layer 3, execution.

#include "minimal_weights.h"

#include "../plan/minimal.h"
#include "bfloat16.h"

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

/// The points of 3 × 3 taps along y and x: first along y, then along x.
static void transform_taps(const conv_plan *plan, const channel_values taps[9], channel_values *points) {
    const double(*along_y)[3] = plan->minimal[Y] == 2 ? transform_2 : transform_4;
    const double(*along_x)[3] = plan->minimal[X] == 2 ? transform_2 : transform_4;
    const int points_y = plan->minimal[Y] + 2, points_x = plan->minimal[X] + 2;
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
    const conv_plan *plan, const conv_unit *unit, const float *weights, int input, int z, channel_values *points) {
    const size_t kz = (size_t)plan->layer.kernel[Z], cin = (size_t)plan->layer.cin;
    channel_values taps[9] = {{0}};
    for (int o = 0; o < unit->channels; o++) {
        const float *kernel = weights + (((size_t)(unit->first + o) * cin + (size_t)input) * kz + (size_t)z) * 9;
        for (int k = 0; k < 9; k++) taps[k][o] = plan->rounds ? rounded(kernel[k]) : kernel[k];
    }
    transform_taps(plan, taps, points);
}

/// Stores the points of one input channel of a unit, `point` words apart.
static void store(
    const conv_plan *plan, const conv_unit *unit, int input, const channel_values *points, float *to, size_t point) {
    for (int p = 0; p < minimal_points(plan); p++) {
        float *of_point = to + (size_t)p * point;
        for (int o = 0; o < unit->channels; o++) {
            if (plan->pairs) {
                ((uint16_t *)(of_point + o))[input % 2] = bfloat16_of((float)points[p][o]);
            } else {
                of_point[o] = (float)points[p][o];
            }
        }
    }
}

/// `[point][block of 16 words][z tap][word][output channel]`.
static void pack_with_taps_along_z(
    const conv_plan *plan, const conv_unit *unit, const float *weights, int input, float *to) {
    const int kz = plan->layer.kernel[Z], word = plan->pairs ? input / 2 : input, block = word / CONV_BLOCK;
    const int words = block + 1 == plan->block_count ? plan->last_words : CONV_BLOCK;
    const size_t width = (size_t)unit->vectors * plan->set.lanes;
    for (int z = 0; z < kz; z++) {
        const size_t at = (size_t)block * CONV_BLOCK * kz + (size_t)z * words + word % CONV_BLOCK;
        channel_values points[LARGEST_POINTS];
        points_of(plan, unit, weights, input, z, points);
        store(plan, unit, input, points, to + at * width, (size_t)words_of(plan) * kz * width);
    }
}

/// `[point along y and x][point along z][word][output channel]`.
static void pack_with_points_along_z(
    const conv_plan *plan, const conv_unit *unit, const float *weights, int input, float *to) {
    const int points_z = minimal_points_z(plan), count = minimal_points(plan);
    const size_t width = (size_t)unit->vectors * plan->set.lanes, words = (size_t)words_of(plan);
    channel_values of_taps[3][LARGEST_POINTS];
    for (int z = 0; z < 3; z++) points_of(plan, unit, weights, input, z, of_taps[z]);
    for (int j = 0; j < points_z; j++) {
        const double *along = transform_4[j];
        channel_values points[LARGEST_POINTS];
        for (int p = 0; p < count; p++) {
            for (int o = 0; o < LARGEST_WIDTH; o++) {
                points[p][o] = along[0] * of_taps[0][p][o] + along[1] * of_taps[1][p][o] + along[2] * of_taps[2][p][o];
            }
        }
        store(plan, unit, input, points, to + (j * words + (size_t)input) * width, words * points_z * width);
    }
}

void nk_conv_pack_minimal_weights(const conv_plan *plan, const conv_unit *unit, const float *weights, float *to) {
    for (int input = 0; input < plan->layer.cin; input++) {
        if (plan->minimal[Z] > 1) {
            pack_with_points_along_z(plan, unit, weights, input, to);
        } else {
            pack_with_taps_along_z(plan, unit, weights, input, to);
        }
    }
}
