/* Kernels for the tiles of a sliding window, as functions of C and as the source that a device compiles, and what a device has to
   do for them. */
#pragma once
#include "tile_kernels.h"

#include <stddef.h>

/* A number for each kernel. */
typedef enum {
#define TILE_NUMBER(name) name##_kernel_number,
    TILE_KERNELS(TILE_NUMBER)
#undef TILE_NUMBER
    tile_kernel_count
} tile_kernel;

/* What a function returns when the device does not answer. */
#define TILE_NO_ANSWER (-2)
/* A device that needs longer for its work no longer works. */
#define TILE_DEVICE_SECONDS 120

/* A device: its memory, and its kernels, which run in the order of the calls. Functions return 0, or write the reason as text. They
   may be called on any thread, also on several at the same time. */
typedef struct {
    void *owner;
    int (*allocate)(void *owner, size_t bytes, void **memory, char *reason, size_t reason_bytes);
    void (*release)(void *owner, void *memory);
    int (*clear)(void *owner, void *memory, size_t bytes, char *reason, size_t reason_bytes);
    int (*upload)(void *owner, void *to, const void *from, size_t bytes, char *reason, size_t reason_bytes);
    /* After all kernels so far. Returns TILE_NO_ANSWER if these do not end. */
    int (*download)(void *owner, void *to, const void *from, size_t bytes, char *reason, size_t reason_bytes);
    /* Returns at once. `arguments` is the structure of the kernel's name. */
    int (*launch)(void *owner, tile_kernel kernel, const void *arguments, long long count, char *reason,
                  size_t reason_bytes);
    /* Waits until all kernels so far have ended: forever if the device does not answer. */
    int (*wait)(void *owner, char *reason, size_t reason_bytes);
    int (*unused)(void *owner, size_t *bytes, char *reason, size_t reason_bytes);
} tile_device;

/* The processor's memory, and the kernels compiled as C, on the calling thread: what a device is compared with. */
tile_device tile_host(void);

/* The source of the kernels, and the name of each in it. */
const char *tile_source(void);
const char *tile_kernel_name(tile_kernel kernel);
