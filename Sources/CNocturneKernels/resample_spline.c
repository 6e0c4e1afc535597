// Cubic B-spline coefficients by two recursive sweeps (Unser, Aldroubi, Eden 1993), with the initial values of
// scipy.ndimage's "reflect" mode (half-sample symmetric) and its order of operations.
#include "nk_resample.h"
#include "resample_variants.h"

#include <math.h>

#pragma STDC FP_CONTRACT OFF

enum { lane_block = 32 };

NK_INLINE void filter_block(double *c, ptrdiff_t n, ptrdiff_t step, ptrdiff_t lanes, double power)
{
    const double pole = sqrt(3.0) - 2.0;
    const double gain = (1.0 - pole) * (1.0 - 1.0 / pole);
    double first[lane_block], sum[lane_block];
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t l = 0; l < lanes; l++) c[i * step + l] *= gain;

    double factor = pole;
    for (ptrdiff_t l = 0; l < lanes; l++) {
        first[l] = c[l];
        sum[l] = c[l] + power * c[(n - 1) * step + l];
    }
    // Below 1e-290 nothing can reach a float32 any more, and products would become slow subnormal numbers.
    for (ptrdiff_t i = 1; i < n && fabs(factor) > 1e-290; i++) {
        const double *ahead = c + i * step, *behind = c + (n - 1 - i) * step;
        for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += factor * (ahead[l] + power * behind[l]);
        factor *= pole;
    }
    double scale = pole / (1.0 - power * power);
    for (ptrdiff_t l = 0; l < lanes; l++) c[l] = sum[l] * scale + first[l];
    for (ptrdiff_t i = 1; i < n; i++)
        for (ptrdiff_t l = 0; l < lanes; l++) c[i * step + l] += pole * c[(i - 1) * step + l];

    double last = pole / (pole - 1.0);
    for (ptrdiff_t l = 0; l < lanes; l++) c[(n - 1) * step + l] *= last;
    for (ptrdiff_t i = n - 2; i >= 0; i--)
        for (ptrdiff_t l = 0; l < lanes; l++) c[i * step + l] = pole * (c[(i + 1) * step + l] - c[i * step + l]);
}

NK_INLINE void nk_spline_prefilter_lanes_body(double *c, ptrdiff_t n, ptrdiff_t step, ptrdiff_t lanes)
{
    double power = pow(sqrt(3.0) - 2.0, (double)n);
    ptrdiff_t lane = 0;
    for (; lane + lane_block <= lanes; lane += lane_block) filter_block(c + lane, n, step, lane_block, power);
    if (lane < lanes) filter_block(c + lane, n, step, lanes - lane, power);
}

NK_VARIANTS(
    void, nk_spline_prefilter_lanes, (double *c, ptrdiff_t n, ptrdiff_t step, ptrdiff_t lanes), (c, n, step, lanes))

NK_INLINE void nk_spline_prefilter_rows_body(
    double *c, ptrdiff_t n, ptrdiff_t row_step, ptrdiff_t rows, double *scratch)
{
    double power = pow(sqrt(3.0) - 2.0, (double)n);
    for (ptrdiff_t row = 0; row < rows; row += 8) {
        ptrdiff_t lanes = rows - row < 8 ? rows - row : 8;
        // Eight rows side by side: a recursion has nothing else to vectorise over.
        for (ptrdiff_t l = 0; l < lanes; l++)
            for (ptrdiff_t i = 0; i < n; i++) scratch[i * 8 + l] = c[(row + l) * row_step + i];
        if (lanes == 8)
            filter_block(scratch, n, 8, 8, power);
        else
            filter_block(scratch, n, 8, lanes, power);
        for (ptrdiff_t l = 0; l < lanes; l++)
            for (ptrdiff_t i = 0; i < n; i++) c[(row + l) * row_step + i] = scratch[i * 8 + l];
    }
}

NK_VARIANTS(
    void, nk_spline_prefilter_rows,
    (double *c, ptrdiff_t n, ptrdiff_t row_step, ptrdiff_t rows, double *scratch), (c, n, row_step, rows, scratch))
