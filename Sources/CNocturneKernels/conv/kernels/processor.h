// The choice of an instruction set on this processor. Layer 3, execution.

#pragma once

#include "kernels.h"

/// Converts one of NK_CONV_ISA_*, without NK_CONV_DIRECT, to one that this processor can run; -1 if there is none.
int nk_conv_resolve_isa(int isa);

/// The kernels of one of NK_CONV_ISA_* that nk_conv_resolve_isa returned; NULL for the baseline.
const conv_kernels *nk_conv_kernels(int isa);
