// The baseline: OpenBLAS products of gathered rows, for any processor. Layer 3, execution.

#include <cblas.h>
#include <string.h>

#include "methods.h"
#include "pack.h"

/// Applies residual, activation and statistics to one voxel's channels.
static void finish_plain(const conv_job *job, size_t at, int channel, int channels) {
    float *out = job->out + at;
    if (job->residual) {
        for (int c = 0; c < channels; c++) out[c] += job->residual[at + c];
    }
    if (job->out_slope != 1) {
        for (int c = 0; c < channels; c++) out[c] = out[c] < 0 ? job->out_slope * out[c] : out[c];
    }
    if (job->sums) {
        double *sums = job->sums + channel, *squares = job->squares + channel;
        for (int c = 0; c < channels; c++) {
            const double v = out[c];
            sums[c] += v;
            squares[c] += v * v;
        }
    }
}

/// Index in the output of the first of `channels`, for a point of the box.
static size_t output_index(const conv_job *job, const conv_phase *phase, int z, int y, int x) {
    return output_voxel(job, phase, z, y, x) * job->plan->layer.cout;
}

static void run_plain_depthwise(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    nk_conv_pack_box(job, 0, 0, 1);
    for (int u = first; u < end; u++) {
        const conv_unit *unit = &plan->units[u];
        const conv_phase *phase = &plan->phases[unit->phase];
        int size[3];
        if (!phase_size(job, phase, size)) continue;
        for (int z = 0; z < size[Z]; z++) {
            for (int y = 0; y < size[Y]; y++) {
                const float *row = packed_row(job, z, y) + unit->first;
                for (int x = 0; x < size[X]; x++) {
                    float sums[CONV_BLOCK];
                    for (int c = 0; c < unit->channels; c++) sums[c] = job->bias[unit->first + c];
                    for (int t = 0; t < phase->tap_count; t++) {
                        const float *input = row + (ptrdiff_t)x * plan->distance + phase->taps[t];
                        const float *weights = job->weights + unit->weights + (size_t)t * CONV_BLOCK;
                        for (int c = 0; c < unit->channels; c++) sums[c] += weights[c] * input[c];
                    }
                    const size_t at = output_index(job, phase, z, y, x) + unit->first;
                    memcpy(job->out + at, sums, (size_t)unit->channels * sizeof(float));
                    finish_plain(job, at, unit->first, unit->channels);
                }
            }
        }
    }
}

/// Processes the units from `unit` on that are adjacent in one matrix.
static void run_products(const conv_job *job, const conv_unit *unit, int channels, float *gathered, float *products) {
    const conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int channel = unit->group * plan->group_out + unit->first;
    int size[3];
    if (!phase_size(job, phase, size)) return;
    const size_t depth = (size_t)phase->tap_count * plan->group_in;
    const size_t voxel = (size_t)plan->group_in * sizeof(float);

    for (int row = 0; row < size[Z] * size[Y]; row += plan->rows) {
        const int rows = min_int(plan->rows, size[Z] * size[Y] - row);
        const int points = rows * size[X];
        float *to = gathered;
        for (int r = row; r < row + rows; r++) {
            const float *from = packed_row(job, r / size[Y], r % size[Y]);
            for (int x = 0; x < size[X]; x++, from += plan->distance) {
                for (int t = 0; t < phase->tap_count; t++) {
                    memcpy(to, from + phase->taps[t], voxel);
                    to += plan->group_in;
                }
            }
        }
        for (int i = 0; i < points; i++) {
            memcpy(products + (size_t)i * channels, job->bias + channel, (size_t)channels * sizeof(float));
        }
        if (depth > 0) {
            cblas_sgemm(
                CblasRowMajor, CblasNoTrans, CblasNoTrans, points, channels, (int)depth, 1, gathered, (int)depth,
                job->weights + unit->weights, plan->group_out, 1, products, channels);
        }
        const float *result = products;
        for (int r = row; r < row + rows; r++) {
            for (int x = 0; x < size[X]; x++, result += channels) {
                const size_t at = output_index(job, phase, r / size[Y], r % size[Y], x) + channel;
                memcpy(job->out + at, result, (size_t)channels * sizeof(float));
                finish_plain(job, at, channel, channels);
            }
        }
    }
}

void nk_conv_run_portable(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    if (plan->layer.depthwise) {
        run_plain_depthwise(job, first, end);
        return;
    }
    float *gathered = job->packed + plan->scratch.packed, *products = gathered + plan->scratch.gathered;
    int packed = -1;
    for (int u = first; u < end;) {
        const conv_unit *unit = &plan->units[u];
        int channels = 0;
        for (; u < end && plan->units[u].group == unit->group && plan->units[u].phase == unit->phase; u++) {
            channels += plan->units[u].channels;
        }
        if (packed != unit->group) nk_conv_pack_box(job, unit->group, 0, 1);
        packed = unit->group;
        run_products(job, unit, channels, gathered, products);
    }
}
