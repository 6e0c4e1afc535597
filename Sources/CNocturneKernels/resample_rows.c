// Separable resampling of image rows. The order of terms (z outermost, x innermost, float64) is the one of
// scipy.ndimage's spline interpolation, which nnU-Net uses, so that images agree to the last bit.
#include "nk_resample.h"
#include "resample_variants.h"

#pragma STDC FP_CONTRACT OFF

enum { chunk_length = 256 };

NK_INLINE void nk_resample_row_f32_body(
    float *restrict out, ptrdiff_t count, const float *restrict source, const ptrdiff_t *row_offsets, const double *wz,
    const double *wy, int rows, const ptrdiff_t *restrict x_offsets, const double *restrict x_weights, int taps,
    nk_pointwise map)
{
    double sums[chunk_length];
    float read[chunk_length];
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) sums[i] = 0;
        for (int r = 0; r < rows; r++) {
            const float *row = source + row_offsets[r];
            double weight_z = wz[r], weight_y = wy[r];
            for (int t = 0; t < taps; t++) {
                const ptrdiff_t *offsets = x_offsets + t * count + begin;
                const double *weights = x_weights + t * count + begin;
                // Loads apart from arithmetic: the second loop becomes vector code.
                for (ptrdiff_t i = 0; i < length; i++) read[i] = row[offsets[i]];
                for (ptrdiff_t i = 0; i < length; i++) {
                    float v = read[i];
                    v = v < map.lower ? map.lower : v;
                    v = v > map.upper ? map.upper : v;
                    v = v - map.shift;
                    v = v / map.divisor;
                    sums[i] += (((double)v * weight_z) * weight_y) * weights[i];
                }
            }
        }
        for (ptrdiff_t i = 0; i < length; i++) out[begin + i] = (float)sums[i];
    }
}

NK_VARIANTS(
    void, nk_resample_row_f32,
    (float *out, ptrdiff_t count, const float *source, const ptrdiff_t *row_offsets, const double *wz,
     const double *wy, int rows, const ptrdiff_t *x_offsets, const double *x_weights, int taps, nk_pointwise map),
    (out, count, source, row_offsets, wz, wy, rows, x_offsets, x_weights, taps, map))

NK_INLINE void nk_resample_row_f64_body(
    float *restrict out, ptrdiff_t count, const double *restrict source, const ptrdiff_t *row_offsets, const double *wz,
    const double *wy, int rows, const ptrdiff_t *restrict x_offsets, const double *restrict x_weights, int taps,
    const double *lowest, const double *highest, ptrdiff_t bound_step)
{
    double sums[chunk_length];
    double read[chunk_length];
    for (ptrdiff_t begin = 0; begin < count; begin += chunk_length) {
        ptrdiff_t length = count - begin < chunk_length ? count - begin : chunk_length;
        for (ptrdiff_t i = 0; i < length; i++) sums[i] = 0;
        for (int r = 0; r < rows; r++) {
            const double *row = source + row_offsets[r];
            double weight_z = wz[r], weight_y = wy[r];
            for (int t = 0; t < taps; t++) {
                const ptrdiff_t *offsets = x_offsets + t * count + begin;
                const double *weights = x_weights + t * count + begin;
                for (ptrdiff_t i = 0; i < length; i++) read[i] = row[offsets[i]];
                for (ptrdiff_t i = 0; i < length; i++) {
                    sums[i] += ((read[i] * weight_z) * weight_y) * weights[i];
                }
            }
        }
        for (ptrdiff_t i = 0; i < length; i++) {
            double v = sums[i], low = lowest[(begin + i) * bound_step], high = highest[(begin + i) * bound_step];
            v = v < low ? low : v;
            v = v > high ? high : v;
            out[begin + i] = (float)v;
        }
    }
}

NK_VARIANTS(
    void, nk_resample_row_f64,
    (float *out, ptrdiff_t count, const double *source, const ptrdiff_t *row_offsets, const double *wz,
     const double *wy, int rows, const ptrdiff_t *x_offsets, const double *x_weights, int taps, const double *lowest,
     const double *highest, ptrdiff_t bound_step),
    (out, count, source, row_offsets, wz, wy, rows, x_offsets, x_weights, taps, lowest, highest,
     bound_step))

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
            // Few images have a mask: no vector code for them.
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
