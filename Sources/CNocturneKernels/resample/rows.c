// Separable resampling of image rows. The order of terms (z outermost, x innermost, float64) is that of scipy.ndimage's
// spline interpolation, which nnU-Net uses, so that images are identical to the last bit.
#include "nk_resample.h"
#include "../variants.h"

#include <math.h>

#pragma STDC FP_CONTRACT OFF

enum { chunk_length = 256 };

/// Loads are separate from arithmetic, so that the arithmetic is vectorised. `r`: which of the rows.
NK_INLINE void read_row(
    float *restrict read, const nk_row_source *source, const nk_source_rows *rows, int r, ptrdiff_t first,
    ptrdiff_t length)
{
    const nk_pointwise map = source->map;
    const float *row = source->values + rows->row_offsets[r];
    const ptrdiff_t *offsets = source->x_offsets + first;
    for (ptrdiff_t i = 0; i < length; i++) read[i] = row[offsets[i]];
    if (source->inside) {
        const uint8_t *inside = source->inside + rows->inside_row_offsets[r];
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

/// The two taps along x in float32: `out` has the first one's values, `read` the second one's.
NK_INLINE void mix_taps(
    float *restrict out, const float *restrict read, const double *first, const double *second, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) out[i] = out[i] * (float)first[i] + read[i] * (float)second[i];
}

NK_INLINE void nk_resample_row_body(
    float *restrict out, ptrdiff_t count, const nk_row_source *source, const nk_source_rows *from)
{
    const double *wz = from->wz, *wy = from->wy;
    const int rows = from->rows;
    double sums[chunk_length];
    float read[chunk_length], lines[4][chunk_length];
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        if (source->single) {
            const double *weights = source->x_weights + begin;
            for (int r = 0; r < rows; r++) {
                read_row(lines[r], source, from, r, begin, length);
                if (source->taps == 1) continue;
                read_row(read, source, from, r, count + begin, length);
                mix_taps(lines[r], read, weights, weights + count, length);
            }
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
                read_row(read, source, from, r, t * count + begin, length);
                for (ptrdiff_t i = 0; i < length; i++)
                    sums[i] += (((double)read[i] * weights[i]) * weight_y) * weight_z;
            }
        }
        for (int r = 0; !source->x_first && r < rows; r++) {
            double weight_z = wz[r], weight_y = wy[r];
            for (int t = 0; t < source->taps; t++) {
                read_row(read, source, from, r, t * count + begin, length);
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
    (float *out, ptrdiff_t count, const nk_row_source *source, const nk_source_rows *rows),
    (out, count, source, rows))

enum { lanes = 8 };

NK_INLINE void nk_row_statistics_body(nk_statistics *statistics, nk_masked_row row, double centre, int squares)
{
    const float *values = row.values;
    const uint8_t *inside = row.inside;
    const ptrdiff_t step = row.step, count = row.count;
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
    void, nk_row_statistics, (nk_statistics *statistics, nk_masked_row row, double centre, int squares),
    (statistics, row, centre, squares))
