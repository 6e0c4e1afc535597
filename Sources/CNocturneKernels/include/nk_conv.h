/// Convolution on channels-last float32 activations.
///
/// One-, two- and three-dimensional networks are all treated as three-dimensional: the missing axes have extent, kernel
/// and stride 1. An activation is dense, `[z][y][x][channel]`, without a stored border.
///
/// A plan contains a layer's geometry and its packed weights; it is immutable after creation, so any number of threads
/// may run chunks of one plan at the same time. The work is divided into a fixed list of chunks that does not depend on
/// the number of threads. Chunks write disjoint parts of the output and may run in any order: for a given instruction
/// set the result is bit-identical. No function here starts a thread or keeps state (except that plans for the baseline
/// set limit OpenBLAS to one thread, because each of the caller's threads runs its own products), and none reads the
/// environment.
///
/// Layers with 3 × 3 or 3 × 3 × 3 kernels use minimal filtering where that is faster: a quarter or an eighth of the
/// multiplications. Their errors are up to twice those of the plain sum: root mean square, relative, 8e-7 (tiles of 4 × 4)
/// and 1.0e-6 (4 × 4 × 4) against 5e-7 for 32 channels, 1.5e-6 and 1.2e-6 against 1.1e-6 for 128, and 2.1e-6 and 1.2e-6
/// against 1.4e-6 for 256. The largest are 3e-6 of the largest output for up to 128 channels.

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// Instruction sets for which a plan can be built.
enum {
    /// The best one that this processor supports.
    NK_CONV_ISA_AUTO = 0,
    /// OpenBLAS products of gathered rows: any processor.
    NK_CONV_ISA_BASELINE = 1,
    NK_CONV_ISA_AVX2 = 2,
    NK_CONV_ISA_AVX512 = 3,
    /// AVX-512 with products of bfloat16 pairs.
    NK_CONV_ISA_AVX512_BF16 = 4,
    /// The same plus matrix tiles with bfloat16 products. Linux is asked for the tiles when a plan is first created.
    NK_CONV_ISA_AMX = 5,
    /// Matrix tiles emulated by other instructions, as the manual defines them: for tests. Needs AVX-512 with bfloat16.
    NK_CONV_ISA_AMX_MODEL = 6,
    /// Added to one of the others: no minimal filtering, only the plain sum of products.
    NK_CONV_DIRECT = 0x100,
};

/// The operands of products. Prologue, sums, bias, residual and activation are float32 and statistics float64 in all
/// cases; on matrix tiles statistics of up to 96 voxels are float32.
enum {
    /// float32 operands.
    NK_CONV_FLOAT32 = 0,
    /// Operands rounded to bfloat16, to nearest, ties to even: the input after its prologue, and the weights. With
    /// minimal filtering on vectors that have bfloat16 products, their transforms are rounded instead (tiles of 2 × 2, so
    /// that the error is at most half as large again), except for layers that are faster in float32, with its larger
    /// tiles, and are computed so. Where there are no such products, and for layers that cannot use them well (up to four
    /// input channels, depthwise), the rounded operands are multiplied as float32.
    NK_CONV_BFLOAT16 = 1,
    /// Where matrix tiles are faster, each float32 operand is the sum of three bfloat16 values, in six products: errors of
    /// 2e-7 to 9e-7, root mean square, which is less than those of sums of float32. Elsewhere the same as NK_CONV_FLOAT32.
    /// With NK_CONV_DIRECT, used wherever there are tiles.
    NK_CONV_SPLIT = 2,
};

/// Geometry of a layer. Every field must be set.
typedef struct nk_conv_desc {
    /// Input extent.
    int32_t in_z, in_y, in_x;
    /// Output extent. It determines the padding after the last voxel: positions read beyond the input are zero. For a
    /// transposed convolution it includes the output padding.
    int32_t out_z, out_y, out_x;
    /// Channels of all sources together, and of the output.
    int32_t cin, cout;
    int32_t kz, ky, kx;
    int32_t stride_z, stride_y, stride_x;
    /// Padding before the first voxel. May be negative (a crop).
    int32_t pad_z, pad_y, pad_x;
    int32_t dilation_z, dilation_y, dilation_x;
    int32_t groups;
    /// 0: out[o] = sum over k of in[o * stride - pad + k * dilation].
    /// 1: in[i] is added to out[i * stride - pad + k * dilation].
    int32_t transposed;
    /// One of NK_CONV_ISA_*, optionally with NK_CONV_DIRECT.
    int32_t isa;
    /// One of NK_CONV_FLOAT32, NK_CONV_BFLOAT16, NK_CONV_SPLIT.
    int32_t precision;
} nk_conv_desc;

/// One of the inputs that are concatenated along the channels, with the operations applied when it is read: y = value *
/// scale[c] + shift[c], then y < 0 ? slope * y : y. Padding zeros are added after that.
typedef struct nk_conv_source {
    /// `[in_z][in_y][in_x][channels]`.
    const void *data;
    int32_t channels;
    /// Whether the values are bfloat16, not float32: only where nk_conv_reads_bfloat16 allows it.
    int32_t bfloat16;
    /// Both with `channels` values, or both NULL for no scaling.
    const float *_Nullable scale;
    const float *_Nullable shift;
    /// 1 for identity, 0 for ReLU.
    float slope;
} nk_conv_source;

typedef struct nk_conv_plan nk_conv_plan;

/// Whether this processor can run plans of an instruction set (one of NK_CONV_ISA_*).
int32_t nk_conv_isa_available(int32_t isa);

/// The best instruction set of this processor that is not above the named one: baseline, avx2, avx512, avx512-bf16, amx,
/// and amx-model for the model, where it can be run. Any other name sets no limit.
int32_t nk_conv_isa_limited(const char *name);

/// The name of the kernels that compute layers of a precision with an instruction set: the instruction set's name as
/// above, and a suffix that distinguishes its results from those of other precisions. NULL if the processor does not
/// support it.
const char *_Nullable nk_conv_instruction_set(int32_t isa, int32_t precision);

/// Packs a layer's weights. `weights` is in the ONNX layout: `[cout][cin / groups][kz][ky][kx]`, or for a transposed
/// convolution `[cin][cout / groups][kz][ky][kx]`; it is not kept. Returns NULL when memory runs out, when the
/// description is invalid or when the processor does not support the instruction set.
nk_conv_plan *_Nullable nk_conv_plan_create(
    const nk_conv_desc *desc, const float *weights, const float *_Nullable bias);

void nk_conv_plan_destroy(nk_conv_plan *_Nullable plan);

/// Bytes of the plan: mostly packed weights.
size_t nk_conv_plan_bytes(const nk_conv_plan *plan);

/// The instruction set for which the plan was built.
int32_t nk_conv_plan_isa(const nk_conv_plan *plan);

/// Multiplications and additions of one run, including borders.
double nk_conv_plan_operations(const nk_conv_plan *plan);

/// The operands of products, which decide how many a processor computes in a cycle.
enum {
    NK_CONV_PRODUCTS_FLOAT32 = 0,
    NK_CONV_PRODUCTS_BFLOAT16 = 1,
    /// bfloat16 on matrix tiles.
    NK_CONV_PRODUCTS_TILES = 2,
};

/// The operations that the kernels of a plan compute in one run. A multiply-add counts as two.
typedef struct nk_conv_work {
    /// Products and their sums, as they are computed: of channels padded to whole vectors, of the taps that read zeros
    /// beyond the border, of tiles of minimal filtering that reach beyond the output, and of rows of folded taps with
    /// their border. Voxels that register tiles compute twice, and empty rows of matrix tiles, are not counted.
    double products;
    /// Transforms of minimal filtering, of inputs and of outputs; the input is transformed for each range of units.
    double transforms;
    /// One of NK_CONV_PRODUCTS_*.
    int32_t operands;
} nk_conv_work;

/// The operations of a plan as its kernels compute them. nk_conv_plan_operations is what the direct method needs.
nk_conv_work nk_conv_plan_work(const nk_conv_plan *plan);

/// The method of a plan: "direct", "folded", "depthwise", "minimal 4x4x4" (outputs of a tile along z, y and x), "minimal
/// 4x4", "minimal 2x4" or "minimal 2x2" (along y and x), "matrix tiles", or "gathered" for products of gathered rows.
const char *nk_conv_plan_method(const nk_conv_plan *plan);

/// Whether the output of a plan may be bfloat16, and whether the sources of a layer with these numbers of channels and groups
/// may be, with the instruction set and the precision of such a plan.
int32_t nk_conv_plan_stores_bfloat16(const nk_conv_plan *plan);
int32_t nk_conv_reads_bfloat16(int32_t cin, int32_t groups);

/// Bytes of scratch memory that any running chunk needs, without alignment requirements. Its content is not used after
/// the chunk.
size_t nk_conv_scratch_bytes(const nk_conv_plan *plan);

/// The number of chunks of the layer. Fixed at creation.
int32_t nk_conv_chunk_count(const nk_conv_plan *plan);

/// Consecutive chunks, and the planes along z, from ..< to, of the input that they read at most and of the output that they
/// write. Slabs follow each other along z.
typedef struct nk_conv_slab {
    int32_t first_chunk, chunk_count;
    int32_t read_from, read_to;
    int32_t written_from, written_to;
} nk_conv_slab;

/// The number of slabs: 1 for layers that are not divided along z.
int32_t nk_conv_slab_count(const nk_conv_plan *plan);

nk_conv_slab nk_conv_slab_of(const nk_conv_plan *plan, int32_t slab);

/// What the chunks of one run read and write: out = activation(convolution + bias + residual).
typedef struct nk_conv_run {
    /// Together `cin` channels. One may overlap `out` where no plane that a chunk reads is written by another chunk that runs
    /// before or at the same time (nk_conv_slab).
    const nk_conv_source *sources;
    int32_t source_count;
    /// In the layout of the output, or NULL. It must not overlap `out`.
    const float *_Nullable residual;
    /// `[out_z][out_y][out_x][cout]`. One of more than 32 MiB that begins with a cache line is stored past the caches where
    /// that is possible, which is faster.
    void *out;
    /// Whether the output is bfloat16, not float32: only where nk_conv_plan_stores_bfloat16 allows it, and without a
    /// residual.
    int32_t out_bfloat16;
    /// The activation, y < 0 ? out_slope * y : y; 1 for none.
    float out_slope;
    /// NULL, or `[chunk count][2][cout]`, of which every chunk writes its own row: sums and sums of squares of the values
    /// it wrote.
    double *_Nullable stats;
} nk_conv_run;

/// Computes one chunk. `scratch`: nk_conv_scratch_bytes bytes, one buffer per running thread.
void nk_conv_run_chunk(const nk_conv_plan *plan, const nk_conv_run *run, int32_t chunk, void *scratch);

/// Adds the chunks' rows in order: `merged` is `[2][cout]`, sums and then sums of squares.
void nk_conv_merge_stats(const nk_conv_plan *plan, const double *stats, double *merged);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#ifdef __cplusplus
}
#endif
