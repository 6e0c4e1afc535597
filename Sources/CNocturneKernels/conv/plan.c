// Plans of the convolution.
//
// A plan represents every layer as a few *phases*. A phase is a set of taps: for each point i of a grid it reads the
// input at i * input_stride + tap offset and writes the output at i * output_stride + the phase's position. An ordinary
// convolution is one phase with output stride 1. A transposed one has a phase for each position modulo its stride, each
// with the taps that contribute to it and input stride 1; so kernel = stride gives one tap per phase, and nothing is
// multiplied by zero.
//
// A dilated layer with stride 1 is divided into sub-grids of every d-th voxel along the axes for which that pays: along
// such an axis the voxels of a sub-grid meet only each other, so on each sub-grid the layer is an ordinary one, with a
// border of one voxel instead of d, and with minimal filtering. All sub-grids share taps, boxes and weights.
//
// A layer with a few output channels can be folded: vectors contain the output channels of all taps along x, and a row
// of products is computed before those that meet in a voxel are added.
//
// A chunk is a box of the grid times a range of blocks of output channels. It copies its part of the input, padded and
// with the prologue applied, into scratch memory: [block of 16 channels][z][y][x modulo stride][x / stride][channel],
// so that adjacent voxels of the output have a fixed distance, whatever the layer. Register tiles then iterate over
// blocks of channels and taps. Layers that do not fit the cache are computed in several passes over the input channels,
// with the partial sums in the output.

#include <stdlib.h>
#include <string.h>

#include "internal.h"

static bool is_valid(const nk_conv_desc *d) {
    const int32_t positive[] = {
        d->in_z, d->in_y, d->in_x, d->out_z, d->out_y, d->out_x, d->cin, d->cout, d->groups, d->kz, d->ky, d->kx,
        d->stride_z, d->stride_y, d->stride_x, d->dilation_z, d->dilation_y, d->dilation_x,
    };
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        if (positive[i] < 1 || positive[i] > 1 << 24) return false;
    }
    const int32_t pads[] = {d->pad_z, d->pad_y, d->pad_x};
    const int64_t reach[] = {
        (int64_t)(d->kz - 1) * d->dilation_z,
        (int64_t)(d->ky - 1) * d->dilation_y,
        (int64_t)(d->kx - 1) * d->dilation_x,
    };
    for (int i = 0; i < 3; i++) {
        if (pads[i] < -(1 << 24) || pads[i] > 1 << 24 || reach[i] > 1 << 24) return false;
    }
    const int64_t far[] = {
        (int64_t)(d->transposed ? d->in_z : d->out_z) * d->stride_z,
        (int64_t)(d->transposed ? d->in_y : d->out_y) * d->stride_y,
        (int64_t)(d->transposed ? d->in_x : d->out_x) * d->stride_x,
    };
    for (int i = 0; i < 3; i++) {
        if (far[i] > 1 << 28) return false;
    }
    if ((double)d->kz * d->ky * d->kx > 1 << 20) return false;
    if (d->transposed && (double)d->stride_z * d->stride_y * d->stride_x > 1 << 16) return false;
    if (d->precision < NK_CONV_FLOAT32 || d->precision > NK_CONV_SPLIT) return false;
    return d->cin % d->groups == 0 && d->cout % d->groups == 0;
}

static bool is_depthwise(const nk_conv_desc *desc) {
    return desc->groups > 1 && desc->groups == desc->cin && desc->groups == desc->cout;
}

/// A method of computing a layer.
typedef struct conv_form {
    const conv_kernels *kernels;
    bool pairs, split, rounds, folds;
    double product_cost;
    int spacing[3];
} conv_form;

/// The methods that a precision and an instruction set offer for a layer, one or two.
static int forms_of(const nk_conv_desc *desc, int isa, bool is_direct, conv_form forms[2]) {
    const int precision = desc->precision;
    const conv_kernels *products = isa == NK_CONV_ISA_AMX_MODEL ? nk_conv_kernels_amx_model()
        : isa == NK_CONV_ISA_AMX                                ? nk_conv_kernels_amx()
        : isa == NK_CONV_ISA_AVX512_BF16                        ? nk_conv_kernels_avx512_bf16()
                                                                : NULL;
    const conv_form plain = {
        .kernels = isa >= NK_CONV_ISA_AVX512 ? nk_conv_kernels_avx512()
            : isa == NK_CONV_ISA_AVX2        ? nk_conv_kernels_avx2()
                                             : NULL,
        .rounds = precision == NK_CONV_BFLOAT16,
        .product_cost = 1,
    };
    // A few channels would leave most of a block's words empty.
    if (!products || desc->cin / desc->groups <= 4 || precision == NK_CONV_FLOAT32) {
        forms[0] = plain;
        return 1;
    }
    // Matrix tiles process eight times as many words per cycle as two vector units; half of that is a realistic
    // estimate.
    const double cost = products->matrix ? 0.25 : 1;
    if (precision == NK_CONV_BFLOAT16) {
        forms[0] = (conv_form){.kernels = products, .pairs = true, .product_cost = cost};
        // float32, whose minimal filtering has larger tiles.
        forms[1] = plain;
        forms[1].rounds = false;
        return is_direct ? 1 : 2;
    }
    int count = 0;
    if (products->matrix) {
        forms[count++] = (conv_form){.kernels = products, .pairs = true, .split = true, .product_cost = 3 * cost};
    }
    if (count == 0 || !is_direct) forms[count++] = plain;
    return count;
}

/// Divides a form into sub-grids along the axes of a set (bit a for axis a). False for axes where that is not possible:
/// those that are not dilated, and sub-grids without voxels.
static bool divide_form(const nk_conv_desc *d, int set, conv_form *form) {
    const int kernel[] = {d->kz, d->ky, d->kx}, stride[] = {d->stride_z, d->stride_y, d->stride_x};
    const int dilation[] = {d->dilation_z, d->dilation_y, d->dilation_x}, out[] = {d->out_z, d->out_y, d->out_x};
    for (int a = 0; a < 3; a++) {
        form->spacing[a] = 1;
        if (!(set >> a & 1)) continue;
        if (d->transposed || kernel[a] == 1 || stride[a] != 1 || dilation[a] == 1 || dilation[a] > out[a]) return false;
        form->spacing[a] = dilation[a];
    }
    return true;
}

/// Folds the taps along x of a form. False where that is not possible: only for vectors of float32, and if all taps and
/// output channels are one unit.
static bool fold_form(const nk_conv_desc *d, conv_form *form) {
    if (!form->kernels || form->pairs || d->transposed || d->groups != 1 || d->stride_x != 1) return false;
    form->folds = true;
    return d->kx > 1 && (int64_t)d->kx * d->cout <= 2 * form->kernels->lanes;
}

/// Prepares a plan except for its weights; `cost` in cycles, including that of keeping the weights.
static nk_conv_plan *prepare(const nk_conv_desc *desc, int isa, bool is_direct, conv_form form, double *cost) {
    nk_conv_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->plan_bytes = sizeof *plan;
    plan->desc = *desc;
    plan->desc.isa = isa;
    plan->kernels = form.kernels;
    plan->pairs = form.pairs;
    plan->split = form.split;
    plan->rounds = form.rounds;
    plan->product_cost = form.product_cost;
    plan->fold = form.folds ? desc->kx : 1;
    plan->minimal_z = 1;
    memcpy(plan->spacing, form.spacing, sizeof plan->spacing);
    memcpy(plan->in, (int[]){desc->in_z, desc->in_y, desc->in_x}, sizeof plan->in);
    memcpy(plan->out, (int[]){desc->out_z, desc->out_y, desc->out_x}, sizeof plan->out);
    plan->depthwise = is_depthwise(desc);
    plan->row_pairs = !desc->transposed && desc->stride_y == 1 && desc->ky > 1 && desc->dilation_y == plan->spacing[Y];
    plan->groups = plan->depthwise ? 1 : desc->groups;
    plan->group_in = desc->cin / plan->groups;
    plan->group_out = desc->cout / plan->groups;
    plan->distance = CONV_BLOCK;
    if (!plan->kernels) plan->distance = plan->group_in;
    if (plan->kernels && !plan->depthwise && plan->group_in <= 4) plan->distance = plan->group_in == 1 ? 1 : 4;
    const int words = plan->pairs ? ceil_div(plan->group_in, 2) : plan->group_in;
    plan->block_count = ceil_div(words, plan->distance);
    plan->last_words = words - (plan->block_count - 1) * plan->distance;
    // Matrix tiles process whole blocks.
    if (plan->pairs && plan->kernels->matrix) plan->last_words = plan->distance;

    if (!nk_conv_create_phases(plan) || !nk_conv_create_units(plan)) {
        nk_conv_plan_destroy(plan);
        return NULL;
    }
    const double direct = nk_conv_choose_boxes(plan);
    const nk_conv_plan before = *plan;
    const double minimal = is_direct ? -1 : nk_conv_minimal_choose(plan);
    const double weights = nk_conv_cost_of_weights(plan, plan->weight_count);
    *cost = minimal;
    // The plain sum errs less, so that minimal filtering must be faster by more than a little.
    if (minimal < 0 || 0.9 * direct + weights < minimal) {
        *plan = before;
        *cost = direct < 0 ? direct : direct + weights;
    }
    nk_conv_measure_packed(plan);
    nk_conv_place_taps(plan);
    return plan;
}

/// The cheapest plan of all forms and divisions into sub-grids, except for its weights. NULL when memory runs out.
static nk_conv_plan *choose(const nk_conv_desc *desc, int isa, bool is_direct) {
    conv_form forms[2];
    const int form_count = forms_of(desc, isa, is_direct, forms);
    nk_conv_plan *plan = NULL;
    double best = 0;
    for (int i = 0; i < 16 * form_count; i++) {
        conv_form form = forms[i / 16];
        if (i & 8 && !fold_form(desc, &form)) continue;
        if (!divide_form(desc, i % 8, &form)) continue;
        double cost;
        nk_conv_plan *other = prepare(desc, isa, is_direct, form, &cost);
        if (!other) {
            nk_conv_plan_destroy(plan);
            return NULL;
        }
        if (cost < 0 || (plan && best <= cost)) {
            nk_conv_plan_destroy(other);
            continue;
        }
        nk_conv_plan_destroy(plan);
        plan = other;
        best = cost;
    }
    return plan;
}

nk_conv_plan *nk_conv_plan_create(const nk_conv_desc *desc, const float *weights, const float *bias) {
    const bool is_direct = desc->isa & NK_CONV_DIRECT;
    const int isa = nk_conv_resolve_isa(desc->isa & ~NK_CONV_DIRECT);
    if (isa < 0 || !is_valid(desc)) return NULL;
    nk_conv_plan *plan = choose(desc, isa, is_direct);
    if (!plan) return NULL;
    if (!nk_conv_pack_weights(plan, weights, bias)) {
        nk_conv_plan_destroy(plan);
        return NULL;
    }

    size_t floats = round_up((size_t)plan->pass_blocks * plan->block, 16);
    if (plan->fold > 1) floats += nk_conv_folded_floats(plan);
    if (nk_conv_streams(plan)) floats += LONGEST_TILE_ROWS * (size_t)plan->box[X] * 2 * plan->kernels->lanes;
    if (plan->minimal_x) floats = nk_conv_minimal_scratch_floats(plan);
    if (!plan->kernels) floats += nk_conv_portable_prepare(plan);
    // Matrix tiles read beyond the last voxel.
    if (plan->kernels && plan->kernels->matrix) floats += 2 * CONV_BLOCK * CONV_BLOCK;
    // Statistics, then space to align.
    plan->scratch_bytes = floats * sizeof(float) + 2 * ((size_t)desc->cout + 64) * sizeof(double) + 64;
    return plan;
}

/// An output of this size is not in the caches any more when the next layer reads it.
#define STREAMED_BYTES (32 << 20)

bool nk_conv_streams(const nk_conv_plan *plan) {
    const conv_kernels *kernels = plan->kernels;
    if (!kernels || kernels->matrix || kernels->lanes != CONV_BLOCK || plan->depthwise || plan->fold > 1) return false;
    if (plan->groups > 1 || plan->desc.cout % CONV_BLOCK != 0) return false;
    if (!plan->minimal_x && plan->pass_blocks < plan->block_count) return false;
    return 4.0 * plan->out[Z] * plan->out[Y] * plan->out[X] * plan->desc.cout >= STREAMED_BYTES;
}

void nk_conv_plan_destroy(nk_conv_plan *plan) {
    if (!plan) return;
    for (int p = 0; p < plan->phase_count; p++) {
        free(plan->phases[p].taps);
        free(plan->phases[p].kernel);
    }
    for (int a = 0; a < 3; a++) free(plan->reads[a]);
    free(plan->phases);
    free(plan->units);
    free(plan->weights);
    free(plan->bias);
    free(plan);
}

size_t nk_conv_plan_bytes(const nk_conv_plan *plan) { return plan->plan_bytes; }
int32_t nk_conv_plan_isa(const nk_conv_plan *plan) { return plan->desc.isa; }
size_t nk_conv_scratch_bytes(const nk_conv_plan *plan) { return plan->scratch_bytes; }

int32_t nk_conv_chunk_count(const nk_conv_plan *plan) {
    return plan->boxes[Z] * plan->boxes[Y] * plan->boxes[X] * plan->ranges * plan->spacing[Z] * plan->spacing[Y];
}

double nk_conv_plan_operations(const nk_conv_plan *plan) {
    double sum = 0;
    for (int p = 0; p < plan->phase_count; p++) {
        const conv_phase *phase = &plan->phases[p];
        sum += (double)phase->tap_count * phase->count[Z] * phase->count[Y] * phase->count[X];
    }
    return 2 * sum * plan->fold * (plan->desc.cin / plan->desc.groups) * plan->desc.cout;
}
