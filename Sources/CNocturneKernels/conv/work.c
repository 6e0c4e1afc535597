// The operations that the kernels of a plan compute.

#include "internal.h"

/// Operations of the transforms of minimal filtering for one tile of one channel, as written in minimal_template.h: from
/// four values to the points of two outputs 4, from six values to those of four outputs 24; back 4 and 16.
static double to_points(int outputs) { return outputs == 2 ? 4 : 24; }
static double from_points(int outputs) { return outputs == 2 ? 4 : 16; }
static double input_operations(int rows, int columns) {
    return (columns + 2) * to_points(rows) + (rows + 2) * to_points(columns);
}
static double output_operations(int rows, int columns) {
    return (rows + 2) * from_points(columns) + columns * from_points(rows);
}

/// The sum over all boxes and sub-grids along an axis of the tiles that cover a box, each with so many points, plus
/// `border` for every box.
static double tiles_along(const nk_conv_plan *plan, int axis, int each, int border) {
    double sum = 0;
    for (int place = 0; place < plan->spacing[axis]; place++) {
        const int points = ceil_div(plan->out[axis] - place, plan->spacing[axis]);
        for (int first = 0; first < points; first += plan->box[axis]) {
            sum += ceil_div(min_int(plan->box[axis], points - first), each) + border;
        }
    }
    return sum;
}

/// The planes of input that are transformed, over all boxes and sub-grids along z.
static double planes_transformed(const nk_conv_plan *plan) {
    double sum = 0;
    for (int place = 0; place < plan->spacing[Z]; place++) {
        const int points = ceil_div(plan->out[Z] - place, plan->spacing[Z]);
        for (int first = 0; first < points; first += plan->box[Z]) {
            const int planes = nk_conv_minimal_planes(plan, min_int(plan->box[Z], points - first));
            for (int z = 0; z < planes; z++) sum += plan->reads[Z][z % plan->in_stride[Z]];
        }
    }
    return sum;
}

/// Output channels of a unit as they are computed.
static double width_of(const nk_conv_plan *plan, const conv_unit *unit) {
    if (!plan->kernels) return unit->channels;
    if (plan->depthwise) return (double)round_up((size_t)unit->channels, (size_t)plan->kernels->lanes);
    return (double)unit->vectors * plan->kernels->lanes;
}

/// Products for one point, one tap and one output channel.
static double depth_of(const nk_conv_plan *plan) {
    if (plan->depthwise) return 1;
    return (double)words_of(plan) * (plan->pairs ? 2 : 1) * (plan->split ? 3 : 1);
}

static nk_conv_work work_of_minimal(const nk_conv_plan *plan) {
    const double tiles = tiles_along(plan, Y, plan->minimal_y, 0) * tiles_along(plan, X, plan->minimal_x, 0);
    const double planes = tiles_along(plan, Z, 1, 0), slabs = tiles_along(plan, Z, plan->minimal_z, 0);
    const double points = nk_conv_minimal_points(plan);
    double width = 0;
    for (int u = 0; u < plan->unit_count; u++) width += width_of(plan, &plan->units[u]);
    const double channels = (double)ceil_div(plan->desc.cin, CONV_BLOCK) * CONV_BLOCK;
    double along_z = 0;
    if (plan->minimal_z > 1) {
        const double each = to_points(plan->minimal_z) * channels * plan->ranges + from_points(plan->minimal_z) * width;
        along_z = points * slabs * tiles * each;
    }
    return (nk_conv_work){
        .products = 2 * points * slabs * nk_conv_minimal_points_z(plan) * tiles * depth_of(plan) * width,
        .transforms = planes_transformed(plan) * tiles * channels * plan->ranges *
                input_operations(plan->minimal_y, plan->minimal_x) +
            planes * tiles * width * output_operations(plan->minimal_y, plan->minimal_x) +
            along_z,
    };
}

static nk_conv_work work_of_direct(const nk_conv_plan *plan) {
    nk_conv_work work = {.products = 0};
    for (int u = 0; u < plan->unit_count; u++) {
        const conv_phase *phase = &plan->phases[plan->units[u].phase];
        const double row = plan->fold > 1 ? tiles_along(plan, X, 1, plan->span[X] - 1) : phase->count[X];
        const double points = row * phase->count[Z] * phase->count[Y];
        work.products += 2 * points * phase->tap_count * depth_of(plan) * width_of(plan, &plan->units[u]);
    }
    return work;
}

nk_conv_work nk_conv_plan_work(const nk_conv_plan *plan) {
    nk_conv_work work = plan->minimal_x ? work_of_minimal(plan) : work_of_direct(plan);
    const bool tiles = plan->kernels && plan->kernels->matrix;
    work.operands = !plan->pairs ? NK_CONV_PRODUCTS_FLOAT32
        : tiles                  ? NK_CONV_PRODUCTS_TILES
                                 : NK_CONV_PRODUCTS_BFLOAT16;
    return work;
}

const char *nk_conv_plan_method(const nk_conv_plan *plan) {
    if (plan->depthwise) return "depthwise";
    if (!plan->kernels) return "gathered";
    static const char *const tiles_of_minimal[] = {"minimal 2x2", "minimal 2x4", "minimal 4x4"};
    if (plan->minimal_z > 1) return "minimal 4x4x4";
    if (plan->minimal_x) return tiles_of_minimal[nk_conv_minimal_tile(plan)];
    if (plan->fold > 1) return "folded";
    return plan->kernels->matrix ? "matrix tiles" : "direct";
}
