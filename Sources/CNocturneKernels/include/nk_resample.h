/// Kernels that move values between grids: resampling of images, labelling of native rows from coarse logits, blending
/// of tiles.
///
/// Every function exists in variants for different processors that are chosen when called. All of them do the same
/// additions and multiplications in the same order, never contracted into fused ones, so the results are equal to the
/// last bit on every processor. Pointers must not overlap unless said otherwise. Nothing is allocated.
#ifndef NK_RESAMPLE_H
#define NK_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// x <- max(x, lower); x <- min(x, upper); x <- x - shift; x <- x / divisor, each step rounded to float32.
/// (-infinity, infinity, 0, 1) changes nothing. NaN stays NaN.
typedef struct {
    float lower;
    float upper;
    float shift;
    float divisor;
} nk_pointwise;

/// One row of a separable resampling, from float32 voxels that are mapped by `map` when read.
///
/// out[x] = sum over rows r, then taps t, of ((v * wz[r]) * wy[r]) * x_weights[t * count + x] in float64, where
/// v = map(source[row_offsets[r] + x_offsets[t * count + x]]); rounded to float32 at the end.
void nk_resample_row_f32(
    float *out, ptrdiff_t count, const float *source, const ptrdiff_t *row_offsets, const double *wz,
    const double *wy, int rows, const ptrdiff_t *x_offsets, const double *x_weights, int taps, nk_pointwise map);

/// What `nk_row_statistics` gathers. Starts as {0, 0, infinity, -infinity}.
typedef struct {
    double sum;
    double count;
    float lowest;
    float highest;
} nk_statistics;

/// Adds `count` values, `step` apart, to the statistics: their sum, or (squares != 0) that of the squares of their
/// distances from `centre`, in float64, always in the same eight partial sums. NaN counts in sums only. With `inside`,
/// only the values whose byte there is not 0.
void nk_row_statistics(
    nk_statistics *statistics, const float *values, ptrdiff_t step, const uint8_t *_Nullable inside, ptrdiff_t count,
    double centre, int squares);

/// `nk_resample_row_f32` from float64 coefficients, sum x clamped to [lowest[x * bound_step], highest[x * bound_step]]
/// before it is rounded to float32.
void nk_resample_row_f64(
    float *out, ptrdiff_t count, const double *source, const ptrdiff_t *row_offsets, const double *wz,
    const double *wy, int rows, const ptrdiff_t *x_offsets, const double *x_weights, int taps, const double *lowest,
    const double *highest, ptrdiff_t bound_step);

/// Turns `n` samples into cubic B-spline coefficients, in place, for `lanes` signals that lie side by side: sample i of
/// lane l is c[i * step + l]. Half-sample symmetric ends. n >= 2.
void nk_spline_prefilter_lanes(double *c, ptrdiff_t n, ptrdiff_t step, ptrdiff_t lanes);

/// The same for `rows` signals of contiguous samples, row r at c + r * row_step. `scratch` holds 8 * n values.
void nk_spline_prefilter_rows(double *c, ptrdiff_t n, ptrdiff_t row_step, ptrdiff_t rows, double *scratch);

/// How a row of native voxels lies between four rows of coarse logits, and where along them.
typedef struct {
    /// The rows of class 0: planes z0 and z1, rows y0 and y1. Class c is `class_step * c` further.
    const float *z0y0;
    const float *z0y1;
    const float *z1y0;
    const float *z1y1;
    ptrdiff_t class_step;
    float wz0, wz1, wy0, wy1;
    /// Two taps of every native voxel, ascending, with their weights.
    const int32_t *x0;
    const int32_t *x1;
    const float *wx0;
    const float *wx1;
} nk_label_taps;

/// How logits become a label. regions == 0: the class with the largest logit, the lowest on a tie. regions != 0: the
/// last class with a logit above `threshold`, else label 0. `values` are the labels of the classes.
typedef struct {
    const uint16_t *values;
    int classes;
    int regions;
    float threshold;
} nk_label_decision;

/// Labels one native row: logits are interpolated in float32, along z, then y, then x.
void nk_label_row(uint16_t *labels, ptrdiff_t count, const nk_label_taps *taps, nk_label_decision decision);

/// The taps of `nk_label_row_half`. Rows are named by an outer and an inner axis.
typedef struct {
    /// The rows of class 0: (outer 0, inner 0), (outer 0, inner 1), (outer 1, inner 0), (outer 1, inner 1).
    const float *_Nonnull rows[4];
    ptrdiff_t class_step;
    double outer[2];
    double inner[2];
    const int32_t *x0;
    const int32_t *x1;
    const double *wx0;
    const double *wx1;
    /// 0: eight terms ((v * outer) * inner) * x, summed outer, inner, x. 1: four terms (v * inner) * x for either row
    /// of the outer axis, then these sums by its weights. 2: four terms (v * outer) * inner, then these sums by those
    /// of x.
    int nesting;
} nk_half_taps;

/// Labels one native row from logits that are interpolated in float64 and then rounded once to float16, as SciPy's
/// spline interpolation of degree 1 does with an array of float16.
void nk_label_row_half(uint16_t *labels, ptrdiff_t count, const nk_half_taps *taps, nk_label_decision decision);

/// The same where grids agree: no interpolation. Class c of voxel x is logits[c * class_step + x].
void nk_label_row_direct(
    uint16_t *labels, ptrdiff_t count, const float *logits, ptrdiff_t class_step, nk_label_decision decision);

/// sums[i] += values[i] * weights[i], the product rounded first.
void nk_blend_add(float *sums, const float *values, const float *weights, ptrdiff_t count);

/// sums[i] += values[i].
void nk_blend_accumulate(float *sums, const float *values, ptrdiff_t count);

/// sums[i] += values[count - 1 - i].
void nk_blend_accumulate_reversed(float *sums, const float *values, ptrdiff_t count);

/// out[i] = sums[i] / weights[i]; returns how many results are not finite. `out` may be `sums` or lie before it.
ptrdiff_t nk_blend_divide(float *out, const float *sums, const float *weights, ptrdiff_t count);

/// nk_blend_add, nk_blend_accumulate and nk_blend_divide with every sum and quotient rounded to float16 (to even,
/// subnormals kept) and kept as float32: the arithmetic of nnU-Net on a CPU. Products are rounded to float32 only.
void nk_blend_add_half(float *sums, const float *values, const float *weights, ptrdiff_t count);
void nk_blend_accumulate_half(float *sums, const float *values, ptrdiff_t count);
ptrdiff_t nk_blend_divide_half(float *out, const float *sums, const float *weights, ptrdiff_t count);

/// values[i] /= divisor.
void nk_blend_scale(float *values, float divisor, ptrdiff_t count);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
