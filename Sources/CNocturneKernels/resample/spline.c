// Resampling within planes, one axis after the other: cubic B-spline coefficients by two recursive passes (Unser,
// Aldroubi, Eden 1993), with the initial values of scipy.ndimage's "reflect" mode (half-sample symmetric), then
// weighted sums of them.
#include "nk_resample.h"
#include "spline.h"

#include <string.h>

#pragma STDC FP_CONTRACT OFF

enum { row_lanes = 8, row_chunk = 512 };

typedef float float8 __attribute__((vector_size(32)));
typedef double double8 __attribute__((vector_size(64)));

/// Filters `lanes` adjacent signals of `n` samples, `step` apart.
NK_INLINE void filter_block(double *restrict c, ptrdiff_t n, ptrdiff_t step, ptrdiff_t lanes, double power)
{
    double first[lane_block], sum[lane_block];
    for (ptrdiff_t l = 0; l < lanes; l++) {
        first[l] = c[l] * gain;
        sum[l] = first[l] + power * (c[(n - 1) * step + l] * gain);
    }
    double factor = pole;
    for (ptrdiff_t i = 1; i < n && fabs(factor) > negligible; i++) {
        const double *ahead = c + i * step, *behind = c + (n - 1 - i) * step;
        if (power == 0)
            for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += factor * (ahead[l] * gain);
        else
            for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += factor * (ahead[l] * gain + power * (behind[l] * gain));
        factor *= pole;
    }
    double scale = pole / (1.0 - power * power);
    for (ptrdiff_t l = 0; l < lanes; l++) c[l] = sum[l] * scale + first[l];
    for (ptrdiff_t i = 1; i < n; i++) {
        double *here = c + i * step;
        const double *before = here - step;
        for (ptrdiff_t l = 0; l < lanes; l++) here[l] = here[l] * gain + pole * before[l];
    }
    double last = pole / (pole - 1.0);
    for (ptrdiff_t l = 0; l < lanes; l++) c[(n - 1) * step + l] *= last;
    for (ptrdiff_t i = n - 2; i >= 0; i--) {
        double *here = c + i * step;
        const double *after = here + step;
        for (ptrdiff_t l = 0; l < lanes; l++) here[l] = pole * (after[l] - here[l]);
    }
}

/// The ranges of values in eight lanes.
typedef struct {
    float lowest[row_lanes], highest[row_lanes];
} lane_ranges;

/// Reads and maps up to row_chunk values of row `r`, from sample `begin` on, and extends the ranges to include them.
NK_INLINE void read_mapped(
    float *restrict out, const nk_rows *source, int r, ptrdiff_t begin, ptrdiff_t count, lane_ranges *restrict ranges)
{
    const float *restrict values = source->values + r * source->row_step + begin * source->step;
    const ptrdiff_t step = source->step, inside_step = source->inside_step;
    const uint8_t *inside =
        source->inside ? source->inside + r * source->inside_row_step + begin * source->inside_step : 0;
    const nk_pointwise map = source->map;
    float *restrict lowest = ranges->lowest, *restrict highest = ranges->highest;
    if (step == 1) {
        memcpy(out, values, (size_t)count * sizeof(float));
    } else {
        for (ptrdiff_t i = 0; i < count; i++) out[i] = values[i * step];
    }
    if (inside) {
        for (ptrdiff_t i = 0; i < count; i++) {
            float v = out[i];
            v = v < map.lower ? map.lower : v;
            v = v > map.upper ? map.upper : v;
            v = v - map.shift;
            v = v / map.divisor;
            out[i] = inside[i * inside_step] ? v : out[i];
        }
    } else if (map.divisor != 1 || map.shift != 0 || map.lower != -INFINITY || map.upper != INFINITY) {
        for (ptrdiff_t i = 0; i < count; i++) {
            float v = out[i];
            v = v < map.lower ? map.lower : v;
            v = v > map.upper ? map.upper : v;
            v = v - map.shift;
            out[i] = v / map.divisor;
        }
    }
    ptrdiff_t i = 0;
    for (; i + row_lanes <= count; i += row_lanes)
        for (int l = 0; l < row_lanes; l++) {
            lowest[l] = out[i + l] < lowest[l] ? out[i + l] : lowest[l];
            highest[l] = out[i + l] > highest[l] ? out[i + l] : highest[l];
        }
    for (; i < count; i++) {
        lowest[0] = out[i] < lowest[0] ? out[i] : lowest[0];
        highest[0] = out[i] > highest[0] ? out[i] : highest[0];
    }
}

/// Transposes eight rows of eight to eight columns, in three steps that exchange halves.
#define NK_TRANSPOSE_8(type, r)                                                                                   \
    do {                                                                                                          \
        for (int i = 0; i < 8; i += 2) {                                                                          \
            type a = (r)[i], b = (r)[i + 1];                                                                      \
            (r)[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);                                    \
            (r)[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);                                \
        }                                                                                                         \
        for (int i = 0; i < 8; i += (i & 1) ? 3 : 1) {                                                            \
            type a = (r)[i], b = (r)[i + 2];                                                                      \
            (r)[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);                                     \
            (r)[i + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);                               \
        }                                                                                                         \
        for (int i = 0; i < 4; i++) {                                                                             \
            type a = (r)[i], b = (r)[i + 4];                                                                      \
            (r)[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);                                     \
            (r)[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);                               \
        }                                                                                                         \
    } while (0)

NK_INLINE void sum_taps(double8 *result, const double *restrict c, const nk_axis *axis, ptrdiff_t k)
{
    double8 sum, v;
    memcpy(&v, c + axis->indices[k] * row_lanes, sizeof v);
    sum = v * axis->weights[k];
    for (int t = 1; t < axis->taps; t++) {
        memcpy(&v, c + axis->indices[t * axis->outputs + k] * row_lanes, sizeof v);
        sum += v * axis->weights[t * axis->outputs + k];
    }
    *result = sum;
}

/// Reads up to row_chunk samples of eight rows, from sample `begin` on, as columns of `c`, and extends the ranges to
/// include them.
NK_INLINE void load_columns(
    double *restrict c, const nk_rows *source, ptrdiff_t begin, ptrdiff_t length, lane_ranges *restrict ranges)
{
    float mapped[row_lanes][row_chunk];
    ptrdiff_t i = 0;
    for (int l = 0; l < row_lanes; l++) {
        // If there are fewer rows, the last one is read repeatedly.
        int r = l < source->count ? l : source->count - 1;
        read_mapped(mapped[l], source, r, begin, length, ranges);
    }
    for (; i + 8 <= length; i += 8) {
        float8 block[8];
        for (int l = 0; l < 8; l++) memcpy(&block[l], &mapped[l][i], sizeof(float8));
        NK_TRANSPOSE_8(float8, block);
        for (int l = 0; l < 8; l++) {
            double8 wide = __builtin_convertvector(block[l], double8);
            memcpy(c + (begin + i + l) * row_lanes, &wide, sizeof wide);
        }
    }
    for (; i < length; i++)
        for (int l = 0; l < row_lanes; l++) c[(begin + i) * row_lanes + l] = (double)mapped[l][i];
}

NK_INLINE void nk_resample_rows_body(
    double *out, ptrdiff_t out_step, const nk_rows *source, const nk_axis *axis, double *scratch, nk_range *range)
{
    const ptrdiff_t n = axis->inputs, padding = axis->padding;
    const int rows = source->count;
    lane_ranges ranges;
    for (int l = 0; l < row_lanes; l++) {
        ranges.lowest[l] = range->lowest;
        ranges.highest[l] = range->highest;
    }
    double *restrict c = scratch + padding * row_lanes;
    for (ptrdiff_t begin = 0; begin < n; begin += row_chunk) {
        ptrdiff_t length = n - begin < row_chunk ? n - begin : row_chunk;
        load_columns(c, source, begin, length, &ranges);
    }
    for (int l = 0; l < row_lanes; l++) {
        range->lowest = ranges.lowest[l] < range->lowest ? ranges.lowest[l] : range->lowest;
        range->highest = ranges.highest[l] > range->highest ? ranges.highest[l] : range->highest;
    }
    if (padding > 0) {
        for (ptrdiff_t i = 1; i <= padding; i++) {
            memcpy(c - i * row_lanes, c, row_lanes * sizeof(double));
            memcpy(c + (n - 1 + i) * row_lanes, c + (n - 1) * row_lanes, row_lanes * sizeof(double));
        }
        filter_block(scratch, n + 2 * padding, row_lanes, row_lanes, power_of_pole(n + 2 * padding));
    }
    const ptrdiff_t m = axis->outputs;
    ptrdiff_t k = 0;
    if (rows == row_lanes) {
        for (; k + 8 <= m; k += 8) {
            double8 block[8];
            for (int q = 0; q < 8; q++) sum_taps(&block[q], scratch, axis, k + q);
            NK_TRANSPOSE_8(double8, block);
            for (int l = 0; l < 8; l++) memcpy(out + l * out_step + k, &block[l], sizeof(double8));
        }
    }
    for (; k < m; k++) {
        double8 value;
        sum_taps(&value, scratch, axis, k);
        for (int l = 0; l < rows; l++) out[l * out_step + k] = value[l];
    }
}

NK_VARIANTS(
    void, nk_resample_rows,
    (double *out, ptrdiff_t out_step, const nk_rows *source, const nk_axis *axis, double *scratch, nk_range *range),
    (out, out_step, source, axis, scratch, range))

/// Resamples `lanes` of the signals, at most lane_block, from signal `first_lane` on.
NK_INLINE void resample_lanes(
    double *restrict out, ptrdiff_t out_step, const nk_lanes *signals, ptrdiff_t first_lane, ptrdiff_t lanes,
    const nk_axis *axis, double *restrict c)
{
    const double *restrict source = signals->values + first_lane;
    const ptrdiff_t source_step = signals->step;
    const double low = signals->low, high = signals->high;
    const ptrdiff_t n = axis->inputs, padding = axis->padding, size = n + 2 * padding, m = axis->outputs;
    for (ptrdiff_t i = 0; i < size; i++) {
        ptrdiff_t from = i - padding;
        from = from < 0 ? 0 : from >= n ? n - 1 : from;
        for (ptrdiff_t l = 0; l < lanes; l++) c[i * lane_block + l] = source[from * source_step + l];
    }
    if (padding > 0) filter_block(c, size, lane_block, lanes, power_of_pole(size));
    for (ptrdiff_t k = 0; k < m; k++) {
        double sum[lane_block];
        const double *first = c + axis->indices[k] * lane_block;
        double weight = axis->weights[k];
        for (ptrdiff_t l = 0; l < lanes; l++) sum[l] = first[l] * weight;
        for (int t = 1; t < axis->taps; t++) {
            const double *tap = c + axis->indices[t * m + k] * lane_block;
            double w = axis->weights[t * m + k];
            for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += tap[l] * w;
        }
        double *to = out + k * out_step + first_lane;
        for (ptrdiff_t l = 0; l < lanes; l++) {
            double v = sum[l];
            v = v < low ? low : v;
            to[l] = v > high ? high : v;
        }
    }
}

NK_INLINE void nk_resample_lanes_body(
    double *out, ptrdiff_t out_step, const nk_lanes *source, const nk_axis *axis, double *scratch)
{
    const ptrdiff_t lanes = source->count;
    ptrdiff_t l = 0;
    for (; l + lane_block <= lanes; l += lane_block)
        resample_lanes(out, out_step, source, l, lane_block, axis, scratch);
    if (l < lanes) resample_lanes(out, out_step, source, l, lanes - l, axis, scratch);
}

NK_VARIANTS(
    void, nk_resample_lanes,
    (double *out, ptrdiff_t out_step, const nk_lanes *source, const nk_axis *axis, double *scratch),
    (out, out_step, source, axis, scratch))

NK_INLINE void nk_clamp_body(float *values, ptrdiff_t count, float low, float high)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        float v = values[i];
        v = v < low ? low : v;
        values[i] = v > high ? high : v;
    }
}

NK_VARIANTS(void, nk_clamp, (float *values, ptrdiff_t count, float low, float high), (values, count, low, high))
