/// Convolution on channels-last float32 activations.
///
/// One-, two- and three-dimensional networks are all treated as three-dimensional: the missing axes have extent, kernel
/// and stride 1. An activation is dense, `[z][y][x][channel]`, with no stored border.
///
/// A plan holds a layer's geometry and its packed weights; it is immutable after creation, so any number of threads may
/// run chunks of one plan at the same time. The work is cut into a fixed list of chunks that does not depend on the
/// number of threads. Chunks write disjoint parts of the output and may run in any order: for a given instruction set
/// the result is the same to the bit. No function here starts a thread or keeps state (but plans for the baseline set
/// OpenBLAS to one thread, since the caller's threads each run products of their own), and none reads the environment.
///
/// Layers with 3 × 3 in-plane kernels use minimal filtering where that is faster: a third of the multiplications,
/// errors hardly larger than those of the plain sum (about 7e-7 against 5e-7 root mean square, relative, for 32
/// channels).

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// Instruction sets a plan can be built for.
enum {
    /// The best one this processor has.
    NK_CONV_ISA_AUTO = 0,
    /// OpenBLAS products of gathered rows: any processor.
    NK_CONV_ISA_BASELINE = 1,
    NK_CONV_ISA_AVX2 = 2,
    NK_CONV_ISA_AVX512 = 3,
    /// AVX-512 with products of bfloat16 pairs.
    NK_CONV_ISA_AVX512_BF16 = 4,
    /// The same, and matrix tiles with bfloat16 products. Linux is asked for the tiles when a plan is first made.
    NK_CONV_ISA_AMX = 5,
    /// Matrix tiles computed by other instructions, as the manual defines them: for tests. Needs AVX-512 with bfloat16.
    NK_CONV_ISA_AMX_MODEL = 6,
    /// Added to one of the others: no minimal filtering, the plain sum of products.
    NK_CONV_DIRECT = 0x100,
};

/// What is multiplied. Prologue, sums, bias, residual and activation are float32 and statistics float64 in all of them.
enum {
    /// float32 operands.
    NK_CONV_FLOAT32 = 0,
    /// Operands rounded to bfloat16, to nearest, ties to even: the input after its prologue, and the weights. With
    /// minimal filtering on an instruction set that has bfloat16 products, their transforms are rounded instead (tiles
    /// of 2 × 2, so that this errs no more than half as much again). Where there are no such products, and for layers
    /// that cannot use them well (up to four channels in, depthwise), the rounded operands are multiplied as float32.
    NK_CONV_BFLOAT16 = 1,
    /// Where matrix tiles are faster, each float32 operand as the sum of two of bfloat16, in three products: 16 to 17
    /// significant bits, 4e-6 root mean square for a layer, which grows to 1.6e-5 in the logits of an untrained U-Net
    /// of five stages where float32 has 2.6e-6. Elsewhere as NK_CONV_FLOAT32. With NK_CONV_DIRECT, wherever there are
    /// tiles.
    NK_CONV_SPLIT = 2,
};

/// Geometry of a layer. Every field must be set.
typedef struct nk_conv_desc {
    /// Input extent.
    int32_t in_z, in_y, in_x;
    /// Output extent. It determines the padding after: whatever is read beyond the input is zero. For a transposed
    /// convolution it includes the output padding.
    int32_t out_z, out_y, out_x;
    /// Channels in all sources together, and of the output.
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
    /// One of NK_CONV_ISA_*, with NK_CONV_DIRECT if wanted.
    int32_t isa;
    /// One of NK_CONV_FLOAT32, NK_CONV_BFLOAT16, NK_CONV_SPLIT.
    int32_t precision;
} nk_conv_desc;

/// One of the inputs that follow each other along the channels, with what is applied to it as it is read:
/// y = value * scale[c] + shift[c], then y < 0 ? slope * y : y. The zeros of the padding come after that.
typedef struct nk_conv_source {
    /// `[in_z][in_y][in_x][channels]`.
    const float *data;
    int32_t channels;
    /// Both of `channels` values, or both NULL for none.
    const float *_Nullable scale;
    const float *_Nullable shift;
    /// 1 for identity, 0 for ReLU.
    float slope;
} nk_conv_source;

typedef struct nk_conv_plan nk_conv_plan;

/// Whether this processor can run plans of an instruction set (one of NK_CONV_ISA_*).
int32_t nk_conv_isa_available(int32_t isa);

/// The best instruction set this processor has that is not above the named one: baseline, avx2, avx512, avx512-bf16,
/// amx (or amx-split), and amx-model (or amx-model-split) for the model, where it can be run. Any other name is no
/// limit.
int32_t nk_conv_isa_limited(const char *name);

/// A name of what computes layers of a precision with an instruction set: the instruction set's name as above, and what
/// distinguishes its results from those of other precisions. NULL when the processor does not have it.
const char *_Nullable nk_conv_instruction_set(int32_t isa, int32_t precision);

/// Packs a layer's weights. `weights` is as in ONNX: `[cout][cin / groups][kz][ky][kx]`, or for a transposed
/// convolution `[cin][cout / groups][kz][ky][kx]`; it is not kept. NULL when memory runs out, when the description
/// makes no sense or when the processor does not have the instruction set.
nk_conv_plan *_Nullable nk_conv_plan_create(
    const nk_conv_desc *desc, const float *weights, const float *_Nullable bias);

void nk_conv_plan_destroy(nk_conv_plan *_Nullable plan);

/// Bytes the plan holds: mostly packed weights.
size_t nk_conv_plan_bytes(const nk_conv_plan *plan);

/// The instruction set the plan was built for.
int32_t nk_conv_plan_isa(const nk_conv_plan *plan);

/// Multiplications and additions of one run, borders included.
double nk_conv_plan_operations(const nk_conv_plan *plan);

/// Bytes of scratch memory one running chunk needs, whichever it is; no particular alignment. Nothing in it outlives
/// the chunk.
size_t nk_conv_scratch_bytes(const nk_conv_plan *plan);

/// How many chunks make up the layer. Fixed at creation.
int32_t nk_conv_chunk_count(const nk_conv_plan *plan);

/// Computes one chunk: out = activation(convolution + bias + residual).
///
/// - `sources`: together `cin` channels.
/// - `residual`: laid out as the output, or NULL. It must not overlap `out`; neither may the sources.
/// - `out`: `[out_z][out_y][out_x][cout]`.
/// - `out_slope`: the activation, y < 0 ? out_slope * y : y; 1 for none.
/// - `stats`: NULL, or the whole array `[chunk count][2][cout]`, of which the chunk sets its own row: sums and sums of
///   squares of the values it wrote.
/// - `scratch`: nk_conv_scratch_bytes, one per running thread.
void nk_conv_run_chunk(
    const nk_conv_plan *plan, const nk_conv_source *sources, int32_t source_count, const float *_Nullable residual,
    float *out, float out_slope, double *_Nullable stats, int32_t chunk, void *scratch);

/// Adds the chunks' rows in order: `merged` is `[2][cout]`, sums and then sums of squares.
void nk_conv_merge_stats(const nk_conv_plan *plan, const double *stats, double *merged);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#ifdef __cplusplus
}
#endif
