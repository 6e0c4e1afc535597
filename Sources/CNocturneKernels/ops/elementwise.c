/* Functions of one or two tensors, element by element. */
#include "nk_ops.h"
#include "functions.h"
#include "internal.h"

#include <math.h>
#include <string.h>

static inline float leaky(float y, float slope) { return y < 0 ? slope * y : y; }

NK_CLONES
void nk_affine_rows(const nk_affine_operand *in, float *out, size_t rows, size_t channels) {
    const float *x = in->data, *scale = in->scale, *shift = in->shift;
    const float slope = in->slope;
    for (size_t row = 0; row < rows; row++, x += channels, out += channels) {
        if (scale) {
            NK_VECTORISE
            for (size_t c = 0; c < channels; c++) out[c] = leaky(x[c] * scale[c] + shift[c], slope);
        } else {
            NK_VECTORISE
            for (size_t c = 0; c < channels; c++) out[c] = leaky(x[c], slope);
        }
    }
}

NK_CLONES
void nk_sum_rows(
    const nk_affine_operand *a, const nk_affine_operand *b, float slope, float *out, size_t rows, size_t channels) {
    /* Addition is commutative, so one order of the operands is enough. */
    if (!a->scale && b->scale) {
        const nk_affine_operand *other = a;
        a = b;
        b = other;
    }
    const float *x = a->data, *y = b->data;
    const float *xs = a->scale, *xt = a->shift, *ys = b->scale, *yt = b->shift;
    const float x_slope = a->slope, y_slope = b->slope;
    for (size_t row = 0; row < rows; row++, x += channels, y += channels, out += channels) {
        if (ys) {
            NK_VECTORISE
            for (size_t c = 0; c < channels; c++) {
                out[c] = leaky(leaky(x[c] * xs[c] + xt[c], x_slope) + leaky(y[c] * ys[c] + yt[c], y_slope), slope);
            }
        } else if (xs) {
            NK_VECTORISE
            for (size_t c = 0; c < channels; c++) {
                out[c] = leaky(leaky(x[c] * xs[c] + xt[c], x_slope) + leaky(y[c], y_slope), slope);
            }
        } else {
            NK_VECTORISE
            for (size_t c = 0; c < channels; c++) out[c] = leaky(leaky(x[c], x_slope) + leaky(y[c], y_slope), slope);
        }
    }
}

NK_CLONES
void nk_channel_sums(const float *in, size_t rows, size_t channels, double *sums) {
    double *squares = sums + channels;
    memset(sums, 0, 2 * channels * sizeof(double));
    for (size_t row = 0; row < rows; row++, in += channels) {
        NK_VECTORISE
        for (size_t c = 0; c < channels; c++) {
            double x = in[c];
            sums[c] += x;
            squares[c] += x * x;
        }
    }
}

static inline float bounded(float x, float low, float high) {
    float y = x < low ? low : x;
    return y > high ? high : y;
}

/* For functions of the mathematical library, which are called one by one. */
#define NK_EACH(expression)                \
    for (size_t i = 0; i < count; i++) {   \
        float x = in[i];                   \
        out[i] = (expression);             \
    }                                      \
    break

#define NK_LOOP(expression)                \
    NK_VECTORISE                           \
    for (size_t i = 0; i < count; i++) {   \
        float x = in[i];                   \
        out[i] = (expression);             \
    }                                      \
    break

NK_CLONES
void nk_unary(int32_t kind, const float *in, float *out, size_t count, float p, float q) {
    switch (kind) {
        case NK_UNARY_LEAKY: NK_LOOP(x < 0 ? p * x : x);
        case NK_UNARY_CLIP: NK_LOOP(bounded(x, p, q));
        case NK_UNARY_SIGMOID: NK_LOOP(sigmoid(x));
        case NK_UNARY_HARD_SIGMOID: NK_LOOP(bounded(p * x + q, 0, 1));
        case NK_UNARY_HARD_SWISH: NK_LOOP(x * bounded(x * (1.0f / 6) + 0.5f, 0, 1));
        case NK_UNARY_SILU: NK_LOOP(x * sigmoid(x));
        case NK_UNARY_EXP: NK_EACH(expf(x));
        case NK_UNARY_SQRT: NK_EACH(sqrtf(x));
        case NK_UNARY_TANH: NK_LOOP(hyperbolic_tangent(x));
        case NK_UNARY_ABS: NK_LOOP(fabsf(x));
        case NK_UNARY_NEG: NK_LOOP(-x);
        case NK_UNARY_RECIPROCAL: NK_LOOP(1.0f / x);
        case NK_UNARY_LOG: NK_EACH(logf(x));
        case NK_UNARY_ERF: NK_LOOP(error_function(x));
        case NK_UNARY_ELU: NK_LOOP(x < 0 ? p * exponential_minus_one(x) : x);
        case NK_UNARY_SOFTPLUS: NK_EACH(x > 20 ? x : log1pf(expf(x)));
        case NK_UNARY_FLOOR: NK_LOOP(floorf(x));
        case NK_UNARY_CEIL: NK_LOOP(ceilf(x));
        case NK_UNARY_TRUNCATE: NK_LOOP(truncf(x));
        case NK_UNARY_GELU: NK_LOOP(0.5f * x * (1.0f + error_function(x * 0.70710678118654752f)));
        case NK_UNARY_GELU_TANH:
            NK_LOOP(0.5f * x * (1.0f + hyperbolic_tangent(0.79788456080286536f * (x + 0.044715f * (x * x * x)))));
        case NK_UNARY_LINEAR: NK_LOOP(p * x + q);
        case NK_UNARY_ROUND: NK_EACH(nearbyintf(x));
        case NK_UNARY_SIGN: NK_LOOP((float)(x > 0) - (float)(x < 0));
        case NK_UNARY_SINE: NK_EACH(sinf(x));
        case NK_UNARY_COSINE: NK_EACH(cosf(x));
        case NK_UNARY_NOT: NK_LOOP(x == 0 ? 1.0f : 0.0f);
        case NK_UNARY_IS_NAN: NK_LOOP(x != x ? 1.0f : 0.0f);
        default: break;
    }
}

#define NK_PAIRS(expression)                                        \
    if (da == 1 && db == 1) {                                       \
        NK_VECTORISE                                                \
        for (size_t i = 0; i < count; i++) {                        \
            float x = a[i], y = b[i];                               \
            out[i] = (expression);                                  \
        }                                                           \
    } else if (da == 1 && db == 0) {                                \
        float y = b[0];                                             \
        NK_VECTORISE                                                \
        for (size_t i = 0; i < count; i++) {                        \
            float x = a[i];                                         \
            out[i] = (expression);                                  \
        }                                                           \
    } else {                                                        \
        for (size_t i = 0; i < count; i++) {                        \
            float x = a[(ptrdiff_t)i * da], y = b[(ptrdiff_t)i * db]; \
            out[i] = (expression);                                  \
        }                                                           \
    }                                                               \
    break

/* Elements of a tensor along an axis, `step` apart. */
typedef struct line {
    const float *first;
    ptrdiff_t step;
} line;

NK_CLONES
static void pairs(int32_t kind, line x_line, line y_line, float *out, size_t count) {
    const float *a = x_line.first, *b = y_line.first;
    const ptrdiff_t da = x_line.step, db = y_line.step;
    switch (kind) {
        case NK_BINARY_ADD: NK_PAIRS(x + y);
        case NK_BINARY_SUB: NK_PAIRS(x - y);
        case NK_BINARY_MUL: NK_PAIRS(x *y);
        case NK_BINARY_DIV: NK_PAIRS(x / y);
        case NK_BINARY_POW:
            for (size_t i = 0; i < count; i++) {
                float x = a[(ptrdiff_t)i * da], y = b[(ptrdiff_t)i * db];
                out[i] = y == 2 ? x * x : powf(x, y);
            }
            break;
        case NK_BINARY_MIN: NK_PAIRS(x < y ? x : y);
        case NK_BINARY_MAX: NK_PAIRS(x > y ? x : y);
        case NK_BINARY_PRELU: NK_PAIRS(x < 0 ? x * y : x);
        case NK_BINARY_EQUAL: NK_PAIRS(x == y ? 1.0f : 0.0f);
        case NK_BINARY_LESS: NK_PAIRS(x < y ? 1.0f : 0.0f);
        case NK_BINARY_LESS_EQUAL: NK_PAIRS(x <= y ? 1.0f : 0.0f);
        case NK_BINARY_WHERE_TRUE: NK_PAIRS(x != 0 ? y : 0.0f);
        case NK_BINARY_WHERE_FALSE: NK_PAIRS(x == 0 ? y : 0.0f);
        default: break;
    }
}

void nk_binary(
    int32_t kind, int32_t rank, const size_t *dims, const float *a, const ptrdiff_t *a_strides, const float *b,
    const ptrdiff_t *b_strides, float *out, size_t begin, size_t end) {
    size_t index[NK_MAX_RANK];
    size_t rest = begin;
    for (int32_t axis = rank - 1; axis >= 0; axis--) {
        index[axis] = rest % dims[axis];
        rest /= dims[axis];
    }
    const int32_t last = rank - 1;
    while (begin < end) {
        const float *first = a, *second = b;
        for (int32_t axis = 0; axis < rank; axis++) {
            first += (ptrdiff_t)index[axis] * a_strides[axis];
            second += (ptrdiff_t)index[axis] * b_strides[axis];
        }
        size_t run = dims[last] - index[last];
        if (run > end - begin) run = end - begin;
        pairs(kind, (line){first, a_strides[last]}, (line){second, b_strides[last]}, out + begin, run);
        begin += run;
        index[last] = 0;
        for (int32_t axis = last - 1; axis >= 0; axis--) {
            if (++index[axis] < dims[axis]) break;
            index[axis] = 0;
        }
    }
}
