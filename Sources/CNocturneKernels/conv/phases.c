// The phases of a plan, and the positions of their taps.

#include <stdlib.h>

#include "internal.h"

/// The geometry of a layer, axis by axis.
typedef struct conv_axes {
    int kernel[3], stride[3], pad[3], dilation[3];
} conv_axes;

static conv_axes axes_of(const nk_conv_desc *d) {
    return (conv_axes){
        .kernel = {d->kz, d->ky, d->kx},
        .stride = {d->stride_z, d->stride_y, d->stride_x},
        .pad = {d->pad_z, d->pad_y, d->pad_x},
        .dilation = {d->dilation_z, d->dilation_y, d->dilation_x},
    };
}

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
static bool place_axis(nk_conv_plan *plan, const conv_axes *axes, int a, tap_positions *positions) {
    const bool transposed = plan->desc.transposed;
    const int count = axes->kernel[a], stride = axes->stride[a];
    plan->in_stride[a] = transposed ? 1 : stride;
    plan->out_stride[a] = transposed ? stride : 1;
    const int spacing = plan->spacing[a];
    plan->grid[a] = ceil_div(plan->out[a], plan->out_stride[a] * spacing);
    int *offsets = positions->offsets[a] = calloc((size_t)count, sizeof(int));
    int *fits = positions->fits[a] = calloc((size_t)count, sizeof(int));
    plan->reads[a] = nk_conv_allocate(plan, (size_t)plan->in_stride[a] * sizeof(bool));
    if (!offsets || !fits || !plan->reads[a]) return false;
    int low = 0, high = 0;
    for (int k = 0; k < count; k++) {
        if (transposed) {
            // place + pad - k * dilation must be a multiple of the stride; the quotient is the offset.
            fits[k] = modulo(k * axes->dilation[a] - axes->pad[a], stride);
            offsets[k] = (fits[k] + axes->pad[a] - k * axes->dilation[a]) / stride;
        } else {
            offsets[k] = k * axes->dilation[a] - axes->pad[a];
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
static int taps_of(const conv_phase *phase, const conv_axes *axes, const tap_positions *positions, int *indices) {
    const int *kernel = axes->kernel;
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
static bool create_phase(
    nk_conv_plan *plan, const conv_axes *axes, const tap_positions *positions, int place, conv_phase *phase) {
    phase->place[X] = place % plan->out_stride[X];
    phase->place[Y] = place / plan->out_stride[X] % plan->out_stride[Y];
    phase->place[Z] = place / plan->out_stride[X] / plan->out_stride[Y];
    for (int a = 0; a < 3; a++) {
        phase->count[a] =
            plan->out[a] > phase->place[a] ? ceil_div(plan->out[a] - phase->place[a], plan->out_stride[a]) : 0;
    }
    phase->tap_count = taps_of(phase, axes, positions, NULL);
    phase->taps = nk_conv_allocate(plan, (size_t)phase->tap_count * sizeof(ptrdiff_t));
    phase->kernel = nk_conv_allocate(plan, (size_t)phase->tap_count * sizeof(int));
    if (!phase->taps || !phase->kernel) return false;
    taps_of(phase, axes, positions, phase->kernel);
    // Taps along x are consecutive, and folded ones are represented by the first.
    phase->tap_count /= plan->fold;
    for (int t = 0; t < phase->tap_count; t++) phase->kernel[t] = phase->kernel[t * plan->fold];
    return true;
}

bool nk_conv_create_phases(nk_conv_plan *plan) {
    const conv_axes axes = axes_of(&plan->desc);
    tap_positions positions = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    bool ok = true;
    for (int a = 0; a < 3; a++) ok = place_axis(plan, &axes, a, &positions) && ok;
    const int count = plan->out_stride[Z] * plan->out_stride[Y] * plan->out_stride[X];
    plan->phases = ok ? nk_conv_allocate(plan, (size_t)count * sizeof(conv_phase)) : NULL;
    ok = plan->phases != NULL;
    for (int place = 0; ok && place < count; place++) {
        ok = create_phase(plan, &axes, &positions, place, &plan->phases[plan->phase_count++]);
    }
    free_tap_positions(&positions);
    return ok;
}

void nk_conv_place_taps(nk_conv_plan *plan) {
    const nk_conv_desc *d = &plan->desc;
    const conv_axes axes = axes_of(d);
    for (int p = 0; p < plan->phase_count; p++) {
        conv_phase *phase = &plan->phases[p];
        for (int t = 0; t < phase->tap_count; t++) {
            const int index = phase->kernel[t];
            const int k[] = {index / d->kx / d->ky, index / d->kx % d->ky, index % d->kx};
            int offset[3];
            for (int a = 0; a < 3; a++) {
                const int reach = k[a] * axes.dilation[a];
                offset[a] = d->transposed ? (phase->place[a] + axes.pad[a] - reach) / axes.stride[a]
                                          : reach - axes.pad[a];
                offset[a] = (offset[a] - plan->lowest[a]) / plan->spacing[a];
            }
            const int step = plan->in_stride[X];
            phase->taps[t] = ((ptrdiff_t)offset[Z] * plan->packed[Y] + offset[Y]) * (ptrdiff_t)plan->row +
                ((ptrdiff_t)(offset[X] % step) * plan->row_voxels + offset[X] / step) * plan->distance;
        }
    }
}
