// The portable path of the convolution: OpenBLAS products of gathered rows.

#include <cblas.h>
#include <string.h>

#include "job.h"

size_t nk_conv_portable_prepare(nk_conv_plan *plan) {
    openblas_set_num_threads(1);
    if (plan->depthwise) return 0;
    // As many rows of the grid as their gathered taps fill about a megabyte, and at least 64 points.
    size_t taps = 1;
    for (int p = 0; p < plan->phase_count; p++) {
        if ((size_t)plan->phases[p].tap_count > taps) taps = (size_t)plan->phases[p].tap_count;
    }
    const size_t depth = taps * plan->group_in;
    const size_t points = 256 * 1024 / depth < 64 ? 64 : 256 * 1024 / depth > 1024 ? 1024 : 256 * 1024 / depth;
    plan->rows = max_int(1, min_int((int)(points / plan->box[X]), plan->box[Z] * plan->box[Y]));
    size_t floats = round_up((size_t)plan->rows * plan->box[X] * depth, 16);
    floats += round_up((size_t)plan->rows * plan->box[X] * plan->group_out, 16);
    return floats;
}

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
    return output_voxel(job, phase, z, y, x) * job->plan->desc.cout;
}

static void run_plain_depthwise(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    nk_conv_pack_box(job, 0, 0, 1);
    for (int u = first; u < end; u++) {
        const conv_unit *unit = &plan->units[u];
        const conv_phase *phase = &plan->phases[unit->phase];
        for (int z = 0; z < min_int(job->size[Z], phase->count[Z] - job->first[Z]); z++) {
            for (int y = 0; y < min_int(job->size[Y], phase->count[Y] - job->first[Y]); y++) {
                const float *row = packed_row(job, z, y) + unit->first;
                for (int x = 0; x < min_int(job->size[X], phase->count[X] - job->first[X]); x++) {
                    float sums[CONV_BLOCK];
                    for (int c = 0; c < unit->channels; c++) sums[c] = plan->bias[unit->first + c];
                    for (int t = 0; t < phase->tap_count; t++) {
                        const float *input = row + (ptrdiff_t)x * plan->distance + phase->taps[t];
                        const float *weights = plan->weights + unit->weights + (size_t)t * CONV_BLOCK;
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
    const nk_conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int channel = unit->group * plan->group_out + unit->first;
    int size[3];
    for (int a = 0; a < 3; a++) size[a] = min_int(job->size[a], phase->count[a] - job->first[a]);
    if (size[Z] <= 0 || size[Y] <= 0 || size[X] <= 0) return;
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
            memcpy(products + (size_t)i * channels, plan->bias + channel, (size_t)channels * sizeof(float));
        }
        if (depth > 0) {
            cblas_sgemm(
                CblasRowMajor, CblasNoTrans, CblasNoTrans, points, channels, (int)depth, 1, gathered, (int)depth,
                plan->weights + unit->weights, plan->group_out, 1, products, channels);
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

void nk_conv_portable_run(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    if (plan->depthwise) {
        run_plain_depthwise(job, first, end);
        return;
    }
    size_t depth = 1;
    for (int p = 0; p < plan->phase_count; p++) {
        const size_t one = (size_t)plan->phases[p].tap_count * plan->group_in;
        if (one > depth) depth = one;
    }
    float *gathered = job->packed + round_up(plan->block, 16);
    float *products = gathered + round_up((size_t)plan->rows * plan->box[X] * depth, 16);
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
