/// Compiles one function body for several processors and selects at run time. The body must be a `static inline`
/// function
/// `name_body`, free of anything whose result depends on the vector length.
#ifndef NK_VARIANTS_H
#define NK_VARIANTS_H

#define NK_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
// AVX2 without FMA: even a compiler that ignores the pragma cannot contract operations.
#define NK_VARIANTS(result, name, parameters, arguments)                                                     \
    __attribute__((target("avx2"))) static result name##_avx2 parameters { return name##_body arguments; }   \
    static result name##_base parameters { return name##_body arguments; }                                   \
    result name parameters {                                                                                 \
        if (__builtin_cpu_supports("avx2")) return name##_avx2 arguments;                                    \
        return name##_base arguments;                                                                        \
    }
/// The same, where the processor's own conversion to float16 is used too.
#define NK_VARIANTS_HALF(result, name, parameters, arguments)                                                   \
    __attribute__((target("avx2,f16c"))) static result name##_avx2 parameters { return name##_body arguments; } \
    static result name##_base parameters { return name##_body arguments; }                                      \
    result name parameters {                                                                                    \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return name##_avx2 arguments;     \
        return name##_base arguments;                                                                           \
    }
#else
#define NK_VARIANTS_HALF NK_VARIANTS
#define NK_VARIANTS(result, name, parameters, arguments) \
    result name parameters { return name##_body arguments; }
#endif

#endif
