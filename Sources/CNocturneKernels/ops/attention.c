/* Softmax, normalisation of rows, and attention. */
#include "nk_ops.h"
#include "functions.h"
#include "internal.h"

#include <math.h>

enum { LANES = 16 };

/* Below this, exp is not a normal number. */
#define SMALLEST_EXPONENT -87.0f
/* Below this, exp is negligible relative to the 1 of the largest score, even a million times. */
#define NEGLIGIBLE_EXPONENT -60.0f

NK_INLINE float largest_of(const float *from, size_t n) {
    float lanes[LANES];
    for (int l = 0; l < LANES; l++) lanes[l] = -INFINITY;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) lanes[l] = from[i + l] > lanes[l] ? from[i + l] : lanes[l];
    }
    float largest = -INFINITY;
    for (int l = 0; l < LANES; l++) largest = lanes[l] > largest ? lanes[l] : largest;
    for (; i < n; i++) largest = from[i] > largest ? from[i] : largest;
    return largest;
}

/* exp(x), and 0 below `low`: denormal numbers would make the products that follow slow. NaN stays. */
NK_INLINE float weight(float x, float low) { return x < low ? 0.0f : exponential(x); }

/* to[i] = exp(from[i] - largest), or 0 where the difference is below `low`; their sum. */
NK_INLINE double exponentials(const float *from, float *to, size_t n, float largest, float low) {
    double sum = 0;
    for (size_t begin = 0; begin < n; begin += 64 * LANES) {
        const size_t end = n - begin < 64 * LANES ? n : begin + 64 * LANES;
        NK_VECTORISE
        for (size_t i = begin; i < end; i++) to[i] = weight(from[i] - largest, low);
        /* Few enough that float32 is exact to a few units in the last place. */
        float lanes[LANES] = {0};
        size_t i = begin;
        for (; i + LANES <= end; i += LANES) {
            for (int l = 0; l < LANES; l++) lanes[l] += to[i + l];
        }
        for (int l = 0; l < LANES; l++) sum += lanes[l];
        for (; i < end; i++) sum += to[i];
    }
    return sum;
}

NK_CLONES
static void softmax_row(const float *from, float *to, size_t n, int32_t logarithm) {
    const float largest = largest_of(from, n);
    if (logarithm) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += exponential(from[i] - largest);
        const float offset = (float)log(sum);
        for (size_t i = 0; i < n; i++) to[i] = from[i] - largest - offset;
        return;
    }
    const float factor = (float)(1 / exponentials(from, to, n, largest, SMALLEST_EXPONENT));
    NK_VECTORISE
    for (size_t i = 0; i < n; i++) to[i] *= factor;
}

/* Up to 64 neighbouring columns at a time. */
NK_CLONES
static void softmax_columns(const float *from, float *to, size_t n, size_t inner, int32_t logarithm, size_t count) {
    float largest[64], factor[64];
    double sums[64];
    for (size_t j = 0; j < count; j++) {
        largest[j] = -INFINITY;
        sums[j] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const float *row = from + i * inner;
        NK_VECTORISE
        for (size_t j = 0; j < count; j++) largest[j] = row[j] > largest[j] ? row[j] : largest[j];
    }
    for (size_t i = 0; i < n; i++) {
        const float *row = from + i * inner;
        float *result = to + i * inner;
        NK_VECTORISE
        for (size_t j = 0; j < count; j++) {
            const float x = row[j] - largest[j];
            const float y = weight(x, SMALLEST_EXPONENT);
            result[j] = logarithm ? x : y;
            sums[j] += y;
        }
    }
    for (size_t j = 0; j < count; j++) factor[j] = (float)(logarithm ? log(sums[j]) : 1 / sums[j]);
    for (size_t i = 0; i < n; i++) {
        float *result = to + i * inner;
        NK_VECTORISE
        for (size_t j = 0; j < count; j++) result[j] = logarithm ? result[j] - factor[j] : result[j] * factor[j];
    }
}

void nk_softmax(const nk_axis_rows *rows, int32_t logarithm, float *out) {
    const float *in = rows->in;
    const size_t n = rows->n, inner = rows->inner;
    if (inner == 1) {
        for (size_t row = rows->begin; row < rows->end; row++) softmax_row(in + row * n, out + row * n, n, logarithm);
        return;
    }
    for (size_t place = rows->begin; place < rows->end;) {
        const size_t start = place / inner * n * inner + place % inner;
        size_t count = inner - place % inner < 64 ? inner - place % inner : 64;
        if (count > rows->end - place) count = rows->end - place;
        softmax_columns(in + start, out + start, n, inner, logarithm, count);
        place += count;
    }
}

NK_CLONES
static void normalise_row(
    const float *from, const float *scale, const float *shift, float epsilon, float *to, size_t n) {
    double sums[LANES] = {0}, squares[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) sums[l] += from[i + l];
    }
    for (; i < n; i++) sums[0] += from[i];
    double mean = 0;
    for (int l = 0; l < LANES; l++) mean += sums[l];
    mean /= (double)n;
    for (i = 0; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            const double x = from[i + l] - mean;
            squares[l] += x * x;
        }
    }
    for (; i < n; i++) squares[0] += (from[i] - mean) * (from[i] - mean);
    double variance = 0;
    for (int l = 0; l < LANES; l++) variance += squares[l];
    const float factor = (float)(1 / sqrt(variance / (double)n + epsilon));
    const float center = (float)mean;
    if (shift) {
        NK_VECTORISE
        for (i = 0; i < n; i++) to[i] = (from[i] - center) * factor * scale[i] + shift[i];
    } else {
        NK_VECTORISE
        for (i = 0; i < n; i++) to[i] = (from[i] - center) * factor * scale[i];
    }
}

void nk_normalise_rows(
    const nk_axis_rows *rows, const float *scale, const float *shift, float epsilon, float *out) {
    const size_t n = rows->n;
    for (size_t row = rows->begin; row < rows->end; row++) {
        normalise_row(rows->in + row * n, scale, shift, epsilon, out + row * n, n);
    }
}

NK_CLONES
static void add_row(float *to, const float *from, ptrdiff_t step, size_t n) {
    if (step == 1) {
        NK_VECTORISE
        for (size_t i = 0; i < n; i++) to[i] += from[i];
    } else {
        for (size_t i = 0; i < n; i++) to[i] += from[(ptrdiff_t)i * step];
    }
}

/* What is known of a row of scores after some groups of keys. */
typedef struct row_state {
    double sum;
    float largest;
} row_state;

/* Replaces a row of scores by exponentials relative to the largest so far. Returns the factor for what was added up
   relative to the largest before. */
NK_CLONES
static float weigh_row(row_state *state, float *row, size_t n) {
    const float here = largest_of(row, n), before = state->largest;
    const float largest = here > before ? here : before;
    /* A row whose scores are all -infinity gets no weights, instead of NaN. */
    const float center = largest == -INFINITY ? 0 : largest;
    const float factor = before == largest ? 1 : weight(before - center, NEGLIGIBLE_EXPONENT);
    state->sum = state->sum * factor + exponentials(row, row, n, center, NEGLIGIBLE_EXPONENT);
    state->largest = largest;
    return factor;
}

NK_CLONES
static void scale_row(float *row, float factor, size_t n) {
    NK_VECTORISE
    for (size_t i = 0; i < n; i++) row[i] *= factor;
}

void nk_attend(const nk_attention *p, float *out, size_t out_stride, float *scratch) {
    const size_t group = p->keys < NK_ATTENTION_KEYS ? p->keys : NK_ATTENTION_KEYS;
    row_state *states = (row_state *)scratch;
    float *scores = scratch + 4 * p->rows;
    for (size_t i = 0; i < p->rows; i++) states[i] = (row_state){0, -INFINITY};
    for (size_t first = 0; first < p->keys; first += group) {
        const size_t keys = p->keys - first < group ? p->keys - first : group;
        nk_product of_keys = {
            .a = p->query, .b = p->key, .c = scores, .c_stride = keys,
            .m = p->rows, .n = keys, .k = p->depth, .alpha = p->scale,
        };
        of_keys.b.data += first * (p->key.transposed ? p->key.stride : 1);
        nk_matrix_product(&of_keys);
        for (size_t i = 0; i < p->rows; i++) {
            float *row = scores + i * keys;
            for (int32_t a = 0; a < p->addend_count; a++) {
                const float *from = p->addend[a] + (ptrdiff_t)i * p->addend_row[a];
                add_row(row, from + (ptrdiff_t)first * p->addend_column[a], p->addend_column[a], keys);
            }
            const float factor = weigh_row(&states[i], row, keys);
            if (first && factor != 1) scale_row(out + i * out_stride, factor, p->columns);
        }
        nk_product of_values = {
            .a = {.data = scores, .stride = keys}, .b = p->value, .c = out, .c_stride = out_stride,
            .m = p->rows, .n = p->columns, .k = keys, .alpha = 1, .adds = first > 0,
        };
        of_values.b.data += first * (p->value.transposed ? 1 : p->value.stride);
        nk_matrix_product(&of_values);
    }
    for (size_t i = 0; i < p->rows; i++) {
        scale_row(out + i * out_stride, (float)(1 / states[i].sum), p->columns);
    }
}
