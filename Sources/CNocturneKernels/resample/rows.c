// Separable resampling of image rows. The order of terms (z outermost, x innermost, float64) is that of scipy.ndimage's
// spline interpolation, which nnU-Net uses, so that images are identical to the last bit.
#include "nk_resample.h"
#include "../variants.h"

#include <math.h>

#pragma STDC FP_CONTRACT OFF

enum { chunk_length = 256 };

/// Loads are separate from arithmetic, so that the arithmetic is vectorised.
NK_INLINE void read_row(
    float *restrict read, const nk_row_source *source, ptrdiff_t row_offset, ptrdiff_t inside_row_offset,
    ptrdiff_t first, ptrdiff_t length)
{
    const nk_pointwise map = source->map;
    const float *row = source->values + row_offset;
    const ptrdiff_t *offsets = source->x_offsets + first;
    for (ptrdiff_t i = 0; i < length; i++) read[i] = row[offsets[i]];
    if (source->inside) {
        const uint8_t *inside = source->inside + inside_row_offset;
        const ptrdiff_t *places = source->inside_x_offsets + first;
        for (ptrdiff_t i = 0; i < length; i++) {
            float v = read[i];
            v = v < map.lower ? map.lower : v;
            v = v > map.upper ? map.upper : v;
            v = v - map.shift;
            v = v / map.divisor;
            read[i] = inside[places[i]] ? v : read[i];
        }
    } else {
        for (ptrdiff_t i = 0; i < length; i++) {
            float v = read[i];
            v = v < map.lower ? map.lower : v;
            v = v > map.upper ? map.upper : v;
            v = v - map.shift;
            read[i] = v / map.divisor;
        }
    }
}

/// Along x in float32.
NK_INLINE void single_row(
    float *restrict out, const nk_row_source *source, ptrdiff_t row_offset, ptrdiff_t inside_row_offset,
    ptrdiff_t begin, ptrdiff_t length, ptrdiff_t count)
{
    float read[chunk_length];
    read_row(out, source, row_offset, inside_row_offset, begin, length);
    if (source->taps == 1) return;
    read_row(read, source, row_offset, inside_row_offset, count + begin, length);
    const double *first = source->x_weights + begin, *second = first + count;
    for (ptrdiff_t i = 0; i < length; i++) out[i] = out[i] * (float)first[i] + read[i] * (float)second[i];
}

NK_INLINE void nk_resample_row_body(
    float *restrict out, ptrdiff_t count, const nk_row_source *source, const ptrdiff_t *row_offsets,
    const ptrdiff_t *inside_row_offsets, const double *wz, const double *wy, int rows)
{
    double sums[chunk_length];
    float read[chunk_length], lines[4][chunk_length];
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        if (source->single) {
            for (int r = 0; r < rows; r++)
                single_row(lines[r], source, row_offsets[r], inside_row_offsets[r], begin, length, count);
            for (int r = 0; r < rows && source->y_taps == 2; r += 2) {
                float w0 = (float)wy[r], w1 = (float)wy[r + 1];
                for (ptrdiff_t i = 0; i < length; i++) lines[r][i] = lines[r][i] * w0 + lines[r + 1][i] * w1;
            }
            if (rows > source->y_taps) {
                float w0 = (float)wz[0], w1 = (float)wz[source->y_taps];
                for (ptrdiff_t i = 0; i < length; i++)
                    lines[0][i] = lines[0][i] * w0 + lines[source->y_taps][i] * w1;
            }
            for (ptrdiff_t i = 0; i < length; i++) out[begin + i] = lines[0][i];
            continue;
        }
        for (ptrdiff_t i = 0; i < length; i++) sums[i] = 0;
        for (int t = 0; source->x_first && t < source->taps; t++) {
            const double *weights = source->x_weights + t * count + begin;
            for (int r = 0; r < rows; r++) {
                const double weight_z = wz[r], weight_y = wy[r];
                read_row(read, source, row_offsets[r], inside_row_offsets[r], t * count + begin, length);
                for (ptrdiff_t i = 0; i < length; i++)
                    sums[i] += (((double)read[i] * weights[i]) * weight_y) * weight_z;
            }
        }
        for (int r = 0; !source->x_first && r < rows; r++) {
            double weight_z = wz[r], weight_y = wy[r];
            for (int t = 0; t < source->taps; t++) {
                read_row(read, source, row_offsets[r], inside_row_offsets[r], t * count + begin, length);
                const double *weights = source->x_weights + t * count + begin;
                for (ptrdiff_t i = 0; i < length; i++)
                    sums[i] += (((double)read[i] * weight_z) * weight_y) * weights[i];
            }
        }
        if (source->truncates)
            for (ptrdiff_t i = 0; i < length; i++) sums[i] = trunc(sums[i]);
        for (ptrdiff_t i = 0; i < length; i++) out[begin + i] = (float)sums[i];
    }
}

NK_VARIANTS(
    void, nk_resample_row,
    (float *out, ptrdiff_t count, const nk_row_source *source, const ptrdiff_t *row_offsets,
     const ptrdiff_t *inside_row_offsets, const double *wz, const double *wy, int rows),
    (out, count, source, row_offsets, inside_row_offsets, wz, wy, rows))

enum { lanes = 8 };

NK_INLINE void nk_row_statistics_body(
    nk_statistics *statistics, const float *values, ptrdiff_t step, const uint8_t *inside, ptrdiff_t count,
    double centre, int squares)
{
    double sums[lanes] = {0};
    float lowest[lanes], highest[lanes], read[lanes];
    for (int l = 0; l < lanes; l++) {
        lowest[l] = statistics->lowest;
        highest[l] = statistics->highest;
    }
    for (ptrdiff_t begin = 0; begin < count; begin += lanes) {
        int length = count - begin < lanes ? (int)(count - begin) : lanes;
        if (inside) {
            // Few images have a mask: no vector code is needed for them.
            for (int l = 0; l < length; l++) {
                if (!inside[begin + l]) continue;
                float value = values[(begin + l) * step];
                double distance = (double)value - centre;
                sums[l] += squares ? distance * distance : distance;
                lowest[l] = value < lowest[l] ? value : lowest[l];
                highest[l] = value > highest[l] ? value : highest[l];
                statistics->count += 1;
            }
            continue;
        }
        if (length == lanes && step == 1) {
            for (int l = 0; l < lanes; l++) read[l] = values[begin + l];
        } else {
            for (int l = 0; l < length; l++) read[l] = values[(begin + l) * step];
        }
        if (length == lanes) {
            for (int l = 0; l < lanes; l++) {
                double distance = (double)read[l] - centre;
                sums[l] += squares ? distance * distance : distance;
                lowest[l] = read[l] < lowest[l] ? read[l] : lowest[l];
                highest[l] = read[l] > highest[l] ? read[l] : highest[l];
            }
        } else {
            for (int l = 0; l < length; l++) {
                double distance = (double)read[l] - centre;
                sums[l] += squares ? distance * distance : distance;
                lowest[l] = read[l] < lowest[l] ? read[l] : lowest[l];
                highest[l] = read[l] > highest[l] ? read[l] : highest[l];
            }
        }
    }
    double total = 0;
    for (int l = 0; l < lanes; l++) {
        total += sums[l];
        statistics->lowest = lowest[l] < statistics->lowest ? lowest[l] : statistics->lowest;
        statistics->highest = highest[l] > statistics->highest ? highest[l] : statistics->highest;
    }
    statistics->sum += total;
    if (!inside) statistics->count += (double)count;
}

NK_VARIANTS(
    void, nk_row_statistics,
    (nk_statistics *statistics, const float *values, ptrdiff_t step, const uint8_t *inside, ptrdiff_t count,
     double centre, int squares),
    (statistics, values, step, inside, count, centre, squares))
