/// Definitions shared by both forms of the prefilter of cubic B-splines.
#ifndef NK_RESAMPLE_SPLINE_H
#define NK_RESAMPLE_SPLINE_H

#include "../variants.h"

#include <math.h>
#include <stddef.h>

enum { lane_block = 32 };

static const double pole = -0.2679491924311228;  // sqrt(3) - 2, rounded as in float64 arithmetic
static const double gain = 5.999999999999998;    // (1 - pole) * (1 - 1 / pole), rounded in the same way

/// Powers of the pole below this no longer change a sum in float64.
static const double negligible = 1e-40;

/// pole^n, 0 where it is negligible.
NK_INLINE double power_of_pole(ptrdiff_t n) { return n > 60 ? 0 : pow(pole, (double)n); }

#endif
