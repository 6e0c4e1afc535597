// Memory of plans: of their lists and of packed weights. Layer 1, description.

#pragma once

#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/// Allocates zeroed memory that begins with a cache line and adds its size to `counted`; released with free. NULL when
/// memory runs out.
static inline void *nk_conv_allocate(size_t bytes, size_t *counted) {
    bytes = round_up(bytes ? bytes : 1, 64);
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes)) return NULL;
    memset(memory, 0, bytes);
    *counted += bytes;
    return memory;
}
