/* Reductions and sums along an axis. */
#include "nk_ops.h"
#include "internal.h"

#include <math.h>
#include <string.h>

enum { LANES = 16 };

/* The sum of the lanes, in one order. */
NK_INLINE double joined(const double *lanes) {
    double sum = 0;
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    return sum;
}

#define NK_SUM_OF(expression)                          \
    {                                                  \
        double lanes[LANES] = {0};                     \
        size_t i = 0;                                  \
        for (; i + LANES <= n; i += LANES) {           \
            for (int l = 0; l < LANES; l++) {          \
                double x = from[i + l];                \
                lanes[l] += (expression);              \
            }                                          \
        }                                              \
        for (; i < n; i++) {                           \
            double x = from[i];                        \
            lanes[0] += (expression);                  \
        }                                              \
        result = joined(lanes);                        \
    }                                                  \
    break

NK_CLONES
static float reduced(int32_t kind, const float *from, size_t n) {
    double result = 0;
    switch (kind) {
        case NK_REDUCE_MEAN:
        case NK_REDUCE_SUM: NK_SUM_OF(x);
        case NK_REDUCE_L1: NK_SUM_OF(fabs(x));
        case NK_REDUCE_L2:
        case NK_REDUCE_SUM_OF_SQUARES: NK_SUM_OF(x * x);
        case NK_REDUCE_PRODUCT:
            result = 1;
            for (size_t i = 0; i < n; i++) result *= from[i];
            break;
        case NK_REDUCE_MAX:
            result = -INFINITY;
            for (size_t i = 0; i < n; i++) result = from[i] > result ? from[i] : result;
            break;
        default:
            result = INFINITY;
            for (size_t i = 0; i < n; i++) result = from[i] < result ? from[i] : result;
            break;
    }
    return (float)(kind == NK_REDUCE_MEAN ? result / (double)n : kind == NK_REDUCE_L2 ? sqrt(result) : result);
}

#define NK_COLUMNS_OF(start, expression)                                        \
    for (size_t j = 0; j < count; j++) sums[j] = (start);                       \
    for (size_t i = 0; i < n; i++) {                                            \
        const float *row = from + i * inner;                                    \
        NK_VECTORISE                                                            \
        for (size_t j = 0; j < count; j++) {                                    \
            double x = row[j], sum = sums[j];                                   \
            sums[j] = (expression);                                             \
        }                                                                       \
    }                                                                           \
    break

/* Up to 64 neighbouring columns at a time. */
NK_CLONES
static void reduce_columns(int32_t kind, const float *from, float *to, size_t n, size_t inner, size_t count) {
    double sums[64];
    switch (kind) {
        case NK_REDUCE_MEAN:
        case NK_REDUCE_SUM: NK_COLUMNS_OF(0, sum + x);
        case NK_REDUCE_L1: NK_COLUMNS_OF(0, sum + fabs(x));
        case NK_REDUCE_L2:
        case NK_REDUCE_SUM_OF_SQUARES: NK_COLUMNS_OF(0, sum + x * x);
        case NK_REDUCE_PRODUCT: NK_COLUMNS_OF(1, sum * x);
        case NK_REDUCE_MAX: NK_COLUMNS_OF(-INFINITY, x > sum ? x : sum);
        default: NK_COLUMNS_OF(INFINITY, x < sum ? x : sum);
    }
    for (size_t j = 0; j < count; j++) {
        to[j] = (float)(kind == NK_REDUCE_MEAN ? sums[j] / (double)n : kind == NK_REDUCE_L2 ? sqrt(sums[j]) : sums[j]);
    }
}

void nk_reduce(int32_t kind, const nk_axis_rows *rows, float *out) {
    const size_t n = rows->n, inner = rows->inner;
    if (inner == 1) {
        for (size_t row = rows->begin; row < rows->end; row++) out[row] = reduced(kind, rows->in + row * n, n);
        return;
    }
    for (size_t place = rows->begin; place < rows->end;) {
        const size_t outer = place / inner, j = place % inner;
        size_t count = inner - j < 64 ? inner - j : 64;
        if (count > rows->end - place) count = rows->end - place;
        reduce_columns(kind, rows->in + outer * n * inner + j, out + place, n, inner, count);
        place += count;
    }
}

/* The position of the first element of the row at a position, for rows of `each` elements. */
NK_INLINE size_t row_start(size_t place, size_t each, size_t inner) {
    return place / inner * each * inner + place % inner;
}

void nk_arg_extreme(int32_t smallest, int32_t last, const nk_axis_rows *rows, float *out) {
    const size_t n = rows->n, inner = rows->inner;
    for (size_t place = rows->begin; place < rows->end; place++) {
        const float *from = rows->in + row_start(place, n, inner);
        size_t best = 0;
        float value = from[0];
        for (size_t i = 1; i < n; i++) {
            const float x = from[i * inner];
            const int better = smallest ? x < value : x > value;
            if (better || (last && x == value)) {
                best = i;
                value = x;
            }
        }
        out[place] = (float)best;
    }
}

/* An element of a heap whose root is the worst of those that are kept. */
typedef struct {
    float value;
    uint32_t index;
} element;

/* Whether a comes before b in the result. NaN is larger than all numbers. */
NK_INLINE int precedes(element a, element b, int32_t smallest) {
    const int a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return smallest ? b_nan : a_nan;
    if (!a_nan && a.value != b.value) return smallest ? a.value < b.value : a.value > b.value;
    return a.index < b.index;
}

static void sift(element *heap, size_t count, size_t place, int32_t smallest) {
    for (;;) {
        size_t worst = place;
        for (size_t child = 2 * place + 1; child < count && child <= 2 * place + 2; child++) {
            if (precedes(heap[worst], heap[child], smallest)) worst = child;
        }
        if (worst == place) return;
        const element moved = heap[place];
        heap[place] = heap[worst];
        heap[worst] = moved;
        place = worst;
    }
}

void nk_top_k(int32_t smallest, const nk_axis_rows *rows, size_t k, float *values, float *indices, void *scratch) {
    const size_t n = rows->n, inner = rows->inner;
    element *heap = scratch;
    for (size_t place = rows->begin; place < rows->end && k > 0; place++) {
        const float *from = rows->in + row_start(place, n, inner);
        const size_t to = row_start(place, k, inner);
        for (size_t i = 0; i < k; i++) heap[i] = (element){from[i * inner], (uint32_t)i};
        for (size_t i = k / 2; i-- > 0;) sift(heap, k, i, smallest);
        for (size_t i = k; i < n; i++) {
            const element next = {from[i * inner], (uint32_t)i};
            if (!precedes(next, heap[0], smallest)) continue;
            heap[0] = next;
            sift(heap, k, 0, smallest);
        }
        for (size_t i = k; i-- > 0;) {
            if (values) values[to + i * inner] = heap[0].value;
            if (indices) indices[to + i * inner] = (float)heap[0].index;
            heap[0] = heap[i];
            sift(heap, i, 0, smallest);
        }
    }
}

void nk_running_sum(int32_t exclusive, int32_t reversed, const nk_axis_rows *rows, float *out) {
    const size_t n = rows->n, inner = rows->inner;
    for (size_t place = rows->begin; place < rows->end; place++) {
        const size_t start = row_start(place, n, inner);
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t at = start + (reversed ? n - 1 - i : i) * inner;
            const double x = rows->in[at];
            out[at] = (float)(exclusive ? sum : sum + x);
            sum += x;
        }
    }
}
