// The phases of a plan, and the positions of their taps (plan.h explains both). Layer 2, plan.

#include "../description/memory.h"
#include "steps.h"

/// For each tap along an axis, its offset, and in `fits` the position of the phase to which it belongs.
typedef struct tap_positions {
    int *offsets[3], *fits[3];
} tap_positions;

static void free_tap_positions(tap_positions *positions) {
    for (int a = 0; a < 3; a++) {
        free(positions->offsets[a]);
        free(positions->fits[a]);
    }
}

/// Computes the taps of one axis, and the plan's values for this axis. False when memory runs out.
static bool place_axis(conv_plan *plan, int a, tap_positions *positions) {
    const conv_layer *layer = &plan->layer;
    const bool transposed = layer->transposed;
    const int count = layer->kernel[a], stride = layer->stride[a];
    plan->in_stride[a] = transposed ? 1 : stride;
    plan->out_stride[a] = transposed ? stride : 1;
    const int spacing = plan->spacing[a];
    plan->grid[a] = ceil_div(layer->out[a], plan->out_stride[a] * spacing);
    int *offsets = positions->offsets[a] = calloc((size_t)count, sizeof(int));
    int *fits = positions->fits[a] = calloc((size_t)count, sizeof(int));
    plan->reads[a] = nk_conv_allocate((size_t)plan->in_stride[a] * sizeof(bool), &plan->bytes);
    if (!offsets || !fits || !plan->reads[a]) return false;
    int low = 0, high = 0;
    for (int k = 0; k < count; k++) {
        if (transposed) {
            // place + pad - k * dilation must be a multiple of the stride; the quotient is the offset.
            fits[k] = modulo(k * layer->dilation[a] - layer->pad[a], stride);
            offsets[k] = (fits[k] + layer->pad[a] - k * layer->dilation[a]) / stride;
        } else {
            offsets[k] = k * layer->dilation[a] - layer->pad[a];
        }
        low = k == 0 ? offsets[k] : min_int(low, offsets[k]);
        high = k == 0 ? offsets[k] : max_int(high, offsets[k]);
    }
    plan->lowest[a] = low;
    plan->span[a] = (high - low) / spacing + 1;
    for (int k = 0; k < count; k++) plan->reads[a][(offsets[k] - low) % plan->in_stride[a]] = true;
    return true;
}

/// Writes the indices of the taps of a phase to `indices`, unless that is NULL; returns their number.
static int taps_of(const conv_phase *phase, const int kernel[3], const tap_positions *positions, int *indices) {
    const int taps = kernel[Z] * kernel[Y] * kernel[X];
    int count = 0;
    for (int t = 0; t < taps; t++) {
        const int k[] = {t / kernel[X] / kernel[Y], t / kernel[X] % kernel[Y], t % kernel[X]};
        bool here = true;
        for (int a = 0; a < 3; a++) here = here && positions->fits[a][k[a]] == phase->place[a];
        if (!here) continue;
        if (indices) indices[count] = t;
        count++;
    }
    return count;
}

/// Creates the phase for one position modulo the output stride. False when memory runs out.
static bool create_phase(conv_plan *plan, const tap_positions *positions, int place, conv_phase *phase) {
    const conv_layer *layer = &plan->layer;
    phase->place[X] = place % plan->out_stride[X];
    phase->place[Y] = place / plan->out_stride[X] % plan->out_stride[Y];
    phase->place[Z] = place / plan->out_stride[X] / plan->out_stride[Y];
    for (int a = 0; a < 3; a++) {
        const int left = layer->out[a] - phase->place[a];
        phase->count[a] = left > 0 ? ceil_div(left, plan->out_stride[a]) : 0;
    }
    phase->tap_count = taps_of(phase, layer->kernel, positions, NULL);
    phase->taps = nk_conv_allocate((size_t)phase->tap_count * sizeof(ptrdiff_t), &plan->bytes);
    phase->kernel = nk_conv_allocate((size_t)phase->tap_count * sizeof(int), &plan->bytes);
    phase->planes = nk_conv_allocate((size_t)phase->tap_count * sizeof(int), &plan->bytes);
    if (!phase->taps || !phase->kernel || !phase->planes) return false;
    taps_of(phase, layer->kernel, positions, phase->kernel);
    // Taps along x are consecutive, and folded ones are represented by the first.
    phase->tap_count /= plan->fold;
    for (int t = 0; t < phase->tap_count; t++) phase->kernel[t] = phase->kernel[t * plan->fold];
    return true;
}

bool nk_conv_create_phases(conv_plan *plan) {
    tap_positions positions = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    bool ok = true;
    for (int a = 0; a < 3; a++) ok = place_axis(plan, a, &positions) && ok;
    const int count = plan->out_stride[Z] * plan->out_stride[Y] * plan->out_stride[X];
    plan->phases = ok ? nk_conv_allocate((size_t)count * sizeof(conv_phase), &plan->bytes) : NULL;
    ok = plan->phases != NULL;
    for (int place = 0; ok && place < count; place++) {
        ok = create_phase(plan, &positions, place, &plan->phases[plan->phase_count++]);
    }
    free_tap_positions(&positions);
    return ok;
}

void nk_conv_place_taps(conv_plan *plan) {
    const conv_layer *layer = &plan->layer;
    const int *kernel = layer->kernel;
    for (int p = 0; p < plan->phase_count; p++) {
        conv_phase *phase = &plan->phases[p];
        for (int t = 0; t < phase->tap_count; t++) {
            const int index = phase->kernel[t];
            const int k[] = {index / kernel[X] / kernel[Y], index / kernel[X] % kernel[Y], index % kernel[X]};
            int offset[3];
            for (int a = 0; a < 3; a++) {
                const int reach = k[a] * layer->dilation[a];
                offset[a] = layer->transposed ? (phase->place[a] + layer->pad[a] - reach) / layer->stride[a]
                                              : reach - layer->pad[a];
                offset[a] = (offset[a] - plan->lowest[a]) / plan->spacing[a];
            }
            const bool ring = plan->set.matrix;
            const int step = plan->in_stride[X], step_y = ring ? plan->in_stride[Y] : 1;
            phase->planes[t] = offset[Z];
            phase->taps[t] = ring ? 0 : offset[Z] * (ptrdiff_t)plan->plane;
            phase->taps[t] += offset[Y] % step_y * (ptrdiff_t)plan->part_y + offset[Y] / step_y * (ptrdiff_t)plan->row;
            phase->taps[t] += offset[X] % step * (ptrdiff_t)plan->part + offset[X] / step * plan->distance;
        }
    }
}
