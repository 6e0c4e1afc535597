/* Reductions, softmax and matrix products. */
#include "nk_ops.h"
#include "internal.h"

#include <cblas.h>
#include <math.h>

void nk_reduce(int32_t kind, const float *in, float *out, size_t n, size_t inner, size_t begin, size_t end) {
    for (size_t outer = begin; outer < end; outer++) {
        for (size_t j = 0; j < inner; j++) {
            const float *from = in + outer * n * inner + j;
            double sum = 0;
            float largest = -INFINITY, smallest = INFINITY;
            for (size_t i = 0; i < n; i++) {
                const float x = from[i * inner];
                sum += x;
                largest = x > largest ? x : largest;
                smallest = x < smallest ? x : smallest;
            }
            float *to = out + outer * inner + j;
            switch (kind) {
                case NK_REDUCE_MEAN: *to = (float)(sum / (double)n); break;
                case NK_REDUCE_SUM: *to = (float)sum; break;
                case NK_REDUCE_MAX: *to = largest; break;
                default: *to = smallest; break;
            }
        }
    }
}

void nk_softmax(const float *in, float *out, size_t n, size_t inner, int32_t logarithm, size_t begin, size_t end) {
    for (size_t outer = begin; outer < end; outer++) {
        for (size_t j = 0; j < inner; j++) {
            const float *from = in + outer * n * inner + j;
            float *to = out + outer * n * inner + j;
            float largest = -INFINITY;
            for (size_t i = 0; i < n; i++) largest = from[i * inner] > largest ? from[i * inner] : largest;
            double sum = 0;
            for (size_t i = 0; i < n; i++) sum += expf(from[i * inner] - largest);
            if (logarithm) {
                const float offset = (float)log(sum);
                for (size_t i = 0; i < n; i++) to[i * inner] = from[i * inner] - largest - offset;
            } else {
                for (size_t i = 0; i < n; i++) to[i * inner] = (float)(expf(from[i * inner] - largest) / sum);
            }
        }
    }
}

void nk_matrix_product(
    int32_t transpose_a, int32_t transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
    const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    /* The library's own threads would compete with the caller's. Setting the number repeatedly costs nothing. */
    openblas_set_num_threads(1);
    cblas_sgemm(
        CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, (blasint)m,
        (blasint)n, (blasint)k, alpha, a, (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}
