// Plans of the convolution.
//
// A plan sees every layer as a few *phases*. A phase is a set of taps: for each point i of a grid it reads the input at
// i * input_stride + tap offset and writes the output at i * output_stride + the phase's place. An ordinary convolution
// is one phase with output stride 1. A transposed one has a phase for each place modulo its stride, each with the taps
// that reach it and input stride 1; so kernel = stride gives one tap a phase, and nothing is multiplied by zero.
//
// A chunk is a box of the grid times a range of blocks of output channels. It copies its part of the input, padded and
// with the prologue applied, into scratch memory: [block of 16 channels][z][y][x modulo stride][x / stride][channel],
// so that voxels next to each other in the output are a fixed distance apart, whatever the layer. Register tiles then
// walk over blocks of channels and taps. What does not fit the cache is done in several goes over the input channels,
// the sums resting in the output meanwhile.

#include <stdlib.h>
#include <string.h>

#include "conv_internal.h"


// MARK: Instruction sets

static int isa_of_processor(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && nk_conv_kernels_avx512()) {
        if (!__builtin_cpu_supports("avx512bf16") || !nk_conv_kernels_avx512_bf16()) return NK_CONV_ISA_AVX512;
        return nk_conv_kernels_amx() ? NK_CONV_ISA_AMX : NK_CONV_ISA_AVX512_BF16;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && nk_conv_kernels_avx2()) {
        return NK_CONV_ISA_AVX2;
    }
#endif
    return NK_CONV_ISA_BASELINE;
}

/// What the environment asks for.
static const char *wished(void) {
    const char *wish = getenv("NOCTURNE_ISA");
    return wish ? wish : "";
}

static int resolve_isa(int isa) {
    const int best = isa_of_processor();
    const bool models = best >= NK_CONV_ISA_AVX512_BF16 && nk_conv_kernels_amx_model();
    if (isa == NK_CONV_ISA_AUTO) {
        const char *const names[] = {"baseline", "avx2", "avx512", "avx512-bf16", "amx", "amx-model"};
        isa = best;
        for (int i = NK_CONV_ISA_BASELINE; i <= NK_CONV_ISA_AMX_MODEL; i++) {
            if (!strcmp(wished(), names[i - 1])) isa = i;
        }
        if (!strcmp(wished(), "amx-split")) isa = NK_CONV_ISA_AMX;
        if (!strcmp(wished(), "amx-model-split")) isa = NK_CONV_ISA_AMX_MODEL;
        if (isa == NK_CONV_ISA_AMX_MODEL && models) return isa;
        return min_int(isa, best);
    }
    if (isa == NK_CONV_ISA_AMX_MODEL) return models ? isa : -1;
    return isa >= NK_CONV_ISA_BASELINE && isa <= best ? isa : -1;
}

int32_t nk_conv_isa_available(int32_t isa) { return resolve_isa(isa & ~NK_CONV_DIRECT) >= 0; }

/// The precision that is meant: the environment may ask for split operands in place of float32, but where the plain sum
/// is asked for.
static int resolve_precision(int isa, int precision) {
    const char *wish = wished();
    const size_t length = strlen(wish);
    const bool splits = length > 6 && !strcmp(wish + length - 6, "-split");
    return isa == NK_CONV_ISA_AUTO && precision == NK_CONV_FLOAT32 && splits ? NK_CONV_SPLIT : precision;
}

const char *nk_conv_instruction_set(int32_t isa, int32_t precision) {
    static const char *const names[3][6] = {
        {"baseline", "avx2", "avx512", "avx512", "avx512", "avx512"},
        {"baseline, operands rounded", "avx2, operands rounded", "avx512, operands rounded", "avx512-bf16", "amx",
         "amx-model"},
        {"baseline", "avx2", "avx512", "avx512", "amx, split", "amx-model, split"},
    };
    const int found = resolve_isa(isa & ~NK_CONV_DIRECT);
    if (found < 0 || precision < NK_CONV_FLOAT32 || precision > NK_CONV_SPLIT) return NULL;
    return names[resolve_precision(isa, precision)][found - 1];
}

// MARK: Creating a plan

static bool is_sensible(const nk_conv_desc *d) {
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

static bool create_phases(nk_conv_plan *plan) {
    const nk_conv_desc *d = &plan->desc;
    const int kernel[] = {d->kz, d->ky, d->kx};
    const int stride[] = {d->stride_z, d->stride_y, d->stride_x};
    const int pad[] = {d->pad_z, d->pad_y, d->pad_x};
    const int dilation[] = {d->dilation_z, d->dilation_y, d->dilation_x};
    const int taps = kernel[Z] * kernel[Y] * kernel[X];
    int places = 1;

    // Offsets of taps along each axis; `fits` says of which phase they are.
    int *offsets[3] = {NULL, NULL, NULL}, *fits[3] = {NULL, NULL, NULL};
    bool ok = true;
    for (int a = 0; a < 3; a++) {
        plan->in_stride[a] = d->transposed ? 1 : stride[a];
        plan->out_stride[a] = d->transposed ? stride[a] : 1;
        plan->grid[a] = ceil_div(plan->out[a], plan->out_stride[a]);
        places *= plan->out_stride[a];
        offsets[a] = calloc((size_t)kernel[a], sizeof(int));
        fits[a] = calloc((size_t)kernel[a], sizeof(int));
        plan->reads[a] = nk_conv_allocate(plan, (size_t)plan->in_stride[a] * sizeof(bool));
        if (!offsets[a] || !fits[a] || !plan->reads[a]) {
            ok = false;
            continue;
        }
        int low = 0, high = 0;
        for (int k = 0; k < kernel[a]; k++) {
            if (d->transposed) {
                // place + pad - k * dilation has to be a multiple of the stride, and that multiple is the offset.
                fits[a][k] = modulo(k * dilation[a] - pad[a], stride[a]);
                offsets[a][k] = (fits[a][k] + pad[a] - k * dilation[a]) / stride[a];
            } else {
                offsets[a][k] = k * dilation[a] - pad[a];
            }
            low = k == 0 ? offsets[a][k] : min_int(low, offsets[a][k]);
            high = k == 0 ? offsets[a][k] : max_int(high, offsets[a][k]);
        }
        plan->lowest[a] = low;
        plan->span[a] = high - low + 1;
        for (int k = 0; k < kernel[a]; k++) plan->reads[a][(offsets[a][k] - low) % plan->in_stride[a]] = true;
    }

    plan->phases = ok ? nk_conv_allocate(plan, (size_t)places * sizeof(conv_phase)) : NULL;
    if (!plan->phases) ok = false;
    for (int place = 0; ok && place < places; place++) {
        conv_phase *phase = &plan->phases[plan->phase_count++];
        phase->place[X] = place % plan->out_stride[X];
        phase->place[Y] = place / plan->out_stride[X] % plan->out_stride[Y];
        phase->place[Z] = place / plan->out_stride[X] / plan->out_stride[Y];
        for (int a = 0; a < 3; a++) {
            phase->count[a] =
                plan->out[a] > phase->place[a] ? ceil_div(plan->out[a] - phase->place[a], plan->out_stride[a]) : 0;
        }
        for (int round = 0; ok && round < 2; round++) {
            int n = 0;
            for (int t = 0; t < taps; t++) {
                const int k[] = {t / kernel[X] / kernel[Y], t / kernel[X] % kernel[Y], t % kernel[X]};
                bool here = true;
                for (int a = 0; a < 3; a++) here = here && fits[a][k[a]] == phase->place[a];
                if (!here) continue;
                if (round == 1) phase->kernel[n] = t;
                n++;
            }
            if (round == 1) break;
            phase->tap_count = n;
            phase->taps = nk_conv_allocate(plan, (size_t)n * sizeof(ptrdiff_t));
            phase->kernel = nk_conv_allocate(plan, (size_t)n * sizeof(int));
            ok = phase->taps && phase->kernel;
        }
    }
    for (int a = 0; a < 3; a++) {
        free(offsets[a]);
        free(fits[a]);
    }
    return ok;
}

/// Where the taps are in packed memory. Needs the box.
static void place_taps(nk_conv_plan *plan) {
    const nk_conv_desc *d = &plan->desc;
    const int stride[] = {d->stride_z, d->stride_y, d->stride_x};
    const int pad[] = {d->pad_z, d->pad_y, d->pad_x};
    const int dilation[] = {d->dilation_z, d->dilation_y, d->dilation_x};
    for (int p = 0; p < plan->phase_count; p++) {
        conv_phase *phase = &plan->phases[p];
        for (int t = 0; t < phase->tap_count; t++) {
            const int index = phase->kernel[t];
            const int k[] = {index / d->kx / d->ky, index / d->kx % d->ky, index % d->kx};
            int offset[3];
            for (int a = 0; a < 3; a++) {
                offset[a] = d->transposed ? (phase->place[a] + pad[a] - k[a] * dilation[a]) / stride[a]
                                          : k[a] * dilation[a] - pad[a];
                offset[a] -= plan->lowest[a];
            }
            const int step = plan->in_stride[X];
            phase->taps[t] = ((ptrdiff_t)offset[Z] * plan->packed[Y] + offset[Y]) * (ptrdiff_t)plan->row +
                ((ptrdiff_t)(offset[X] % step) * plan->row_voxels + offset[X] / step) * plan->distance;
        }
    }
}

static bool create_units(nk_conv_plan *plan) {
    const int lanes = plan->kernels ? plan->kernels->lanes : 0;
    const int width = plan->depthwise ? CONV_BLOCK : plan->kernels ? 2 * lanes : 64;
    const int each = ceil_div(plan->group_out, width);
    size_t phases = 0;
    for (int p = 0; p < plan->phase_count; p++) {
        const conv_phase *phase = &plan->phases[p];
        phases += phase->count[Z] > 0 && phase->count[Y] > 0 && phase->count[X] > 0;
    }
    const size_t units = phases * plan->groups * each;
    if (units > 1 << 24) return false;
    plan->units = nk_conv_allocate(plan, units * sizeof(conv_unit));
    if (!plan->units) return false;
    for (int group = 0; group < plan->groups; group++) {
        for (int p = 0; p < plan->phase_count; p++) {
            const conv_phase *phase = &plan->phases[p];
            if (phase->count[Z] == 0 || phase->count[Y] == 0 || phase->count[X] == 0) continue;
            for (int first = 0; first < plan->group_out; first += width) {
                conv_unit *unit = &plan->units[plan->unit_count++];
                unit->phase = p;
                unit->group = group;
                unit->first = first;
                unit->channels = min_int(width, plan->group_out - first);
                unit->vectors = plan->kernels && !plan->depthwise ? ceil_div(unit->channels, lanes) : 2;
                unit->weights = plan->weight_count;
                const size_t taps = (size_t)phase->tap_count;
                if (plan->depthwise) {
                    plan->weight_count += taps * CONV_BLOCK;
                } else if (plan->kernels) {
                    const size_t deep = plan->pairs ? (size_t)words_of(plan) : (size_t)plan->group_in;
                    plan->weight_count += taps * deep * unit->vectors * lanes * (plan->split ? 2 : 1);
                } else {
                    // One matrix a phase and group, [tap][input channel][output channel]; units are its columns.
                    if (first == 0) plan->weight_count += taps * plan->group_in * plan->group_out;
                    if (first > 0) unit->weights = unit[-1].weights + (size_t)unit[-1].channels;
                }
            }
        }
    }
    return true;
}

/// How a layer is computed.
typedef struct conv_form {
    const conv_kernels *kernels;
    bool pairs, split, rounds;
    double product_cost;
} conv_form;

/// The forms that a precision and an instruction set offer for a layer, one or two.
static int forms_of(const nk_conv_desc *desc, int isa, int precision, bool is_direct, conv_form forms[2]) {
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
    // Matrix tiles take eight times as many words a cycle as two vector units; half of that is a fair hope.
    const double cost = products->matrix ? 0.25 : 1;
    if (precision == NK_CONV_BFLOAT16) {
        forms[0] = (conv_form){.kernels = products, .pairs = true, .product_cost = cost};
        return 1;
    }
    int count = 0;
    if (products->matrix) {
        forms[count++] = (conv_form){.kernels = products, .pairs = true, .split = true, .product_cost = 3 * cost};
    }
    if (count == 0 || !is_direct) forms[count++] = plain;
    return count;
}

/// All of a plan but its weights; `cost` in cycles.
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
    memcpy(plan->in, (int[]){desc->in_z, desc->in_y, desc->in_x}, sizeof plan->in);
    memcpy(plan->out, (int[]){desc->out_z, desc->out_y, desc->out_x}, sizeof plan->out);
    plan->depthwise = is_depthwise(desc);
    plan->groups = plan->depthwise ? 1 : desc->groups;
    plan->group_in = desc->cin / plan->groups;
    plan->group_out = desc->cout / plan->groups;
    plan->distance = CONV_BLOCK;
    if (!plan->kernels) plan->distance = plan->group_in;
    if (plan->kernels && !plan->depthwise && plan->group_in <= 4) plan->distance = plan->group_in == 1 ? 1 : 4;
    const int words = plan->pairs ? ceil_div(plan->group_in, 2) : plan->group_in;
    plan->block_count = ceil_div(words, plan->distance);
    plan->last_words = words - (plan->block_count - 1) * plan->distance;
    // Matrix tiles take whole blocks.
    if (plan->pairs && plan->kernels->matrix) plan->last_words = plan->distance;

    if (!create_phases(plan) || !create_units(plan)) {
        nk_conv_plan_destroy(plan);
        return NULL;
    }
    const double direct = nk_conv_choose_boxes(plan);
    const nk_conv_plan before = *plan;
    const double minimal = is_direct ? -1 : nk_conv_minimal_choose(plan);
    // Transformed weights take more memory: every byte has to save a few cycles a run.
    const double extra =
        minimal < 0 ? 0 : 4 * ((double)nk_conv_minimal_weight_count(plan) - (double)plan->weight_count);
    *cost = minimal;
    if (minimal < 0 || direct - minimal < 0.1 * direct + 2 * extra) {
        *plan = before;
        *cost = direct;
    }
    nk_conv_measure_packed(plan);
    place_taps(plan);
    return plan;
}

nk_conv_plan *nk_conv_plan_create(const nk_conv_desc *desc, const float *weights, const float *bias) {
    const bool is_direct = desc->isa & NK_CONV_DIRECT;
    const int isa = resolve_isa(desc->isa & ~NK_CONV_DIRECT);
    if (isa < 0 || !is_sensible(desc)) return NULL;
    conv_form forms[2];
    const int form_count = forms_of(desc, isa, resolve_precision(desc->isa, desc->precision), is_direct, forms);
    nk_conv_plan *plan = NULL;
    double best = 0;
    for (int i = 0; i < form_count; i++) {
        double cost;
        nk_conv_plan *other = prepare(desc, isa, is_direct, forms[i], &cost);
        if (!other) {
            nk_conv_plan_destroy(plan);
            return NULL;
        }
        if (plan && best <= cost) {
            nk_conv_plan_destroy(other);
            continue;
        }
        nk_conv_plan_destroy(plan);
        plan = other;
        best = cost;
    }
    if (!nk_conv_pack_weights(plan, weights, bias)) {
        nk_conv_plan_destroy(plan);
        return NULL;
    }

    size_t floats = round_up((size_t)plan->go * plan->block, 16);
    if (plan->minimal_x) floats = nk_conv_minimal_scratch_floats(plan);
    if (!plan->kernels) floats += nk_conv_portable_prepare(plan);
    // Matrix tiles read on after the last voxel.
    if (plan->kernels && plan->kernels->matrix) floats += 2 * CONV_BLOCK * CONV_BLOCK;
    // Statistics, then room to align.
    plan->scratch_bytes = floats * sizeof(float) + 2 * ((size_t)desc->cout + 64) * sizeof(double) + 64;
    return plan;
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
    return plan->boxes[Z] * plan->boxes[Y] * plan->boxes[X] * plan->ranges;
}

double nk_conv_plan_operations(const nk_conv_plan *plan) {
    double sum = 0;
    for (int p = 0; p < plan->phase_count; p++) {
        const conv_phase *phase = &plan->phases[p];
        sum += (double)phase->tap_count * phase->count[Z] * phase->count[Y] * phase->count[X];
    }
    return 2 * sum * (plan->desc.cin / plan->desc.groups) * plan->desc.cout;
}
