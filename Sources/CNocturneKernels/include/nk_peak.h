/// Loops that measure the highest rates of a processor: multiply-adds in registers, and copies of memory.
///
/// No function here starts a thread, allocates memory or keeps state.
#ifndef NK_PEAK_H
#define NK_PEAK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// The instructions whose rate is measured.
enum {
    /// Vectors of four float32 values as the compiler translates them for any processor of the architecture.
    NK_PEAK_PORTABLE = 0,
    NK_PEAK_AVX2 = 1,
    NK_PEAK_AVX512 = 2,
    /// Products of pairs of bfloat16 values, added to float32.
    NK_PEAK_AVX512_BF16 = 3,
};

/// Whether this processor has the instructions (one of NK_PEAK_*).
int32_t nk_peak_available(int32_t kind);

/// The instructions that bound the convolutions of an instruction set (NK_CONV_ISA_*, with or without NK_CONV_DIRECT)
/// for operands (NK_CONV_PRODUCTS_*). For the baseline set these are the best ones of the processor, because OpenBLAS
/// chooses its instructions itself. -1 where there is no loop: for matrix tiles, and for sets that this processor does
/// not have.
int32_t nk_peak_kind(int32_t isa, int32_t products);

/// The name of the instructions: "portable", "avx2", "avx512" or "avx512-bf16".
const char *nk_peak_name(int32_t kind);

/// Operations of one round of nk_peak_products; a multiply-add counts as two.
double nk_peak_operations(int32_t kind);

/// Runs rounds of independent multiply-adds in registers. Accumulators i = 0, 1, …, each a vector, begin with i in all
/// lanes; a round adds 1 to each lane, or 2 for bfloat16, as long as that is exact. Returns the sum of all lanes of all
/// accumulators. 0 if the processor does not have the instructions.
double nk_peak_products(int32_t kind, int64_t rounds);

/// Accumulators of the loop, and float32 lanes of each.
int32_t nk_peak_accumulators(int32_t kind);
int32_t nk_peak_lanes(int32_t kind);

/// Copies `count` floats between arrays that do not overlap; with `streams`, past the caches, for which `to` must be
/// aligned to 16 bytes.
void nk_peak_copy(const float *from, float *to, size_t count, int32_t streams);

/// Bytes of the last-level cache as the system states them; 0 if it does not.
size_t nk_peak_cache_bytes(void);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
