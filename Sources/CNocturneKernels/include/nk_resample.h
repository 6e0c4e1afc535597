/// Kernels that move values between grids: resampling of images, labelling of native rows from coarse logits, blending
/// of tiles.
///
/// Every function exists in variants for different processors that are selected when called. All of them do the same
/// additions and multiplications in the same order, never contracted into fused ones, so the results are identical to
/// the last bit on every processor. Pointers must not overlap unless stated otherwise. Nothing is allocated.
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
/// v = map(source[row_offsets[r] + x_offsets[t * count + x]]); rounded to float32 at the end. With a mask, voxels whose
/// byte inside[inside_row_offsets[r] + inside_x_offsets[t * count + x]] is 0 are not mapped.
///
/// x_first != 0: terms ((v * x_weights[t * count + x]) * wy[r]) * wz[r], over taps t, then rows r: the order of an array whose
/// first axis is x.
///
/// truncates != 0: the float64 sum loses its fraction before it is rounded to float32, as by a conversion to an integer.
///
/// single != 0: all in float32, along x, then y, then z, with 1 or 2 taps each: torch's linear interpolation. There are
/// `y_taps` rows for each z.
typedef struct {
    const float *values;
    const ptrdiff_t *x_offsets;
    const double *x_weights;
    int taps;
    int y_taps;
    int single;
    int x_first;
    int truncates;
    nk_pointwise map;
    const uint8_t *_Nullable inside;
    const ptrdiff_t *inside_x_offsets;
} nk_row_source;

/// The rows from which one is made: where they and their bytes of the mask begin, and their weights.
typedef struct {
    const ptrdiff_t *row_offsets;
    const ptrdiff_t *inside_row_offsets;
    const double *wz;
    const double *wy;
    int rows;
} nk_source_rows;

void nk_resample_row(float *out, ptrdiff_t count, const nk_row_source *source, const nk_source_rows *rows);

/// The result of `nk_row_statistics`. Initially {0, 0, infinity, -infinity}.
typedef struct {
    double sum;
    double count;
    float lowest;
    float highest;
} nk_statistics;

/// `count` values, `step` apart. With `inside`, only those whose byte there is not 0 are counted.
typedef struct {
    const float *values;
    ptrdiff_t step;
    const uint8_t *_Nullable inside;
    ptrdiff_t count;
} nk_masked_row;

/// Adds the values of a row to the statistics: their sum, or (squares != 0) that of the squares of their distances from
/// `centre`, in float64, always in the same eight partial sums. NaN affects only the sums.
void nk_row_statistics(nk_statistics *statistics, nk_masked_row row, double centre, int squares);

/// How one axis is resampled: output k is the sum over taps t of sample indices[t * outputs + k] of the axis, widened
/// by `padding` copies of its ends, times weights[t * outputs + k]. With a padding, samples are first converted to
/// cubic B-spline coefficients (half-sample symmetric ends).
typedef struct {
    ptrdiff_t inputs;
    ptrdiff_t outputs;
    ptrdiff_t padding;
    int taps;
    const ptrdiff_t *indices;
    const double *weights;
} nk_axis;

/// One to eight rows of an image, and which of their voxels are mapped (all voxels without `inside`).
typedef struct {
    const float *values;
    ptrdiff_t row_step;
    ptrdiff_t step;
    const uint8_t *_Nullable inside;
    ptrdiff_t inside_row_step;
    ptrdiff_t inside_step;
    nk_pointwise map;
    int count;
} nk_rows;

/// The smallest and largest value so far, ignoring NaN. Initially {infinity, -infinity}.
typedef struct {
    float lowest;
    float highest;
} nk_range;

/// Resamples rows along their own axis, in float64, to rows of contiguous values `out_step` apart. `scratch`
/// holds 8 * (inputs + 2 * padding) values. `range` is extended to include the mapped values.
void nk_resample_rows(
    double *out, ptrdiff_t out_step, const nk_rows *source, const nk_axis *axis, double *scratch, nk_range *range);

/// Adjacent signals, with sample i of signal l at values[i * step + l], and the range to which what is made of them is
/// clamped.
typedef struct {
    const double *values;
    ptrdiff_t step;
    ptrdiff_t count;
    double low;
    double high;
} nk_lanes;

/// Resamples adjacent signals; samples of the result are `out_step` apart. `scratch` holds 32 * (inputs + 2 * padding)
/// values.
void nk_resample_lanes(double *out, ptrdiff_t out_step, const nk_lanes *source, const nk_axis *axis, double *scratch);

/// A ring buffer of planes, through which an image is resampled along the axis perpendicular to them: plane p of the
/// widened axis is in slot p % slots. One call continues with the newly loaded planes `loaded_before` to `loaded`,
/// computes the coefficients of `final_before` to `final`, and the outputs `first_output` to `end_output`, whose taps
/// are all available.
typedef struct {
    double *ring;
    ptrdiff_t plane_step;
    ptrdiff_t slots;
    /// Planes of the widened axis. `final` equals `loaded` once all planes are loaded, otherwise it is sufficiently far
    /// below.
    ptrdiff_t samples;
    ptrdiff_t loaded_before;
    ptrdiff_t loaded;
    ptrdiff_t final_before;
    ptrdiff_t final;
    ptrdiff_t first_output;
    ptrdiff_t end_output;
    int is_filtered;
    nk_axis axis;
    /// Floats of the result from one output plane to the next, and from one lane to the next.
    ptrdiff_t out_plane_step;
    ptrdiff_t out_step;
} nk_stream;

/// Continues for lanes `lane` to `lane + lanes` of the planes; lane `lane` of output plane 0 is written to `out`.
void nk_resample_stream(const nk_stream *stream, ptrdiff_t lane, ptrdiff_t lanes, float *out);

/// values[i] = min(max(values[i], low), high); NaN stays NaN.
void nk_clamp(float *values, ptrdiff_t count, float low, float high);

/// The position of a row of native voxels between four rows of coarse logits, and the positions along them.
typedef struct {
    /// The rows of class 0: planes z0 and z1, rows y0 and y1. Class c is at an offset of `class_step * c`.
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

/// How logits are converted to a label. regions == 0: the class with the largest logit, the lowest on a tie. regions !=
/// 0: the last class with a logit above `threshold`, else label 0. `values` are the labels of the classes.
typedef struct {
    const uint16_t *values;
    int classes;
    int regions;
    float threshold;
} nk_label_decision;

/// Labels one native row: logits are interpolated in float32, along z, then y, then x.
void nk_label_row(uint16_t *labels, ptrdiff_t count, const nk_label_taps *taps, nk_label_decision decision);

/// The same row in the logits of several networks.
typedef struct {
    const nk_label_taps *taps;
    int count;
} nk_label_members;

/// Labels one native row by the mean probabilities of several networks: their logits are interpolated as by `nk_label_row`,
/// and become probabilities by softmax over the classes, or by the logistic function for regions, of which the last one with
/// a mean above `threshold` counts. `probabilities` receives the mean of the label that is chosen, 1 where no region is.
/// `scratch` has `nk_label_row_mean_scratch(classes)` floats.
void nk_label_row_mean(
    uint16_t *labels, float *probabilities, ptrdiff_t count, nk_label_members members,
    const nk_label_decision *decision, float *scratch);

ptrdiff_t nk_label_row_mean_scratch(int classes);

/// `form`: what planes hold: logits, or probabilities, of exclusive classes or of independent regions.
enum {
    /// Softmax over the classes follows.
    NK_LOGITS_OF_CLASSES,
    /// The logistic function follows.
    NK_LOGITS_OF_REGIONS,
    NK_PROBABILITIES,
    /// Probabilities of which one half was subtracted.
    NK_PROBABILITIES_LESS_HALF,
};

/// Which probabilities of a row are stored: those of class c begin places[c] * step bytes after the row's first; classes
/// with a negative place are left out. `form`: of the planes.
typedef struct {
    const int32_t *places;
    int classes;
    int form;
    ptrdiff_t step;
} nk_probability_bytes;

/// The mean probabilities of several networks in one native row, as whole numbers of 1/255, rounded to the nearest. The
/// planes are interpolated as by `nk_label_row`. `scratch` has `nk_label_row_mean_scratch(classes)` floats.
void nk_row_probabilities(
    uint8_t *bytes, ptrdiff_t count, nk_label_members members, const nk_probability_bytes *stored, float *scratch);

/// Labels and their probabilities without interpolation: class c of voxel i is logits[c * class_step + i]. Softmax over the
/// classes, or the logistic function of the region that is chosen. 1 for voxels without a region, and possibly for voxels
/// of label 0.
void nk_label_probabilities(
    uint16_t *labels, float *probabilities, ptrdiff_t count, const float *logits, ptrdiff_t class_step,
    const nk_label_decision *decision);

/// The taps of `nk_label_row_half`. Rows are identified by an outer and an inner axis.
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

/// Labels one native row from logits that are interpolated in float64 and then rounded once to float16, as in SciPy's
/// spline interpolation of degree 1 with an array of float16.
void nk_label_row_half(uint16_t *labels, ptrdiff_t count, const nk_half_taps *taps, nk_label_decision decision);

/// The same where the grids are identical: no interpolation. Class c of voxel x is logits[c * class_step + x].
void nk_label_row_direct(
    uint16_t *labels, ptrdiff_t count, const float *logits, ptrdiff_t class_step, nk_label_decision decision);

/// A row of labels between up to four rows of another grid.
typedef struct {
    /// z_taps * y_taps rows, those of one z adjacent.
    const int32_t *_Nonnull rows[4];
    /// 1 or 2 each.
    int z_taps, y_taps, x_taps;
    double wz[2], wy[2];
    /// Sample and weight of tap t of voxel i at t * count + i.
    const ptrdiff_t *x;
    const double *wx;
    /// The taps that are the nearest voxel.
    int near_z, near_y;
    const uint8_t *near_x;
    /// Uses float32 and float16 instead of float64.
    int single;
    /// The axis (0 = x) along which slices are evaluated first and then weighted against each other; -1 for none.
    int last_axis;
} nk_label_rows;

/// The label with the largest score at each voxel: the score is the sum of the weights of the taps with that label.
void nk_label_by_score(int32_t *labels, ptrdiff_t count, const nk_label_rows *rows);

/// Converts labels, `step` apart, to int32; labels that are 0 where `inside` is 0 become -1.
void nk_read_labels(
    int32_t *out, const uint16_t *labels, ptrdiff_t step, const uint8_t *_Nullable inside, ptrdiff_t count);

/// out[i] = 1 where labels[i] is `value`, else 0.
void nk_indicate(float *out, const int32_t *labels, ptrdiff_t count, int32_t value);

/// sums[i] += values[i] * weights[i], the product rounded first.
void nk_blend_add(float *sums, const float *values, const float *weights, ptrdiff_t count);

/// sums[i] += values[i].
void nk_blend_accumulate(float *sums, const float *values, ptrdiff_t count);

/// sums[i] += values[count - 1 - i].
void nk_blend_accumulate_reversed(float *sums, const float *values, ptrdiff_t count);

/// out[i] = sums[i] / weights[i]; returns the number of results that are not finite. `out` may be `sums` or precede it.
ptrdiff_t nk_blend_divide(float *out, const float *sums, const float *weights, ptrdiff_t count);

/// nk_blend_add, nk_blend_accumulate and nk_blend_divide with every sum and quotient rounded to float16 (to even,
/// subnormals kept) and stored as float32: the arithmetic of nnU-Net on a CPU. Products are rounded only to float32.
void nk_blend_add_half(float *sums, const float *values, const float *weights, ptrdiff_t count);
void nk_blend_accumulate_half(float *sums, const float *values, ptrdiff_t count);
ptrdiff_t nk_blend_divide_half(float *out, const float *sums, const float *weights, ptrdiff_t count);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
