// Times the layers of nnU-Net's plain 3-D U-Net on one core, without Swift: `tiles.py` builds and runs it.
//
//     tiles INSTRUCTION-SET PRECISION STORED ROUNDS        numbers of nk_conv.h; STORED: 1 for tensors of bfloat16
//
// For each layer a line: name, how often the network has it, chunks, milliseconds, GFLOP, method. The time is the sum over
// the chunks of the shortest processor time of each: other programs and other tenants of the machine disturb it little.

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nk_conv.h"

typedef struct layer {
    const char *name;
    /// Extent of the input along each axis; channels of the two sources and of the output; kernel and stride.
    int size, first, second, channels, kernel, stride;
    bool transposed;
    int times;
} layer;

static const layer layers[] = {
    {"1 → 32, 96³", 96, 1, 0, 32, 3, 1, false, 1},
    {"32 → 32, 96³", 96, 32, 0, 32, 3, 1, false, 2},
    {"32 + 32 → 32, 96³", 96, 32, 32, 32, 3, 1, false, 1},
    {"32 → 64, stride 2", 96, 32, 0, 64, 3, 2, false, 1},
    {"64 → 64, 48³", 48, 64, 0, 64, 3, 1, false, 2},
    {"64 + 64 → 64, 48³", 48, 64, 64, 64, 3, 1, false, 1},
    {"64 → 128, stride 2", 48, 64, 0, 128, 3, 2, false, 1},
    {"128 → 128, 24³", 24, 128, 0, 128, 3, 1, false, 2},
    {"128 + 128 → 128, 24³", 24, 128, 128, 128, 3, 1, false, 1},
    {"128 → 256, stride 2", 24, 128, 0, 256, 3, 2, false, 1},
    {"256 → 256, 12³", 12, 256, 0, 256, 3, 1, false, 2},
    {"256 + 256 → 256, 12³", 12, 256, 256, 256, 3, 1, false, 1},
    {"256 → 320, stride 2", 12, 256, 0, 320, 3, 2, false, 1},
    {"320 → 320, 6³", 6, 320, 0, 320, 3, 1, false, 1},
    {"320 → 256, transposed", 6, 320, 0, 256, 2, 2, true, 1},
    {"256 → 128, transposed", 12, 256, 0, 128, 2, 2, true, 1},
    {"128 → 64, transposed", 24, 128, 0, 64, 2, 2, true, 1},
    {"64 → 32, transposed", 48, 64, 0, 32, 2, 2, true, 1},
    {"32 → 2, 96³", 96, 32, 0, 2, 1, 1, false, 1},
};

static float noise(void) {
    static uint32_t seed = 5;
    seed = seed * 1664525 + 1013904223;
    return (float)(int32_t)seed / 2147483648.0f;
}

/// Allocates values of float32, or of bfloat16 if `halves`.
static void *values(size_t count, bool halves) {
    float *floats = aligned_alloc(64, (count * sizeof(float) + 127) / 64 * 64);
    uint16_t *words = (uint16_t *)floats;
    for (size_t i = 0; i < count; i++) {
        const float value = noise();
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (halves) {
            words[i] = (uint16_t)(bits >> 16);
        } else {
            floats[i] = value;
        }
    }
    return floats;
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/// The sum of the shortest times of the chunks.
static double measure(const nk_conv_plan *plan, const nk_conv_run *run, int rounds) {
    const int chunks = nk_conv_chunk_count(plan);
    void *scratch = aligned_alloc(64, (nk_conv_scratch_bytes(plan) + 127) / 64 * 64);
    double *best = malloc((size_t)chunks * sizeof(double)), sum = 0;
    for (int chunk = 0; chunk < chunks; chunk++) best[chunk] = 1e9;
    for (int i = 0; i < rounds * chunks; i++) {
        const double start = processor_seconds();
        nk_conv_run_chunk(plan, run, i % chunks, scratch);
        const double seconds = processor_seconds() - start;
        if (seconds < best[i % chunks]) best[i % chunks] = seconds;
    }
    for (int chunk = 0; chunk < chunks; chunk++) sum += best[chunk];
    free(best);
    free(scratch);
    return sum;
}

static bool time_layer(const layer *l, int isa, int precision, bool stored, int rounds) {
    const int cin = l->first + l->second, pad = l->transposed ? 0 : (l->kernel - 1) / 2;
    const int out = l->transposed ? l->size * l->stride : (l->size + 2 * pad - l->kernel) / l->stride + 1;
    const nk_conv_desc desc = {
        .in_z = l->size, .in_y = l->size, .in_x = l->size, .out_z = out, .out_y = out, .out_x = out, .cin = cin,
        .cout = l->channels, .kz = l->kernel, .ky = l->kernel, .kx = l->kernel, .stride_z = l->stride,
        .stride_y = l->stride, .stride_x = l->stride, .pad_z = pad, .pad_y = pad, .pad_x = pad, .dilation_z = 1,
        .dilation_y = 1, .dilation_x = 1, .groups = 1, .transposed = l->transposed, .isa = isa, .precision = precision,
    };
    float *weights = values((size_t)l->kernel * l->kernel * l->kernel * cin * l->channels, false);
    nk_conv_plan *plan = nk_conv_plan_create(&desc, weights, NULL);
    free(weights);
    if (!plan) return false;
    const size_t voxels = (size_t)l->size * l->size * l->size, count = (size_t)out * out * out * l->channels;
    const bool reads = stored && nk_conv_reads_bfloat16(cin, 1);
    const bool stores = stored && nk_conv_plan_stores_bfloat16(plan);
    float *scale = values((size_t)cin, false), *shift = values((size_t)cin, false);
    const int channels[] = {l->first, l->second};
    nk_conv_source sources[2];
    for (int s = 0; s < 2; s++) {
        sources[s] = (nk_conv_source){
            .data = values(voxels * channels[s] + 1, reads), .channels = channels[s], .bfloat16 = reads,
            .scale = scale, .shift = shift, .slope = 0.01f,
        };
    }
    const nk_conv_run run = {
        .sources = sources, .source_count = l->second ? 2 : 1, .out = values(count, stores), .out_bfloat16 = stores,
        .out_slope = 1, .stats = malloc((size_t)nk_conv_chunk_count(plan) * 2 * l->channels * sizeof(double)),
    };
    const double seconds = measure(plan, &run, rounds);
    printf("%s\t%d\t%d\t%.3f\t%.3f\t%s\n", l->name, l->times, nk_conv_chunk_count(plan), seconds * 1e3,
        nk_conv_plan_operations(plan) * 1e-9, nk_conv_plan_method(plan));
    fflush(stdout);
    void *memory[] = {(void *)sources[0].data, (void *)sources[1].data, run.out, run.stats, scale, shift};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    nk_conv_plan_destroy(plan);
    return true;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (!time_layer(&layers[i], atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]))) return 1;
    }
    return 0;
}
