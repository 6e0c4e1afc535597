/* Macros that compile a function of the operators for several instruction sets. */
#pragma once

/* A contraction would make values depend on the processor. */
#pragma STDC FP_CONTRACT OFF

#if defined(__x86_64__) && defined(__linux__)
#define NK_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NK_CLONES
#endif

/* The output may be one of the inputs, element by element: vector code is correct, which a compiler cannot know. */
#define NK_VECTORISE _Pragma("clang loop vectorize(assume_safety) interleave(enable)")

/* A function that every clone compiles for its own instruction set. */
#define NK_INLINE static inline __attribute__((always_inline))
