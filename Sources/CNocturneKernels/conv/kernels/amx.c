// Matrix tiles (AMX) executed by the processor: "Intel Architecture Instruction Set Extensions Programming Reference",
// chapter on AMX, and Linux' Documentation/arch/x86/xstate.rst for the permission. Layer 3, execution.

#include "kernels.h"

#if defined(__x86_64__) && defined(__clang__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TARGET target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,amx-tile,amx-bf16")
#pragma clang attribute push(__attribute__((TARGET)), apply_to = function)

#define TILE_ZERO(t) _tile_zero(t)
#define TILE_LOAD(t, address) _tile_loadd(t, address, 64)
#define TILE_LOAD_ONCE(t, address) _tile_stream_loadd(t, address, 64)
#define TILE_PRODUCTS(sums, a, b) _tile_dpbf16ps(sums, a, b)
#define TILE_STORE(t, address) _tile_stored(t, address, 64)

#include "amx_template.h"

/// Configures the tiles of the calling thread: all eight, of their full size.
static void begin(void) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } shape = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        shape.row_bytes[t] = 64;
        shape.rows[t] = MATRIX_ROWS;
    }
    _tile_loadconfig(&shape);
}

/// Without tiles in use, the kernel saves less state when it switches threads.
static void end(void) { _tile_release(); }

#pragma clang attribute pop

static bool has_tiles(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return d >> 24 & 1 && d >> 22 & 1;
}

static conv_kernels kernels;
static bool works;

static void detect_features(void) {
    // Linux grants tiles to a process, for all its threads, on request: ARCH_REQ_XCOMP_PERM, tile data.
    const conv_kernels *vectors = nk_conv_kernels_avx512_bf16();
    if (!vectors || !has_tiles() || syscall(SYS_arch_prctl, 0x1023, 18) != 0) return;
    kernels = *vectors;
    kernels.matrix = matrix;
    kernels.begin = begin;
    kernels.end = end;
    works = true;
}

const conv_kernels *nk_conv_kernels_amx(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, detect_features);
    return works ? &kernels : NULL;
}

#else

const conv_kernels *nk_conv_kernels_amx(void) { return NULL; }

#endif
