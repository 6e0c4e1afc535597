/// The operators of a network other than convolution: elementwise functions, data movement, pooling, interpolation,
/// reductions and matrix products.
///
/// Every function processes a part of its output that the caller chooses, so that threads can share an operator by
/// calling it on disjoint parts. None allocates, starts a thread or keeps state. Products and sums are never contracted
/// into fused multiply-adds, so that a value does not depend on the instruction set (except for matrix products).

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

enum { NK_MAX_RANK = 8 };

/// leaky(data * scale[c] + shift[c], slope), over voxels of channels; scale and shift may be NULL.
typedef struct nk_affine_operand {
    const float *data;
    const float *_Nullable scale;
    const float *_Nullable shift;
    float slope;
} nk_affine_operand;

/// The operand itself, over `rows` voxels of `channels` values. `out` may be its data.
void nk_affine_rows(const nk_affine_operand *in, float *out, size_t rows, size_t channels);

/// out = leaky(a + b, slope), over `rows` voxels. `out` may be the data of either.
void nk_sum_rows(
    const nk_affine_operand *a, const nk_affine_operand *b, float slope, float *out, size_t rows, size_t channels);

/// Sums and sums of squares of each channel, in double: `sums` is [2][channels] and is overwritten, not added to.
void nk_channel_sums(const float *in, size_t rows, size_t channels, double *sums);

enum {
    NK_UNARY_LEAKY = 0,        /* x < 0 ? p * x : x */
    NK_UNARY_CLIP = 1,         /* min(max(x, p), q) */
    NK_UNARY_SIGMOID = 2,
    NK_UNARY_HARD_SIGMOID = 3, /* max(0, min(1, p * x + q)) */
    NK_UNARY_HARD_SWISH = 4,   /* x * max(0, min(1, x / 6 + 1 / 2)) */
    NK_UNARY_SILU = 5,         /* x * sigmoid(x) */
    NK_UNARY_EXP = 6,
    NK_UNARY_SQRT = 7,
    NK_UNARY_TANH = 8,
    NK_UNARY_ABS = 9,
    NK_UNARY_NEG = 10,
    NK_UNARY_RECIPROCAL = 11,
    NK_UNARY_LOG = 12,
    NK_UNARY_ERF = 13,
    NK_UNARY_ELU = 14,         /* x < 0 ? p * (exp(x) - 1) : x */
    NK_UNARY_SOFTPLUS = 15,
    NK_UNARY_FLOOR = 16,
    NK_UNARY_CEIL = 17,
    NK_UNARY_TRUNCATE = 18,
    NK_UNARY_GELU = 19,        /* x / 2 * (1 + erf(x / sqrt(2))) */
    NK_UNARY_GELU_TANH = 20,   /* its approximation with tanh */
    NK_UNARY_LINEAR = 21,      /* p * x + q */
    NK_UNARY_ROUND = 22,       /* to nearest, ties to even */
    NK_UNARY_SIGN = 23,
    NK_UNARY_SINE = 24,
    NK_UNARY_COSINE = 25,
    NK_UNARY_NOT = 26,         /* x == 0; this and the next are 0 or 1 */
    NK_UNARY_IS_NAN = 27,
};

/// `out` may be `in`.
void nk_unary(int32_t kind, const float *in, float *out, size_t count, float p, float q);

enum {
    NK_BINARY_ADD = 0,
    NK_BINARY_SUB = 1,
    NK_BINARY_MUL = 2,
    NK_BINARY_DIV = 3,
    NK_BINARY_POW = 4,
    NK_BINARY_MIN = 5,
    NK_BINARY_MAX = 6,
    NK_BINARY_PRELU = 7, /* a < 0 ? a * b : a */
    NK_BINARY_EQUAL = 8,      /* this and the next two are 0 or 1 */
    NK_BINARY_LESS = 9,
    NK_BINARY_LESS_EQUAL = 10,
    NK_BINARY_WHERE_TRUE = 11,  /* x != 0 ? y : 0 */
    NK_BINARY_WHERE_FALSE = 12, /* x == 0 ? y : 0 */
};

/// Elements [begin, end) of a dense output of extents `dims`; each operand is read with its own strides (0 repeats).
///
/// Ten parameters, as nk_move: Swift passes its arrays as pointers in a call only, not in a struct.
void nk_binary(
    int32_t kind, int32_t rank, const size_t *dims, const float *a, const ptrdiff_t *a_strides, const float *b,
    const ptrdiff_t *b_strides, float *out, size_t begin, size_t end);

/// Moves elements [begin, end), counted in C order over `dims`, from a strided source to a strided destination.
/// Along an axis with a table, element i is at offset tables[axis][i] of the source; a negative offset gives `fill`.
/// Along other axes it is at i * src_strides[axis].
///
/// Ten parameters, as nk_binary.
void nk_move(
    int32_t rank, const size_t *dims, const float *src, const ptrdiff_t *src_strides,
    const ptrdiff_t *_Nullable const *_Nonnull tables, float *dst, const ptrdiff_t *dst_strides, float fill,
    size_t begin, size_t end);

/// out[c][r] = in[r][c] for the rows [begin, end) of `rows` by `columns` values.
void nk_transpose(const float *in, float *out, size_t rows, size_t columns, size_t begin, size_t end);

/// Pooling on [z][y][x][channel].
typedef struct nk_pool_desc {
    int32_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
    /// Extent including the padding after the input, for the count of padded averages.
    int32_t padded[3];
    int32_t channels;
    /// 0 maximum, 1 average over the voxels inside, 2 average that includes the padding.
    int32_t mode;
} nk_pool_desc;

/// Computes rows [begin, end) of the out[0] * out[1] output rows.
void nk_pool(const nk_pool_desc *desc, const float *in, float *out, size_t begin, size_t end);

/// Linear interpolation on [z][y][x][channel]: for each output index of an axis, two input indices and the weight of
/// the second.
typedef struct nk_interpolation {
    int32_t in[3], out[3];
    int32_t channels;
    const int32_t *_Nullable low[3];
    const int32_t *_Nullable high[3];
    const float *_Nullable weight[3];
} nk_interpolation;

/// Computes rows [begin, end) of the out[0] * out[1] output rows.
void nk_interpolate(const nk_interpolation *desc, const float *in, float *out, size_t begin, size_t end);

enum {
    NK_REDUCE_MEAN = 0,
    NK_REDUCE_SUM = 1,
    NK_REDUCE_MAX = 2,
    NK_REDUCE_MIN = 3,
    NK_REDUCE_PRODUCT = 4,
    NK_REDUCE_L1 = 5,
    NK_REDUCE_L2 = 6,
    NK_REDUCE_SUM_OF_SQUARES = 7,
};

/// Rows along the middle axis of [outer][n][inner]: those at the positions [begin, end) of [outer][inner].
typedef struct nk_axis_rows {
    const float *in;
    size_t n, inner, begin, end;
} nk_axis_rows;

/// Reduces each row to a value of `out`, [outer][inner].
void nk_reduce(int32_t kind, const nk_axis_rows *rows, float *out);

/// The index of the largest (or smallest) element of each row, as a float. Of equal elements the first counts, or the
/// last.
void nk_arg_extreme(int32_t smallest, int32_t last, const nk_axis_rows *rows, float *out);

/// The k largest (or smallest) elements of each row in order, and their indices as floats. Of equal elements the first
/// comes first. `scratch`: 8 * n bytes.
void nk_top_k(
    int32_t smallest, const nk_axis_rows *rows, size_t k, float *_Nullable values, float *_Nullable indices, void *scratch);

/// Sums of the elements of each row up to each of them. An exclusive sum leaves out the element itself; a reversed one
/// starts at the end.
void nk_running_sum(int32_t exclusive, int32_t reversed, const nk_axis_rows *rows, float *out);

/// Softmax of each row, or its logarithm. `out` may be the input.
void nk_softmax(const nk_axis_rows *rows, int32_t logarithm, float *out);

/// (x - mean) / sqrt(variance + epsilon) * scale + shift for each row, along the innermost axis. `out` may be the input.
void nk_normalise_rows(
    const nk_axis_rows *rows, const float *scale, const float *_Nullable shift, float epsilon, float *out);

/// An operand of a product: row i starts at data + i * stride. Transposed: column i does.
typedef struct nk_matrix {
    const float *data;
    size_t stride;
    int32_t transposed;
} nk_matrix;

enum { NK_MAX_ADDENDS = 2 };

enum { NK_ATTENTION_KEYS = 1024 };

/// softmax(scale * query key + addends) value for `rows` queries. `key` is [depth][keys], `value` [keys][columns].
/// Element (i, j) of an addend is at i * row + j * column. The keys are read in groups of NK_ATTENTION_KEYS, whose
/// scores are in `scratch`: rows * (the smaller of this number and keys) floats, and 4 * rows more.
typedef struct nk_attention {
    nk_matrix query, key, value;
    size_t rows, keys, depth, columns;
    float scale;
    int32_t addend_count;
    const float *_Nullable addend[NK_MAX_ADDENDS];
    ptrdiff_t addend_row[NK_MAX_ADDENDS], addend_column[NK_MAX_ADDENDS];
} nk_attention;

void nk_attend(const nk_attention *parameters, float *out, size_t out_stride, float *scratch);

/// c = alpha * a b, or c + alpha * a b if `adds` is 1: a has m rows and k columns, b k rows and n columns, and row i of c
/// starts at c + i * c_stride.
typedef struct nk_product {
    nk_matrix a, b;
    float *c;
    size_t c_stride;
    size_t m, n, k;
    float alpha;
    int32_t adds;
} nk_product;

/// Computes a product on the calling thread: by the library's own kernels, or by OpenBLAS where there are none for the
/// processor.
void nk_matrix_product(const nk_product *product);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#ifdef __cplusplus
}
#endif
