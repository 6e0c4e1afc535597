// The highest rates of a processor. Multiply-adds have a latency of 4 to 6 cycles and up to two units: twelve
// independent accumulators or more keep both busy, as long as all of them stay in registers.

#include "nk_peak.h"

#include <string.h>
#include <unistd.h>

#include "nk_conv.h"

#define UNROLL _Pragma("clang loop unroll(full)")

/// Read at run time, so that the compiler cannot compute the sums in advance.
static volatile float one = 1;

enum { PORTABLE_SUMS = 14, AVX2_SUMS = 12, AVX512_SUMS = 24 };

typedef float peak_vector __attribute__((vector_size(16)));

static double total(const float *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    return sum;
}

/// Defines a function that runs the loop. SPREAD fills a vector with a value, FACTOR an operand with it, and NEXT is the
/// accumulator after a multiply-add.
#define PRODUCTS(NAME, VECTOR, SUMS, SPREAD, FACTOR, NEXT)                               \
    static double NAME(int64_t rounds) {                                                 \
        enum { LANES = sizeof(VECTOR) / sizeof(float) };                                 \
        const __typeof__(FACTOR(one)) a = FACTOR(one), b = FACTOR(one);                  \
        VECTOR sums[SUMS];                                                               \
        UNROLL for (int i = 0; i < SUMS; i++) sums[i] = SPREAD((float)i);                \
        for (int64_t round = 0; round < rounds; round++) {                               \
            UNROLL for (int i = 0; i < SUMS; i++) sums[i] = NEXT(sums[i], a, b);         \
        }                                                                                \
        float values[SUMS * LANES];                                                      \
        UNROLL for (int i = 0; i < SUMS; i++) memcpy(values + i * LANES, &sums[i], sizeof(VECTOR)); \
        return total(values, SUMS * LANES);                                              \
    }

#define PORTABLE_SPREAD(x) ((peak_vector){x, x, x, x})
// The product changes with every round, so that it cannot be computed before the loop. Fused where the architecture has
// the instruction.
#define PORTABLE_NEXT(sum, a, b) ((sum) * (a) + (b))
PRODUCTS(products_portable, peak_vector, PORTABLE_SUMS, PORTABLE_SPREAD, PORTABLE_SPREAD, PORTABLE_NEXT)

#if defined(__x86_64__) && defined(__clang__)

#include <immintrin.h>

#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
PRODUCTS(products_avx2, __m256, AVX2_SUMS, _mm256_set1_ps, _mm256_set1_ps, _mm256_fmadd_ps)
#pragma clang attribute pop

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), apply_to = function)
PRODUCTS(products_avx512, __m512, AVX512_SUMS, _mm512_set1_ps, _mm512_set1_ps, _mm512_fmadd_ps)
#pragma clang attribute pop

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"))), apply_to = function)
/// Pairs of a value twice; only values that bfloat16 has.
static inline __attribute__((always_inline)) __m512bh pairs_of(float x) {
    return _mm512_cvtne2ps_pbh(_mm512_set1_ps(x), _mm512_set1_ps(x));
}
PRODUCTS(products_bf16, __m512, AVX512_SUMS, _mm512_set1_ps, pairs_of, _mm512_dpbf16_ps)
#pragma clang attribute pop

#endif

static const struct {
    const char *name;
    /// The instruction set of the convolution that needs the same instructions.
    int32_t isa;
    /// `products`: multiply-adds of a lane and round.
    int32_t sums, lanes, products;
    double (*run)(int64_t rounds);
} kinds[] = {
    {"portable", NK_CONV_ISA_BASELINE, PORTABLE_SUMS, 4, 1, products_portable},
#if defined(__x86_64__) && defined(__clang__)
    {"avx2", NK_CONV_ISA_AVX2, AVX2_SUMS, 8, 1, products_avx2},
    {"avx512", NK_CONV_ISA_AVX512, AVX512_SUMS, 16, 1, products_avx512},
    {"avx512-bf16", NK_CONV_ISA_AVX512_BF16, AVX512_SUMS, 16, 2, products_bf16},
#endif
};

enum { KINDS = sizeof kinds / sizeof *kinds };

int32_t nk_peak_available(int32_t kind) {
    return kind >= 0 && kind < KINDS && nk_conv_isa_available(kinds[kind].isa);
}

int32_t nk_peak_kind(int32_t isa, int32_t products) {
    isa &= ~NK_CONV_DIRECT;
    if (products == NK_CONV_PRODUCTS_TILES || !nk_conv_isa_available(isa)) return -1;
    if (products == NK_CONV_PRODUCTS_BFLOAT16) {
        return nk_peak_available(NK_PEAK_AVX512_BF16) ? NK_PEAK_AVX512_BF16 : -1;
    }
    if (isa == NK_CONV_ISA_AVX2) return NK_PEAK_AVX2;
    if (nk_peak_available(NK_PEAK_AVX512)) return NK_PEAK_AVX512;
    return nk_peak_available(NK_PEAK_AVX2) ? NK_PEAK_AVX2 : NK_PEAK_PORTABLE;
}

const char *nk_peak_name(int32_t kind) { return kind >= 0 && kind < KINDS ? kinds[kind].name : ""; }

int32_t nk_peak_accumulators(int32_t kind) { return kind >= 0 && kind < KINDS ? kinds[kind].sums : 0; }
int32_t nk_peak_lanes(int32_t kind) { return kind >= 0 && kind < KINDS ? kinds[kind].lanes : 0; }

double nk_peak_operations(int32_t kind) {
    if (kind < 0 || kind >= KINDS) return 0;
    return 2.0 * kinds[kind].sums * kinds[kind].lanes * kinds[kind].products;
}

double nk_peak_products(int32_t kind, int64_t rounds) {
    return nk_peak_available(kind) ? kinds[kind].run(rounds) : 0;
}

void nk_peak_copy(const float *from, float *to, size_t count, int32_t streams) {
    if (!streams) {
        memcpy(to, from, count * sizeof(float));
        return;
    }
    size_t i = 0;
#if defined(__clang__)
    for (; i + 4 <= count; i += 4) {
        peak_vector values;
        memcpy(&values, from + i, sizeof values);
        __builtin_nontemporal_store(values, (peak_vector *)(to + i));
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    for (; i < count; i++) to[i] = from[i];
}

size_t nk_peak_cache_bytes(void) {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
#else
    return 0;
#endif
}
