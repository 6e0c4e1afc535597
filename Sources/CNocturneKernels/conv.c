// Plans, chunks and the portable path of the convolution.
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

#include "nk_conv.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "conv_internal.h"

/// Bytes of packed input and weights that should stay in the second-level cache together.
#define CACHE_BYTES (640 * 1024)

static void *allocate(nk_conv_plan *plan, size_t bytes) {
    bytes = round_up(bytes ? bytes : 1, 64);
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes)) return NULL;
    memset(memory, 0, bytes);
    plan->plan_bytes += bytes;
    return memory;
}

// MARK: Instruction sets

static int isa_of_processor(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && nk_conv_kernels_avx512()) {
        return NK_CONV_ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && nk_conv_kernels_avx2()) {
        return NK_CONV_ISA_AVX2;
    }
#endif
    return NK_CONV_ISA_BASELINE;
}

static int resolve_isa(int isa) {
    const int best = isa_of_processor();
    if (isa == NK_CONV_ISA_AUTO) {
        const char *wish = getenv("NOCTURNE_ISA");
        isa = best;
        if (wish && !strcmp(wish, "baseline")) isa = NK_CONV_ISA_BASELINE;
        if (wish && !strcmp(wish, "avx2")) isa = min_int(best, NK_CONV_ISA_AVX2);
        return isa;
    }
    return isa >= NK_CONV_ISA_BASELINE && isa <= best ? isa : -1;
}

int32_t nk_conv_isa_available(int32_t isa) { return resolve_isa(isa & ~NK_CONV_DIRECT) >= 0; }

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
    return d->cin % d->groups == 0 && d->cout % d->groups == 0;
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
        plan->reads[a] = allocate(plan, (size_t)plan->in_stride[a] * sizeof(bool));
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

    plan->phases = ok ? allocate(plan, (size_t)places * sizeof(conv_phase)) : NULL;
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
            phase->taps = allocate(plan, (size_t)n * sizeof(ptrdiff_t));
            phase->kernel = allocate(plan, (size_t)n * sizeof(int));
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

/// The sizes of packed memory that follow from a box.
static void measure_packed(nk_conv_plan *plan) {
    for (int a = 0; a < 3; a++) plan->packed[a] = (plan->box[a] - 1) * plan->in_stride[a] + plan->span[a];
    plan->row_voxels = plan->box[X] + (plan->span[X] - 1) / plan->in_stride[X];
    // Rows a page apart would meet in the same few lines of the cache.
    if ((size_t)plan->row_voxels * plan->in_stride[X] * plan->distance % 1024 == 0) plan->row_voxels++;
    plan->row = (size_t)plan->row_voxels * plan->in_stride[X] * plan->distance;
    plan->block = (size_t)plan->packed[Z] * plan->packed[Y] * plan->row;
}

double nk_conv_waiting(double chunks) {
    // Two threads and sixteen: on average the others stand half a chunk's time at the end, at worst as division has it.
    const int threads[] = {2, 16};
    const double weights[] = {0.75, 0.25};
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        const double turns = chunks / threads[i];
        const double whole = (double)(int64_t)(turns + 0.999999);
        sum += weights[i] * (0.5 * whole / turns + 0.5 * (turns + 0.5) / turns);
    }
    return sum;
}

/// Cuts the grid into boxes and the units into ranges. What is weighed, in cycles of one core: products, copying the
/// input, reading weights from far, resting sums, and threads that wait for the last chunk. Returns the sum.
static double choose_boxes(nk_conv_plan *plan) {
    const int *grid = plan->grid;
    plan->boxes[X] = ceil_div(grid[X], 112);
    plan->box[X] = ceil_div(grid[X], plan->boxes[X]);

    const double lanes = plan->kernels ? plan->kernels->lanes : 8;
    const double deep = plan->depthwise ? 1 : plan->group_in;
    // Cycles of products for one point of the grid, all units together.
    double products = 0, unit_weights = 0, all_weights = 0;
    for (int u = 0; u < plan->unit_count; u++) {
        const double t = plan->phases[plan->units[u].phase].tap_count;
        products += (t * deep + 4) * plan->units[u].vectors / 2;
        all_weights += t * deep * plan->units[u].vectors * lanes * 4;
        const double one = t * CONV_BLOCK * plan->units[u].vectors * lanes * 4;
        if (one > unit_weights) unit_weights = one;
    }
    if (plan->depthwise) unit_weights /= CONV_BLOCK;

    double best = -1;
    int best_box[2] = {1, 1}, best_ranges = 1, last_z = 0;
    for (int cut_z = 1; cut_z <= grid[Z]; cut_z++) {
        const int box_z = ceil_div(grid[Z], cut_z);
        if (box_z == last_z || box_z > 16) continue;
        last_z = box_z;
        int last_y = 0;
        for (int cut_y = 1; cut_y <= grid[Y]; cut_y++) {
            const int box_y = ceil_div(grid[Y], cut_y);
            if (box_y == last_y || box_y > 64) continue;
            last_y = box_y;
            plan->box[Z] = box_z;
            plan->box[Y] = box_y;
            measure_packed(plan);
            const double block_bytes = (double)plan->block * 4;
            const double points = (double)box_z * box_y * plan->box[X];
            const double boxes =
                (double)ceil_div(grid[Z], box_z) * ceil_div(grid[Y], box_y) * plan->boxes[X];
            double go = (CACHE_BYTES - 64 * 1024) / (block_bytes + unit_weights);
            double crowd = 1;
            if (go < 1) {
                crowd = (block_bytes + unit_weights) / CACHE_BYTES;
                crowd = crowd > 1 ? 1 + 0.5 * (crowd - 1) : 1;
                go = 1;
            }
            const double goes = go >= plan->block_count ? 1 : (double)plan->block_count / go;
            for (int ranges = 1; ranges <= plan->unit_count && ranges <= 64; ranges++) {
                const int units = ceil_div(plan->unit_count, ranges);
                if (ranges > 1 && units == ceil_div(plan->unit_count, ranges - 1)) continue;
                const double share = (double)units / plan->unit_count;
                const double groups = plan->groups * share < 1 ? 1 : plan->groups * share;
                double cycles = points * products * share * crowd;
                cycles += (double)plan->block * plan->block_count * groups / 16 * 6;
                cycles += 150.0 * plan->packed[Z] * plan->packed[Y] * plan->block_count * groups;
                cycles += all_weights * share / 16;
                cycles += (goes - 1) * points * plan->unit_count * share * 8;
                cycles += 3000;
                const double chunks = boxes * ranges;
                const double cost = cycles * chunks * nk_conv_waiting(chunks);
                if (best < 0 || cost < best) {
                    best = cost;
                    best_box[0] = box_z;
                    best_box[1] = box_y;
                    best_ranges = ranges;
                }
            }
        }
    }
    plan->box[Z] = best_box[0];
    plan->box[Y] = best_box[1];
    for (int a = 0; a < 2; a++) plan->boxes[a] = ceil_div(grid[a], plan->box[a]);
    const int per_range = ceil_div(plan->unit_count, best_ranges);
    plan->ranges = ceil_div(plan->unit_count, per_range);
    measure_packed(plan);
    double go = (CACHE_BYTES - 64 * 1024) / ((double)plan->block * 4 + unit_weights);
    plan->go = go < 1 ? 1 : go > plan->block_count ? plan->block_count : (int)go;
    plan->go = ceil_div(plan->block_count, ceil_div(plan->block_count, plan->go));
    return best;
}

/// Weight of an output channel and an input channel of a group (from 0 within it), at a tap.
static float weight_at(const nk_conv_plan *plan, const float *weights, int group, int o, int i, int tap) {
    const nk_conv_desc *d = &plan->desc;
    const size_t taps = (size_t)d->kz * d->ky * d->kx;
    const size_t group_in = (size_t)(d->cin / d->groups), group_out = (size_t)(d->cout / d->groups);
    if (d->transposed) return weights[((((size_t)group * group_in + i) * group_out) + o) * taps + tap];
    return weights[((((size_t)group * group_out + o) * group_in) + i) * taps + tap];
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
    plan->units = allocate(plan, units * sizeof(conv_unit));
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
                    plan->weight_count += taps * plan->group_in * unit->vectors * lanes;
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

static bool pack_weights(nk_conv_plan *plan, const float *weights, const float *bias) {
    if (plan->minimal) plan->weight_count = nk_conv_minimal_weight_count(plan);
    plan->weights = allocate(plan, plan->weight_count * sizeof(float));
    plan->bias = allocate(plan, ((size_t)plan->desc.cout + 64) * sizeof(float));
    if (!plan->weights || !plan->bias) return false;
    if (bias) memcpy(plan->bias, bias, (size_t)plan->desc.cout * sizeof(float));
    if (plan->minimal) {
        nk_conv_minimal_pack_weights(plan, weights);
        return true;
    }
    for (int u = 0; u < plan->unit_count; u++) {
        const conv_unit *unit = &plan->units[u];
        const conv_phase *phase = &plan->phases[unit->phase];
        float *to = plan->weights + unit->weights;
        if (plan->depthwise) {
            for (int t = 0; t < phase->tap_count; t++) {
                for (int c = 0; c < unit->channels; c++) {
                    to[t * CONV_BLOCK + c] = weight_at(plan, weights, unit->first + c, 0, 0, phase->kernel[t]);
                }
            }
        } else if (plan->kernels) {
            const int width = unit->vectors * plan->kernels->lanes;
            for (int block = 0; block < plan->block_count; block++) {
                const int from = block * plan->distance, channels = min_int(plan->distance, plan->group_in - from);
                for (int t = 0; t < phase->tap_count; t++) {
                    for (int i = from; i < from + channels; i++) {
                        for (int o = 0; o < unit->channels; o++) {
                            to[o] = weight_at(plan, weights, unit->group, unit->first + o, i, phase->kernel[t]);
                        }
                        to += width;
                    }
                }
            }
        } else {
            for (int t = 0; t < phase->tap_count; t++) {
                for (int i = 0; i < plan->group_in; i++) {
                    for (int o = 0; o < unit->channels; o++) {
                        to[o] = weight_at(plan, weights, unit->group, unit->first + o, i, phase->kernel[t]);
                    }
                    to += plan->group_out;
                }
            }
        }
    }
    return true;
}

nk_conv_plan *nk_conv_plan_create(const nk_conv_desc *desc, const float *weights, const float *bias) {
    const bool is_direct = desc->isa & NK_CONV_DIRECT;
    const int isa = resolve_isa(desc->isa & ~NK_CONV_DIRECT);
    if (isa < 0 || !is_sensible(desc)) return NULL;
    nk_conv_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return NULL;
    plan->plan_bytes = sizeof *plan;
    plan->desc = *desc;
    plan->desc.isa = isa;
    plan->kernels = isa == NK_CONV_ISA_AVX512 ? nk_conv_kernels_avx512()
        : isa == NK_CONV_ISA_AVX2             ? nk_conv_kernels_avx2()
                                              : NULL;
    memcpy(plan->in, (int[]){desc->in_z, desc->in_y, desc->in_x}, sizeof plan->in);
    memcpy(plan->out, (int[]){desc->out_z, desc->out_y, desc->out_x}, sizeof plan->out);
    plan->depthwise = desc->groups > 1 && desc->groups == desc->cin && desc->groups == desc->cout;
    plan->groups = plan->depthwise ? 1 : desc->groups;
    plan->group_in = desc->cin / plan->groups;
    plan->group_out = desc->cout / plan->groups;
    plan->distance = CONV_BLOCK;
    if (!plan->kernels) plan->distance = plan->group_in;
    if (plan->kernels && !plan->depthwise && plan->group_in <= 4) plan->distance = plan->group_in == 1 ? 1 : 4;
    plan->block_count = ceil_div(plan->group_in, plan->distance);
    plan->last_channels = plan->group_in - (plan->block_count - 1) * plan->distance;

    bool ok = create_phases(plan) && create_units(plan);
    if (ok) {
        const double direct = choose_boxes(plan);
        const nk_conv_plan before = *plan;
        const double minimal = is_direct ? -1 : nk_conv_minimal_choose(plan);
        // Transformed weights take more memory: every byte has to save a few cycles a run.
        const double extra = minimal < 0
            ? 0 : 4 * ((double)nk_conv_minimal_weight_count(plan) - (double)plan->weight_count);
        if (minimal < 0 || direct - minimal < 0.1 * direct + 2 * extra) *plan = before;
        measure_packed(plan);
        place_taps(plan);
        ok = pack_weights(plan, weights, bias);
    }
    if (!ok) {
        nk_conv_plan_destroy(plan);
        return NULL;
    }

    size_t floats = round_up((size_t)plan->go * plan->block, 16);
    if (plan->minimal) floats = nk_conv_minimal_scratch_floats(plan);
    if (!plan->kernels && !plan->depthwise) {
        // Rows of the grid whose gathered taps take about a megabyte and make at least a decent product.
        size_t taps = 1;
        for (int p = 0; p < plan->phase_count; p++) {
            if ((size_t)plan->phases[p].tap_count > taps) taps = (size_t)plan->phases[p].tap_count;
        }
        const size_t depth = taps * plan->group_in;
        const size_t points = 256 * 1024 / depth < 64 ? 64 : 256 * 1024 / depth > 1024 ? 1024 : 256 * 1024 / depth;
        plan->rows = max_int(1, min_int((int)(points / plan->box[X]), plan->box[Z] * plan->box[Y]));
        floats += round_up((size_t)plan->rows * plan->box[X] * depth, 16);
        floats += round_up((size_t)plan->rows * plan->box[X] * plan->group_out, 16);
    }
    // Statistics, then room to align.
    plan->scratch_bytes = floats * sizeof(float) + 2 * ((size_t)desc->cout + 64) * sizeof(double) + 64;
    if (!plan->kernels) openblas_set_num_threads(1);
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

// MARK: Copying input

/// Copies any strip, one value after the other.
static void pack_plain(const conv_strip *strip) {
    const float slope = strip->slope;
    if (strip->channels == 1) {
        const float scale = strip->scale ? strip->scale[0] : 1, shift = strip->scale ? strip->shift[0] : 0;
        const float *source = strip->source;
        float *target = strip->target;
        for (int i = 0; i < strip->count; i++) {
            const float y = *source * scale + shift;
            *target = y < 0 ? slope * y : y;
            source += strip->source_step;
            target += strip->target_step;
        }
        return;
    }
    for (int i = 0; i < strip->count; i++) {
        const float *restrict source = strip->source + i * strip->source_step;
        float *restrict target = strip->target + i * strip->target_step;
        if (strip->scale) {
            for (int c = 0; c < strip->channels; c++) {
                const float y = source[c] * strip->scale[c] + strip->shift[c];
                target[c] = y < 0 ? slope * y : y;
            }
        } else if (slope != 1) {
            for (int c = 0; c < strip->channels; c++) target[c] = source[c] < 0 ? slope * source[c] : source[c];
        } else {
            memcpy(target, source, (size_t)strip->channels * sizeof(float));
        }
    }
}

void nk_conv_pack_row(
    const conv_job *job, int group, int block, int blocks, int z, int y, float *target, size_t target_block) {
    const nk_conv_plan *plan = job->plan;
    const int step = plan->in_stride[X], distance = plan->distance;
    const int start = job->first[X] * step + plan->lowest[X];
    const bool empty = z < 0 || z >= plan->in[Z] || y < 0 || y >= plan->in[Y];
    const size_t voxel = empty ? 0 : ((size_t)z * plan->in[Y] + y) * plan->in[X];
    for (int b = block; b < block + blocks; b++, target += target_block) {
        const int from = group * plan->group_in + b * distance;
        const int to = min_int(from + distance, (group + 1) * plan->group_in);
        for (int part = 0; part < step; part++) {
            if (!plan->reads[X][part]) continue;
            float *line = target + (size_t)part * plan->row_voxels * distance;
            // Voxels low ..< high of the line are within the input.
            int low = 0, high = 0;
            if (!empty) {
                const int origin = start + part;
                low = origin < 0 ? min_int(plan->row_voxels, ceil_div(-origin, step)) : 0;
                high = origin >= plan->in[X] ? 0 : min_int(plan->row_voxels, ceil_div(plan->in[X] - origin, step));
                if (high < low) high = low;
            }
            memset(line, 0, (size_t)low * distance * sizeof(float));
            memset(line + (size_t)high * distance, 0, (size_t)(plan->row_voxels - high) * distance * sizeof(float));
            if (low == high) continue;
            const size_t x = voxel + (size_t)(start + part + low * step);
            int base = 0;
            for (int s = 0; s < job->source_count && base < to; s++) {
                const nk_conv_source *source = &job->sources[s];
                const int begin = max_int(from, base), end = min_int(to, base + source->channels);
                if (begin < end) {
                    const conv_strip strip = {
                        .source = source->data + x * source->channels + (begin - base),
                        .target = line + (size_t)low * distance + (begin - from),
                        .scale = source->scale ? source->scale + (begin - base) : NULL,
                        .shift = source->scale ? source->shift + (begin - base) : NULL,
                        .slope = source->slope,
                        .channels = end - begin,
                        .count = high - low,
                        .source_step = (ptrdiff_t)step * source->channels,
                        .target_step = distance,
                        .source_ahead = (ptrdiff_t)plan->in_stride[Y] * plan->in[X] * source->channels,
                    };
                    if (plan->kernels && distance == CONV_BLOCK) {
                        plan->kernels->pack(&strip);
                    } else {
                        pack_plain(&strip);
                    }
                }
                base += source->channels;
            }
        }
    }
}

static void pack_box(const conv_job *job, int group, int block, int blocks) {
    const nk_conv_plan *plan = job->plan;
    const int rows_z = (job->size[Z] - 1) * plan->in_stride[Z] + plan->span[Z];
    const int rows_y = (job->size[Y] - 1) * plan->in_stride[Y] + plan->span[Y];
    for (int z = 0; z < rows_z; z++) {
        if (!plan->reads[Z][z % plan->in_stride[Z]]) continue;
        for (int y = 0; y < rows_y; y++) {
            if (!plan->reads[Y][y % plan->in_stride[Y]]) continue;
            nk_conv_pack_row(
                job, group, block, blocks, job->first[Z] * plan->in_stride[Z] + plan->lowest[Z] + z,
                job->first[Y] * plan->in_stride[Y] + plan->lowest[Y] + y,
                job->packed + ((size_t)z * plan->packed[Y] + y) * plan->row, plan->block);
        }
    }
}

/// Where the taps of a row of the box start.
static const float *packed_row(const conv_job *job, int z, int y) {
    const nk_conv_plan *plan = job->plan;
    const size_t in_z = (size_t)z * plan->in_stride[Z], in_y = (size_t)y * plan->in_stride[Y];
    return job->packed + (in_z * plan->packed[Y] + in_y) * plan->row;
}

// MARK: Vector kernels

/// Index into the table of tiles.
static int distance_index(const nk_conv_plan *plan) {
    return plan->distance == CONV_BLOCK ? 0 : plan->distance == 4 ? 1 : 2;
}

/// All tiles of one unit over the box.
static void run_unit(const conv_job *job, const conv_unit *unit, int block, int blocks) {
    const nk_conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int cout = plan->desc.cout;
    const int channel = unit->group * plan->group_out + unit->first;
    int size[3];
    for (int a = 0; a < 3; a++) size[a] = min_int(job->size[a], phase->count[a] - job->first[a]);
    if (size[Z] <= 0 || size[Y] <= 0 || size[X] <= 0) return;

    const bool start = plan->depthwise || block == 0;
    const bool end = plan->depthwise || block + blocks == plan->block_count;
    const int width = plan->depthwise ? CONV_BLOCK : unit->vectors * plan->kernels->lanes;
    conv_tile tile = {
        .input_segment = (ptrdiff_t)plan->in_stride[Y] * (ptrdiff_t)plan->row,
        .input_block = (ptrdiff_t)plan->block,
        .taps = phase->taps,
        .tap_count = phase->tap_count,
        .block_count = blocks,
        .last_channels = end ? plan->last_channels : plan->distance,
        .weights = plan->weights + unit->weights,
        .bias = start ? plan->bias + channel : NULL,
        .output_segment = (ptrdiff_t)plan->out_stride[Y] * plan->out[X] * cout,
        .output_step = (ptrdiff_t)plan->out_stride[X] * cout,
        .channels = unit->channels,
    };
    if (!plan->depthwise) tile.weights += (size_t)block * phase->tap_count * plan->distance * width;
    conv_finish last = {
        .output_segment = tile.output_segment,
        .output_step = tile.output_step,
        .channels = unit->channels,
        .slope = job->out_slope,
        .sums = job->sums ? job->sums + channel : NULL,
        .squares = job->sums ? job->squares + channel : NULL,
    };
    const bool finishes = end && (job->residual || job->out_slope != 1 || job->sums);

    // Tiles of nearly equal length; rows so short that several make up a tile go together.
    const int longest = plan->kernels->longest;
    const int tiles = ceil_div(size[X], longest), shorter = size[X] / tiles, longer = size[X] % tiles;
    conv_tile_function *const(*table)[14] =
        plan->depthwise ? NULL : plan->kernels->tiles[distance_index(plan)][unit->vectors - 1];
    int together = 1;
    if (table && tiles == 1) {
        for (int s = 2; s <= 4; s++) {
            if (table[s - 1][size[X] - 1]) together = s;
        }
    }
    for (int z = 0; z < size[Z]; z++) {
        for (int y = 0; y < size[Y];) {
            const int segments = size[Y] - y >= together ? together : 1;
            const float *input = packed_row(job, z, y);
            const size_t out_z = (size_t)(job->first[Z] + z) * plan->out_stride[Z] + phase->place[Z];
            const size_t out_y = (size_t)(job->first[Y] + y) * plan->out_stride[Y] + phase->place[Y];
            const size_t out_x = (size_t)job->first[X] * plan->out_stride[X] + phase->place[X];
            const size_t output = ((out_z * plan->out[Y] + out_y) * plan->out[X] + out_x) * cout + channel;
            int x = 0;
            for (int i = 0; i < tiles; i++) {
                const int length = shorter + (i < longer);
                tile.input = input + (size_t)x * plan->distance;
                tile.output = job->out + output + (size_t)x * tile.output_step;
                if (plan->depthwise) {
                    plan->kernels->depthwise(&tile, length);
                } else {
                    table[segments - 1][length - 1](&tile);
                }
                if (finishes) {
                    last.output = tile.output;
                    last.residual = job->residual ? job->residual + (tile.output - job->out) : NULL;
                    last.segments = segments;
                    last.length = length;
                    plan->kernels->finish(&last);
                }
                x += length;
            }
            y += segments;
        }
    }
}

static void run_vectors(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    for (int u = first; u < end;) {
        const int group = plan->units[u].group;
        int after = u;
        while (after < end && plan->units[after].group == group) after++;
        if (plan->depthwise) {
            // Every unit has a block of its own.
            for (int i = u; i < after; i++) {
                const int block = plan->units[i].first / CONV_BLOCK;
                if (i == u || plan->units[i].first != plan->units[i - 1].first) pack_box(job, 0, block, 1);
                run_unit(job, &plan->units[i], block, 1);
            }
        } else {
            for (int block = 0; block < plan->block_count; block += plan->go) {
                const int blocks = min_int(plan->go, plan->block_count - block);
                pack_box(job, group, block, blocks);
                for (int i = u; i < after; i++) run_unit(job, &plan->units[i], block, blocks);
            }
        }
        u = after;
    }
}

// MARK: Portable path

/// Residual, activation, statistics of one voxel's channels.
static void finish_plain(const conv_job *job, size_t at, int channel, int channels) {
    float *out = job->out + at;
    if (job->residual) {
        for (int c = 0; c < channels; c++) out[c] += job->residual[at + c];
    }
    if (job->out_slope != 1) {
        for (int c = 0; c < channels; c++) out[c] = out[c] < 0 ? job->out_slope * out[c] : out[c];
    }
    if (job->sums) {
        double *sums = job->sums + channel, *squares = job->squares + channel;
        for (int c = 0; c < channels; c++) {
            const double v = out[c];
            sums[c] += v;
            squares[c] += v * v;
        }
    }
}

/// Index of the first of `channels` in the output, of a point of the box.
static size_t output_index(const conv_job *job, const conv_phase *phase, int z, int y, int x) {
    const nk_conv_plan *plan = job->plan;
    const int point[] = {z, y, x};
    size_t o[3];
    for (int a = 0; a < 3; a++) o[a] = (size_t)(job->first[a] + point[a]) * plan->out_stride[a] + phase->place[a];
    return ((o[Z] * plan->out[Y] + o[Y]) * plan->out[X] + o[X]) * plan->desc.cout;
}

static void run_plain_depthwise(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    pack_box(job, 0, 0, 1);
    for (int u = first; u < end; u++) {
        const conv_unit *unit = &plan->units[u];
        const conv_phase *phase = &plan->phases[unit->phase];
        for (int z = 0; z < min_int(job->size[Z], phase->count[Z] - job->first[Z]); z++) {
            for (int y = 0; y < min_int(job->size[Y], phase->count[Y] - job->first[Y]); y++) {
                const float *row = packed_row(job, z, y) + unit->first;
                for (int x = 0; x < min_int(job->size[X], phase->count[X] - job->first[X]); x++) {
                    float sums[CONV_BLOCK];
                    for (int c = 0; c < unit->channels; c++) sums[c] = plan->bias[unit->first + c];
                    for (int t = 0; t < phase->tap_count; t++) {
                        const float *input = row + (ptrdiff_t)x * plan->distance + phase->taps[t];
                        const float *weights = plan->weights + unit->weights + (size_t)t * CONV_BLOCK;
                        for (int c = 0; c < unit->channels; c++) sums[c] += weights[c] * input[c];
                    }
                    const size_t at = output_index(job, phase, z, y, x) + unit->first;
                    memcpy(job->out + at, sums, (size_t)unit->channels * sizeof(float));
                    finish_plain(job, at, unit->first, unit->channels);
                }
            }
        }
    }
}

/// The units from `unit` on that lie side by side in one matrix.
static void run_products(const conv_job *job, const conv_unit *unit, int channels, float *gathered, float *products) {
    const nk_conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    const int channel = unit->group * plan->group_out + unit->first;
    int size[3];
    for (int a = 0; a < 3; a++) size[a] = min_int(job->size[a], phase->count[a] - job->first[a]);
    if (size[Z] <= 0 || size[Y] <= 0 || size[X] <= 0) return;
    const size_t depth = (size_t)phase->tap_count * plan->group_in;
    const size_t voxel = (size_t)plan->group_in * sizeof(float);

    for (int row = 0; row < size[Z] * size[Y]; row += plan->rows) {
        const int rows = min_int(plan->rows, size[Z] * size[Y] - row);
        const int points = rows * size[X];
        float *to = gathered;
        for (int r = row; r < row + rows; r++) {
            const float *from = packed_row(job, r / size[Y], r % size[Y]);
            for (int x = 0; x < size[X]; x++, from += plan->distance) {
                for (int t = 0; t < phase->tap_count; t++) {
                    memcpy(to, from + phase->taps[t], voxel);
                    to += plan->group_in;
                }
            }
        }
        for (int i = 0; i < points; i++) {
            memcpy(products + (size_t)i * channels, plan->bias + channel, (size_t)channels * sizeof(float));
        }
        if (depth > 0) {
            cblas_sgemm(
                CblasRowMajor, CblasNoTrans, CblasNoTrans, points, channels, (int)depth, 1, gathered, (int)depth,
                plan->weights + unit->weights, plan->group_out, 1, products, channels);
        }
        const float *result = products;
        for (int r = row; r < row + rows; r++) {
            for (int x = 0; x < size[X]; x++, result += channels) {
                const size_t at = output_index(job, phase, r / size[Y], r % size[Y], x) + channel;
                memcpy(job->out + at, result, (size_t)channels * sizeof(float));
                finish_plain(job, at, channel, channels);
            }
        }
    }
}

static void run_plain(const conv_job *job, int first, int end) {
    const nk_conv_plan *plan = job->plan;
    if (plan->depthwise) {
        run_plain_depthwise(job, first, end);
        return;
    }
    size_t depth = 1;
    for (int p = 0; p < plan->phase_count; p++) {
        const size_t one = (size_t)plan->phases[p].tap_count * plan->group_in;
        if (one > depth) depth = one;
    }
    float *gathered = job->packed + round_up(plan->block, 16);
    float *products = gathered + round_up((size_t)plan->rows * plan->box[X] * depth, 16);
    int packed = -1;
    for (int u = first; u < end;) {
        const conv_unit *unit = &plan->units[u];
        int channels = 0;
        for (; u < end && plan->units[u].group == unit->group && plan->units[u].phase == unit->phase; u++) {
            channels += plan->units[u].channels;
        }
        if (packed != unit->group) pack_box(job, unit->group, 0, 1);
        packed = unit->group;
        run_products(job, unit, channels, gathered, products);
    }
}

// MARK: Running

void nk_conv_run_chunk(
    const nk_conv_plan *plan, const nk_conv_source *sources, int32_t source_count, const float *residual, float *out,
    float out_slope, double *stats, int32_t chunk, void *scratch) {
    conv_job job = {
        .plan = plan,
        .sources = sources,
        .source_count = source_count,
        .residual = residual,
        .out = out,
        .out_slope = out_slope,
    };
    // Neighbours in memory follow each other, and ranges of channels of one box.
    const int range = chunk % plan->ranges;
    int box = chunk / plan->ranges;
    for (int a = X; a >= Z; a--) {
        job.first[a] = box % plan->boxes[a] * plan->box[a];
        job.size[a] = min_int(plan->box[a], plan->grid[a] - job.first[a]);
        box /= plan->boxes[a];
    }
    const int each = ceil_div(plan->unit_count, plan->ranges);
    const int first = range * each, end = min_int(first + each, plan->unit_count);

    const size_t cout = (size_t)plan->desc.cout;
    float *aligned = (float *)(((uintptr_t)scratch + 63) / 64 * 64);
    if (stats) {
        job.sums = (double *)aligned;
        job.squares = job.sums + cout + 32;
        memset(job.sums, 0, 2 * (cout + 32) * sizeof(double));
    }
    job.packed = aligned + round_up(4 * (cout + 32), 16);
    if (plan->minimal) {
        nk_conv_minimal_run(&job, first, end);
    } else if (plan->kernels) {
        run_vectors(&job, first, end);
    } else {
        run_plain(&job, first, end);
    }
    if (stats) {
        double *row = stats + (size_t)chunk * 2 * cout;
        memcpy(row, job.sums, cout * sizeof(double));
        memcpy(row + cout, job.squares, cout * sizeof(double));
    }
}

void nk_conv_merge_stats(const nk_conv_plan *plan, const double *stats, double *merged) {
    const size_t width = 2 * (size_t)plan->desc.cout;
    memset(merged, 0, width * sizeof(double));
    for (int32_t chunk = 0; chunk < nk_conv_chunk_count(plan); chunk++) {
        for (size_t i = 0; i < width; i++) merged[i] += stats[(size_t)chunk * width + i];
    }
}
