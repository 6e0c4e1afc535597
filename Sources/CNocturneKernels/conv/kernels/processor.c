// The instruction sets that this processor has, their names, and their kernels. Layer 3, execution.

#include <string.h>

#include "processor.h"

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

static bool has_amx_model(int best) { return best >= NK_CONV_ISA_AVX512_BF16 && nk_conv_kernels_amx_model(); }

int nk_conv_resolve_isa(int isa) {
    const int best = isa_of_processor();
    if (isa == NK_CONV_ISA_AUTO) return best;
    if (isa == NK_CONV_ISA_AMX_MODEL) return has_amx_model(best) ? isa : -1;
    return isa >= NK_CONV_ISA_BASELINE && isa <= best ? isa : -1;
}

const conv_kernels *nk_conv_kernels(int isa) {
    switch (isa) {
    case NK_CONV_ISA_AVX2: return nk_conv_kernels_avx2();
    case NK_CONV_ISA_AVX512: return nk_conv_kernels_avx512();
    case NK_CONV_ISA_AVX512_BF16: return nk_conv_kernels_avx512_bf16();
    case NK_CONV_ISA_AMX: return nk_conv_kernels_amx();
    case NK_CONV_ISA_AMX_MODEL: return nk_conv_kernels_amx_model();
    default: return NULL;
    }
}

int32_t nk_conv_isa_available(int32_t isa) { return nk_conv_resolve_isa(isa & ~NK_CONV_DIRECT) >= 0; }

int32_t nk_conv_isa_limited(const char *name) {
    static const struct {
        const char *name;
        int isa;
    } limits[] = {
        {"baseline", NK_CONV_ISA_BASELINE},
        {"avx2", NK_CONV_ISA_AVX2},
        {"avx512", NK_CONV_ISA_AVX512},
        {"avx512-bf16", NK_CONV_ISA_AVX512_BF16},
        {"amx", NK_CONV_ISA_AMX},
        {"amx-model", NK_CONV_ISA_AMX_MODEL},
    };
    const int best = isa_of_processor();
    int limit = best;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (!strcmp(name, limits[i].name)) limit = limits[i].isa;
    }
    if (limit == NK_CONV_ISA_AMX_MODEL && has_amx_model(best)) return limit;
    return min_int(limit, best);
}

const char *nk_conv_instruction_set(int32_t isa, int32_t precision) {
    static const char *const names[3][6] = {
        {"baseline", "avx2", "avx512", "avx512", "avx512", "avx512"},
        {"baseline, operands rounded", "avx2, operands rounded", "avx512, operands rounded", "avx512-bf16", "amx",
         "amx-model"},
        {"baseline", "avx2", "avx512", "avx512", "amx, split in three", "amx-model, split in three"},
    };
    const int found = nk_conv_resolve_isa(isa & ~NK_CONV_DIRECT);
    if (found < 0 || precision < NK_CONV_FLOAT32 || precision > NK_CONV_SPLIT) return NULL;
    return names[precision][found - 1];
}
