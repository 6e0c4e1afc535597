/* The part of ONNX Runtime's C interface that Nocturne calls, and of the NVIDIA driver's, both loaded at run time: neither
   is needed to build. Every symbol has the prefix conort_.

   Functions that can fail return NULL or another value than 0 and write the reason, as text, to `reason`. */
#pragma once
#include "CTileKernels.h"

#include <stddef.h>
#include <stdint.h>

#define CONORT_MAX_RANK 16
#define CONORT_NAME_BYTES 1024

/* The loaded library. Never closed, since its threads outlive every object. */
typedef struct conort_library conort_library;
/* A network on one device. */
typedef struct conort_network conort_network;
/* A network bound to shapes, with its own buffers and the thread that runs it. */
typedef struct conort_run conort_run;

/* An input or output of a network. */
typedef struct {
    char name[CONORT_NAME_BYTES];
    /* -1 if the number of axes is above CONORT_MAX_RANK. */
    int rank;
    /* -1 for an open extent. */
    int64_t extents[CONORT_MAX_RANK];
    int is_float32;
} conort_port;

/* Loads the library at `path` and switches its telemetry off. */
conort_library *conort_open(const char *path, char *reason, size_t reason_bytes);
/* For example "1.31.1". */
const char *conort_version(const conort_library *library);
/* The execution providers that the library was built with, separated by commas. */
void conort_providers(const conort_library *library, char *text, size_t text_bytes);
/* Loads a library that a provider needs, so that the provider finds it by its name alone. Returns 0 on success. */
int conort_preload(const char *path, char *reason, size_t reason_bytes);
/* The number of cuDNN, such as 91900; 0 without one. */
size_t conort_cudnn(void);

/* Loads the provider for CUDA and tries the device. Returns 0 on success. */
int conort_check_cuda(const conort_library *library, int device, char *reason, size_t reason_bytes);

/* Reads a network. `cuda` is the number of the device, or -1 for the processor, which uses `threads`. */
conort_network *conort_load(const conort_library *library, const char *path, int cuda, int threads, char *reason,
                            size_t reason_bytes);
void conort_free_network(conort_network *network);
size_t conort_port_count(const conort_network *network, int of_outputs);
int conort_describe(const conort_network *network, int of_outputs, size_t index, conort_port *port, char *reason,
                    size_t reason_bytes);

/* Binds all inputs to these extents, which are contiguous in the order of the inputs, and runs the network once: the shapes of
   outputs, and the memory, are known after that. With `tiles`, which is copied, the buffers of a network on a device are memory
   of that device, with any values at first, and each run begins once all kernels so far have ended; else they are zeros.
   `is_stuck` is set if that run does not end on a device. */
conort_run *conort_bind(conort_network *network, const int *ranks, const int64_t *extents, const tile_device *tiles,
                        int *is_stuck, char *reason, size_t reason_bytes);
/* Also frees the buffers; of a run that has not ended, neither its buffers nor its thread. */
void conort_free_run(conort_run *run);
int conort_output_rank(const conort_run *run, size_t index);
int64_t conort_output_extent(const conort_run *run, size_t index, int axis);
/* The buffer of an input or output, which may be an address of the device. Not to be touched while a run is in progress. */
float *conort_buffer(const conort_run *run, int of_outputs, size_t index);
/* Begins a run on the thread of `run`. Returns 0 on success. */
int conort_start(conort_run *run);
/* Waits for the end. Returns 0 when it has ended well, 1 if it is still running after that time, -1 when it failed, with the
   reason. */
int conort_wait(conort_run *run, int milliseconds, char *reason, size_t reason_bytes);
/* Asks the run in progress to end after its current operator. */
void conort_cancel(conort_run *run);

/* A device of the NVIDIA driver. */
typedef struct {
    char name[256];
    uint64_t total_bytes;
    uint64_t free_bytes;
} conort_device;

/* The number of devices; -1 without a driver, with the reason. */
int conort_device_count(char *reason, size_t reason_bytes);
/* Returns 0 on success. Free memory needs a context, which takes memory on the device: it is read only if `with_free`. */
int conort_device_facts(int index, int with_free, conort_device *device, char *reason, size_t reason_bytes);
/* The driver's version, such as "580.159.04", or that of the CUDA interface that it has. */
void conort_driver_version(char *text, size_t text_bytes);

/* Memory and kernels of a device of the NVIDIA driver. Kept until the process ends. Returns 0 on success. */
int conort_tiles(int device, tile_device *tiles, char *reason, size_t reason_bytes);
