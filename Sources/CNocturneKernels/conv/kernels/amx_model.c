// A software model of matrix tiles according to the manual, for processors without them: slow, with the same bits but for
// the payload of NaN. With it, the whole convolution on tiles except for the instructions themselves can be tested on any
// processor with AVX-512 and bfloat16. Layer 3, execution.

#include "kernels.h"

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>
#include <pthread.h>
#include <string.h>

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))), apply_to = function)

typedef struct model_tile {
    float rows[16][16];
} model_tile;

static _Thread_local model_tile tiles[8];

/// TDPBF16PS: per row, sums from zero of the even products and of the odd ones by fused multiply-add; then their sum is
/// added to the tile. Denormal operands and results count as zero, a mode that the caller has set.
static __attribute__((noinline)) void model_rows(model_tile *sums, const model_tile *a, const model_tile *b) {
    const __m512i high = _mm512_set1_epi32((int)0xffff0000);
    for (int m = 0; m < 16; m++) {
        __m512 even = _mm512_setzero_ps(), odd = even;
        for (int k = 0; k < 16; k++) {
            const __m512i x = _mm512_castps_si512(_mm512_set1_ps(a->rows[m][k]));
            const __m512i w = _mm512_castps_si512(_mm512_loadu_ps(b->rows[k]));
            even = _mm512_fmadd_ps(
                _mm512_castsi512_ps(_mm512_slli_epi32(x, 16)), _mm512_castsi512_ps(_mm512_slli_epi32(w, 16)), even);
            odd = _mm512_fmadd_ps(
                _mm512_castsi512_ps(_mm512_and_si512(x, high)), _mm512_castsi512_ps(_mm512_and_si512(w, high)), odd);
        }
        const __m512 before = _mm512_loadu_ps(sums->rows[m]);
        _mm512_storeu_ps(sums->rows[m], _mm512_add_ps(before, _mm512_add_ps(even, odd)));
    }
}

static void model_products(model_tile *sums, const model_tile *a, const model_tile *b) {
    const unsigned state = _mm_getcsr();
    // Exceptions masked, nearest even, denormals flushed.
    _mm_setcsr(0x1f80 | _MM_FLUSH_ZERO_ON | 0x0040);
    model_rows(sums, a, b);
    _mm_setcsr(state);
}

#define TILE_ZERO(t) memset(&tiles[t], 0, sizeof tiles[t])
#define TILE_LOAD(t, address) memcpy(&tiles[t], address, sizeof tiles[t])
#define TILE_LOAD_ONCE(t, address) TILE_LOAD(t, address)
#define TILE_PRODUCTS(sums, a, b) model_products(&tiles[sums], &tiles[a], &tiles[b])
#define TILE_STORE(t, address) memcpy(address, &tiles[t], sizeof tiles[t])

#include "amx_template.h"

#pragma clang attribute pop

static conv_kernels kernels;
static bool works;

static void detect_features(void) {
    const conv_kernels *vectors = nk_conv_kernels_avx512_bf16();
    if (!vectors) return;
    kernels = *vectors;
    kernels.matrix = matrix;
    works = true;
}

const conv_kernels *nk_conv_kernels_amx_model(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, detect_features);
    return works ? &kernels : NULL;
}

#else

const conv_kernels *nk_conv_kernels_amx_model(void) { return NULL; }

#endif
