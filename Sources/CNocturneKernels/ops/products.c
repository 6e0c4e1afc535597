/* Matrix products. OpenBLAS computes them where there are no kernels for the processor; with them, speed does not depend
   on whether a distribution's OpenBLAS knows the processor. */
#include "nk_ops.h"
#include "internal.h"

#include <cblas.h>

enum { PANEL_DEPTH = 256 };

/* c = alpha * a b; element (i, j) of an operand is at i * row + j * column. */
typedef struct product {
    size_t m, n, k;
    float alpha;
    const float *a;
    size_t a_row, a_column;
    const float *b;
    size_t b_row, b_column;
    float *c;
    size_t c_row;
    /* Whether the product is added to c. */
    int adds;
} product;

#if defined(__x86_64__)
#include <immintrin.h>

/* Copies a block of the right operand of a product, from `b` on; columns beyond it become 0. */
static void pack(float *panel, const product *p, const float *b, size_t depth, size_t columns, size_t width) {
    const size_t row = p->b_row, column = p->b_column;
    for (size_t k = 0; k < depth; k++, panel += width, b += row) {
        if (column == 1) {
            for (size_t j = 0; j < columns; j++) panel[j] = b[j];
        } else {
            for (size_t j = 0; j < columns; j++) panel[j] = b[j * column];
        }
        for (size_t j = columns; j < width; j++) panel[j] = 0;
    }
}

#define LANES 16
#define ROWS 12
#define TARGET __attribute__((target("avx512f,fma")))
#define NAME(x) x##_avx512
#define VECTOR __m512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define SPREAD _mm512_set1_ps
#define MULTIPLY_ADD _mm512_fmadd_ps
#define MULTIPLY _mm512_mul_ps
#define ADD _mm512_add_ps
#define ZERO _mm512_setzero_ps
#include "products.h"

#define LANES 8
#define ROWS 6
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define VECTOR __m256
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define SPREAD _mm256_set1_ps
#define MULTIPLY_ADD _mm256_fmadd_ps
#define MULTIPLY _mm256_mul_ps
#define ADD _mm256_add_ps
#define ZERO _mm256_setzero_ps
#include "products.h"

static int computed(const product *p) {
    if (__builtin_cpu_supports("avx512f")) {
        product_avx512(p);
        return 1;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        product_avx2(p);
        return 1;
    }
    return 0;
}
#else
static int computed(const product *p) { return (void)p, 0; }
#endif

void nk_matrix_product(const nk_product *of) {
    const nk_matrix *a = &of->a, *b = &of->b;
    const product p = {
        .m = of->m, .n = of->n, .k = of->k, .alpha = of->alpha, .adds = of->adds,
        .a = a->data, .a_row = a->transposed ? 1 : a->stride, .a_column = a->transposed ? a->stride : 1,
        .b = b->data, .b_row = b->transposed ? 1 : b->stride, .b_column = b->transposed ? b->stride : 1,
        .c = of->c, .c_row = of->c_stride,
    };
    if (computed(&p)) return;
    /* The library's own threads would compete with the caller's. Setting the number repeatedly costs nothing. */
    openblas_set_num_threads(1);
    cblas_sgemm(
        CblasRowMajor, a->transposed ? CblasTrans : CblasNoTrans, b->transposed ? CblasTrans : CblasNoTrans, (blasint)p.m,
        (blasint)p.n, (blasint)p.k, p.alpha, p.a, (blasint)a->stride, p.b, (blasint)b->stride, (float)p.adds, p.c,
        (blasint)p.c_row);
}
