// The operations that the kernels of a plan compute, and the name of its method. Layer 2, plan.

#include "minimal.h"

/// Operations of the transforms of minimal filtering for one tile of one channel, as written in
/// kernels/minimal_template.h: from four values to the points of two outputs 4, from six values to those of four outputs
/// 24; back 4 and 16.
static double to_points(int outputs) { return outputs == 2 ? 4 : 24; }
static double from_points(int outputs) { return outputs == 2 ? 4 : 16; }
static double input_operations(int rows, int columns) {
    return (columns + 2) * to_points(rows) + (rows + 2) * to_points(columns);
}
static double output_operations(int rows, int columns) {
    return (rows + 2) * from_points(columns) + columns * from_points(rows);
}

/// The sum over all boxes and sub-grids along an axis of the tiles that cover a box, each with `each` points, plus
/// `border` for every box.
static double tiles_along(const conv_plan *plan, int axis, int each, int border) {
    double sum = 0;
    for (int place = 0; place < plan->spacing[axis]; place++) {
        const int points = ceil_div(plan->layer.out[axis] - place, plan->spacing[axis]);
        for (int first = 0; first < points; first += plan->box[axis]) {
            sum += ceil_div(min_int(plan->box[axis], points - first), each) + border;
        }
    }
    return sum;
}

/// The planes of input that are transformed, over all boxes and sub-grids along z.
static double planes_transformed(const conv_plan *plan) {
    double sum = 0;
    for (int place = 0; place < plan->spacing[Z]; place++) {
        const int points = ceil_div(plan->layer.out[Z] - place, plan->spacing[Z]);
        for (int first = 0; first < points; first += plan->box[Z]) {
            const int planes = minimal_planes(plan, min_int(plan->box[Z], points - first));
            for (int z = 0; z < planes; z++) sum += plan->reads[Z][z % plan->in_stride[Z]];
        }
    }
    return sum;
}

/// Output channels of a unit as they are computed.
static double width_of(const conv_plan *plan, const conv_unit *unit) {
    if (!has_vectors(plan)) return unit->channels;
    if (plan->layer.depthwise) return (double)round_up((size_t)unit->channels, (size_t)plan->set.lanes);
    return (double)unit->vectors * plan->set.lanes;
}

/// Products for one point, one tap and one output channel.
static double depth_of(const conv_plan *plan) {
    if (plan->layer.depthwise) return 1;
    return (double)words_of(plan) * (plan->pairs ? 2 : 1) * products_of(plan);
}

static nk_conv_work work_of_minimal(const conv_plan *plan) {
    const double tiles = tiles_along(plan, Y, plan->minimal[Y], 0) * tiles_along(plan, X, plan->minimal[X], 0);
    const double planes = tiles_along(plan, Z, 1, 0), slabs = tiles_along(plan, Z, plan->minimal[Z], 0);
    const double points = minimal_points(plan);
    double width = 0;
    for (int u = 0; u < plan->unit_count; u++) width += width_of(plan, &plan->units[u]);
    const double channels = (double)ceil_div(plan->layer.cin, CONV_BLOCK) * CONV_BLOCK;
    double along_z = 0;
    if (plan->minimal[Z] > 1) {
        const double each = to_points(plan->minimal[Z]) * channels * plan->ranges + from_points(plan->minimal[Z]) * width;
        along_z = points * slabs * tiles * each;
    }
    return (nk_conv_work){
        .products = 2 * points * slabs * minimal_points_z(plan) * tiles * depth_of(plan) * width,
        .transforms = planes_transformed(plan) * tiles * channels * plan->ranges *
                input_operations(plan->minimal[Y], plan->minimal[X]) +
            planes * tiles * width * output_operations(plan->minimal[Y], plan->minimal[X]) +
            along_z,
    };
}

static nk_conv_work work_of_direct(const conv_plan *plan) {
    nk_conv_work work = {.products = 0};
    for (int u = 0; u < plan->unit_count; u++) {
        const conv_phase *phase = &plan->phases[plan->units[u].phase];
        const double row = plan->fold > 1 ? tiles_along(plan, X, 1, plan->span[X] - 1) : phase->count[X];
        const double points = row * phase->count[Z] * phase->count[Y];
        work.products += 2 * points * phase->tap_count * depth_of(plan) * width_of(plan, &plan->units[u]);
    }
    return work;
}

nk_conv_work nk_conv_work_of(const conv_plan *plan) {
    nk_conv_work work = plan->minimal[X] ? work_of_minimal(plan) : work_of_direct(plan);
    const bool tiles = plan->set.matrix;
    work.operands = !plan->pairs ? NK_CONV_PRODUCTS_FLOAT32
        : tiles                  ? NK_CONV_PRODUCTS_TILES
                                 : NK_CONV_PRODUCTS_BFLOAT16;
    return work;
}

double nk_conv_operations_of(const conv_plan *plan) {
    double sum = 0;
    for (int p = 0; p < plan->phase_count; p++) {
        const conv_phase *phase = &plan->phases[p];
        sum += (double)phase->tap_count * phase->count[Z] * phase->count[Y] * phase->count[X];
    }
    return 2 * sum * plan->fold * (plan->layer.cin / plan->layer.groups) * plan->layer.cout;
}

const char *nk_conv_method_of(const conv_plan *plan) {
    if (plan->layer.depthwise) return "depthwise";
    if (!has_vectors(plan)) return "gathered";
    static const char *const tiles_of_minimal[] = {"minimal 2x2", "minimal 2x4", "minimal 4x4"};
    if (plan->minimal[Z] > 1) return "minimal 4x4x4";
    if (plan->minimal[X]) return tiles_of_minimal[minimal_tile(plan)];
    if (plan->fold > 1) return "folded";
    return plan->set.matrix ? "matrix tiles" : "direct";
}
