/* Before the kernels: the processor computes what a device computes. */
#pragma STDC FP_CONTRACT OFF
#include "CTileKernels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int allocate(void *owner, size_t bytes, void **memory, char *reason, size_t reason_bytes) {
    (void)owner;
    if (posix_memalign(memory, 64, bytes ? bytes : 1) == 0) return 0;
    snprintf(reason, reason_bytes, "out of memory");
    return -1;
}

static void release(void *owner, void *memory) {
    (void)owner;
    free(memory);
}

static int clear(void *owner, void *memory, size_t bytes, char *reason, size_t reason_bytes) {
    (void)owner, (void)reason, (void)reason_bytes;
    memset(memory, 0, bytes);
    return 0;
}

static int copy(void *owner, void *to, const void *from, size_t bytes, char *reason, size_t reason_bytes) {
    (void)owner, (void)reason, (void)reason_bytes;
    memcpy(to, from, bytes);
    return 0;
}

static int launch(void *owner, tile_kernel kernel, const void *arguments, long long count, char *reason,
                  size_t reason_bytes) {
    (void)owner, (void)reason, (void)reason_bytes;
    switch (kernel) {
#define TILE_LOOP(name) \
    case name##_kernel_number: \
        for (long long index = 0; index < count; index++) name##_body(arguments, index); \
        break;
        TILE_KERNELS(TILE_LOOP)
#undef TILE_LOOP
    case tile_kernel_count: break;
    }
    return 0;
}

static int done(void *owner, char *reason, size_t reason_bytes) {
    (void)owner, (void)reason, (void)reason_bytes;
    return 0;
}

static int unused(void *owner, size_t *bytes, char *reason, size_t reason_bytes) {
    (void)owner, (void)reason, (void)reason_bytes;
    *bytes = INT64_MAX;
    return 0;
}

tile_device tile_host(void) {
    return (tile_device){NULL, allocate, release, clear, copy, copy, launch, done, unused};
}

/* #embed is of C23; the compiler has it for every version. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char source[] = {
#embed "include/tile_kernels.h"
    , 0};

const char *tile_source(void) { return source; }

const char *tile_kernel_name(tile_kernel kernel) {
    static const char *const names[] = {
#define TILE_NAME(name) #name "_kernel",
        TILE_KERNELS(TILE_NAME)
#undef TILE_NAME
    };
    return kernel < tile_kernel_count ? names[kernel] : "";
}
