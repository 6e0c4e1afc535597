/// What both forms of the prefilter of cubic B-splines share.
#ifndef NK_RESAMPLE_SPLINE_H
#define NK_RESAMPLE_SPLINE_H

#include "../variants.h"

#include <math.h>
#include <stddef.h>

enum { lane_block = 32 };

static const double pole = -0.2679491924311228;  // sqrt(3) - 2, as float64 arithmetic rounds it
static const double gain = 5.999999999999998;    // (1 - pole) * (1 - 1 / pole), likewise

/// Below this a power of the pole no longer changes a sum in float64.
static const double negligible = 1e-40;

/// pole^n, 0 where it is negligible.
NK_INLINE double power_of_pole(ptrdiff_t n) { return n > 60 ? 0 : pow(pole, (double)n); }

#endif
