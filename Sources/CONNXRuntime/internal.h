/* What the files of this target share. */
#pragma once
#include "CONNXRuntime.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct status status;

/* The functions of the interface's table that are used: place in the table, result, name, arguments. Places never change
   from version to version; objects are void pointers, of which only the addresses are passed. */
#define FUNCTIONS(F) \
    F(2, const char *, GetErrorMessage, (const status *)) \
    F(3, status *, CreateEnv, (int, const char *, void **)) \
    F(6, status *, DisableTelemetryEvents, (const void *)) \
    F(7, status *, CreateSession, (const void *, const char *, const void *, void **)) \
    F(10, status *, CreateSessionOptions, (void **)) \
    F(24, status *, SetIntraOpNumThreads, (void *, int)) \
    F(25, status *, SetInterOpNumThreads, (void *, int)) \
    F(30, status *, SessionGetInputCount, (const void *, size_t *)) \
    F(31, status *, SessionGetOutputCount, (const void *, size_t *)) \
    F(33, status *, SessionGetInputTypeInfo, (const void *, size_t, void **)) \
    F(34, status *, SessionGetOutputTypeInfo, (const void *, size_t, void **)) \
    F(36, status *, SessionGetInputName, (const void *, size_t, void *, char **)) \
    F(37, status *, SessionGetOutputName, (const void *, size_t, void *, char **)) \
    F(39, status *, CreateRunOptions, (void **)) \
    F(46, status *, RunOptionsSetTerminate, (void *)) \
    F(47, status *, RunOptionsUnsetTerminate, (void *)) \
    F(49, status *, CreateTensorWithDataAsOrtValue, \
      (const void *, void *, size_t, const int64_t *, size_t, int, void **)) \
    F(55, status *, CastTypeInfoToTensorInfo, (const void *, const void **)) \
    F(60, status *, GetTensorElementType, (const void *, int *)) \
    F(61, status *, GetDimensionsCount, (const void *, size_t *)) \
    F(62, status *, GetDimensions, (const void *, int64_t *, size_t)) \
    F(65, status *, GetTensorTypeAndShape, (const void *, void **)) \
    F(68, status *, CreateMemoryInfo, (const char *, int, int, int, void **)) \
    F(75, status *, AllocatorAlloc, (void *, size_t, void **)) \
    F(76, status *, AllocatorFree, (void *, void *)) \
    F(78, status *, GetAllocatorWithDefaultOptions, (void **)) \
    F(93, void, ReleaseStatus, (status *)) \
    F(94, void, ReleaseMemoryInfo, (void *)) \
    F(95, void, ReleaseSession, (void *)) \
    F(96, void, ReleaseValue, (void *)) \
    F(97, void, ReleaseRunOptions, (void *)) \
    F(98, void, ReleaseTypeInfo, (void *)) \
    F(99, void, ReleaseTensorTypeAndShapeInfo, (void *)) \
    F(100, void, ReleaseSessionOptions, (void *)) \
    F(125, status *, GetAvailableProviders, (char ***, int *)) \
    F(126, status *, ReleaseAvailableProviders, (char **, int)) \
    F(130, status *, AddSessionConfigEntry, (void *, const char *, const char *)) \
    F(131, status *, CreateAllocator, (const void *, const void *, void **)) \
    F(132, void, ReleaseAllocator, (void *)) \
    F(133, status *, RunWithBinding, (void *, const void *, const void *)) \
    F(134, status *, CreateIoBinding, (void *, void **)) \
    F(135, void, ReleaseIoBinding, (void *)) \
    F(136, status *, BindInput, (void *, const char *, const void *)) \
    F(137, status *, BindOutput, (void *, const char *, const void *)) \
    F(138, status *, BindOutputToDevice, (void *, const char *, const void *)) \
    F(140, status *, GetBoundOutputValues, (const void *, void *, void ***, size_t *)) \
    F(142, void, ClearBoundOutputs, (void *)) \
    F(202, status *, SynchronizeBoundInputs, (void *)) \
    F(203, status *, SynchronizeBoundOutputs, (void *)) \
    F(204, status *, SessionOptionsAppendExecutionProvider_CUDA_V2, (void *, const void *)) \
    F(205, status *, CreateCUDAProviderOptions, (void **)) \
    F(206, status *, UpdateCUDAProviderOptions, (void *, const char *const *, const char *const *, size_t)) \
    F(208, void, ReleaseCUDAProviderOptions, (void *)) \
    F(273, status *, SetDeterministicCompute, (void *, bool))

/* The version of the interface that has all of them: ONNX Runtime 1.17. */
#define INTERFACE_VERSION 17
/* The code of the interface for float32. */
#define FLOAT32 1

struct conort_library {
#define F(place, result, name, arguments) result(*name) arguments;
    FUNCTIONS(F)
#undef F
    char version[64];
    void *environment;
    /* Of memory that the processor reads, and of device memory. */
    void *cpu;
    void *allocator;
};

struct conort_network {
    const conort_library *library;
    void *session;
    int cuda;
    size_t inputs;
    size_t outputs;
    /* The names, inputs first; freed with the allocator. */
    char **names;
};

void conort_copy_text(char *to, size_t bytes, const char *from);
/* Whether the call succeeded; frees the status, and copies its message. */
bool conort_done(const conort_library *library, status *found, char *reason, size_t reason_bytes);

enum state { idle, asked, running, ended, closing };

typedef struct {
    int rank;
    int64_t extents[CONORT_MAX_RANK];
    float *values;
    size_t bytes;
    void *tensor;
} conort_tensor;

struct conort_run {
    conort_network *network;
    void *binding;
    void *options;
    /* Of page-locked memory, or of the device; NULL where the buffers are ordinary memory. */
    void *memory_info;
    void *memory;
    bool is_on_device;
    /* Whose kernels write the inputs; no functions where the caller does. */
    tile_device tiles;
    conort_tensor *buffers;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    enum state state;
    bool has_failed;
    char message[2048];
};

/* Runs the network on the buffers, on this thread. */
bool conort_run_once(conort_run *run, char *reason, size_t reason_bytes);
/* Starts the thread of a run. */
bool conort_start_thread(conort_run *run, char *reason, size_t reason_bytes);
