/* Pooling and linear interpolation on channels-last activations. */
#include "nk_ops.h"
#include "internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

static inline int32_t min_int32(int32_t a, int32_t b) { return a < b ? a : b; }

NK_CLONES
static void update_maximum(float *restrict best, const float *restrict values, size_t count) {
    for (size_t c = 0; c < count; c++) best[c] = values[c] > best[c] ? values[c] : best[c];
}

NK_CLONES
static void add_up(float *restrict sum, const float *restrict values, size_t count) {
    for (size_t c = 0; c < count; c++) sum[c] += values[c];
}

void nk_pool(const nk_pool_desc *d, const float *in, float *out, size_t begin, size_t end) {
    const size_t channels = (size_t)d->channels;
    for (size_t row = begin; row < end; row++) {
        const int32_t oz = (int32_t)(row / (size_t)d->out[1]), oy = (int32_t)(row % (size_t)d->out[1]);
        for (int32_t ox = 0; ox < d->out[2]; ox++) {
            float *to = out + (row * (size_t)d->out[2] + (size_t)ox) * channels;
            const int32_t o[3] = {oz, oy, ox};
            int32_t start[3];
            int64_t padded = 1, inside = 0;
            for (int axis = 0; axis < 3; axis++) {
                start[axis] = o[axis] * d->stride[axis] - d->pad[axis];
                /* A window that extends beyond the padding, because the extent was rounded up, counts only up to its
                   end. */
                const int32_t left = d->padded[axis] - d->pad[axis] - start[axis];
                padded *= min_int32(d->kernel[axis], (left + d->dilation[axis] - 1) / d->dilation[axis]);
            }
            const float initial = d->mode == 0 ? -INFINITY : 0.0f;
            for (size_t c = 0; c < channels; c++) to[c] = initial;
            for (int32_t kz = 0; kz < d->kernel[0]; kz++) {
                const int32_t z = start[0] + kz * d->dilation[0];
                if (z < 0 || z >= d->in[0]) continue;
                for (int32_t ky = 0; ky < d->kernel[1]; ky++) {
                    const int32_t y = start[1] + ky * d->dilation[1];
                    if (y < 0 || y >= d->in[1]) continue;
                    for (int32_t kx = 0; kx < d->kernel[2]; kx++) {
                        const int32_t x = start[2] + kx * d->dilation[2];
                        if (x < 0 || x >= d->in[2]) continue;
                        const float *from =
                            in + (((size_t)z * (size_t)d->in[1] + (size_t)y) * (size_t)d->in[2] + (size_t)x) * channels;
                        inside++;
                        if (d->mode == 0) {
                            update_maximum(to, from, channels);
                        } else {
                            add_up(to, from, channels);
                        }
                    }
                }
            }
            if (d->mode != 0) {
                const int64_t count = d->mode == 1 ? inside : padded;
                const float divisor = count > 0 ? (float)count : 1.0f;
                for (size_t c = 0; c < channels; c++) to[c] = to[c] / divisor;
            }
        }
    }
}

NK_CLONES
static void blend(float *restrict out, const float *const *corners, const float *weights, size_t count) {
    for (size_t c = 0; c < count; c++) {
        float sum = weights[0] * corners[0][c];
        for (int corner = 1; corner < 8; corner++) sum += weights[corner] * corners[corner][c];
        out[c] = sum;
    }
}

void nk_interpolate(const nk_interpolation *d, const float *in, float *out, size_t begin, size_t end) {
    const size_t channels = (size_t)d->channels;
    for (size_t row = begin; row < end; row++) {
        const size_t oz = row / (size_t)d->out[1], oy = row % (size_t)d->out[1];
        const int32_t z[2] = {d->low[0][oz], d->high[0][oz]}, y[2] = {d->low[1][oy], d->high[1][oy]};
        const float wz[2] = {1.0f - d->weight[0][oz], d->weight[0][oz]};
        const float wy[2] = {1.0f - d->weight[1][oy], d->weight[1][oy]};
        for (size_t ox = 0; ox < (size_t)d->out[2]; ox++) {
            const int32_t x[2] = {d->low[2][ox], d->high[2][ox]};
            const float wx[2] = {1.0f - d->weight[2][ox], d->weight[2][ox]};
            const float *corners[8];
            float weights[8];
            for (int corner = 0; corner < 8; corner++) {
                const int i = corner >> 2, j = (corner >> 1) & 1, k = corner & 1;
                const size_t row_of = (size_t)z[i] * (size_t)d->in[1] + (size_t)y[j];
                corners[corner] = in + (row_of * (size_t)d->in[2] + (size_t)x[k]) * channels;
                weights[corner] = wz[i] * wy[j] * wx[k];
            }
            blend(out + (row * (size_t)d->out[2] + ox) * channels, corners, weights, channels);
        }
    }
}
