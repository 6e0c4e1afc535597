#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t count_of(const conort_tensor *one) {
    size_t count = 1;
    for (int axis = 0; axis < one->rank; axis++) {
        if (one->extents[axis] < 0) return 0;
        if (__builtin_mul_overflow(count, (size_t)one->extents[axis], &count)) return 0;
    }
    return count > ((size_t)1 << 40) ? 0 : count;
}

/* The memory of a buffer, zeros at first, and the tensor over it. */
static bool allocate(conort_run *run, conort_tensor *one, char *reason, size_t reason_bytes) {
    const conort_library *library = run->network->library;
    one->bytes = count_of(one) * sizeof(float);
    if (one->bytes == 0) {
        conort_copy_text(reason, reason_bytes, "a tensor is empty or too large");
        return false;
    }
    void *memory = NULL;
    if (run->memory != NULL) {
        if (!conort_done(library, library->AllocatorAlloc(run->memory, one->bytes, &memory), reason, reason_bytes)) {
            return false;
        }
    } else if (posix_memalign(&memory, 64, one->bytes) != 0) {
        memory = NULL;
    }
    if (memory == NULL) {
        conort_copy_text(reason, reason_bytes, "out of memory");
        return false;
    }
    one->values = memory;
    if (!run->is_on_device) memset(memory, 0, one->bytes);
    /* Page-locked memory is bound as memory of the processor: the library copies outputs onto themselves that are bound as
       page-locked memory of the device (1.31), and refuses that. */
    const void *kind = run->is_on_device ? run->memory_info : library->cpu;
    return conort_done(library,
                       library->CreateTensorWithDataAsOrtValue(kind, memory, one->bytes, one->extents,
                                                               (size_t)one->rank, FLOAT32, &one->tensor),
                       reason, reason_bytes);
}

/* Finds an allocator for memory of the device, or for page-locked memory that the device reads without a copy by the driver. */
static bool find_memory(conort_run *run, char *reason, size_t reason_bytes) {
    const conort_library *library = run->network->library;
    const char *name = run->is_on_device ? "Cuda" : "CudaPinned";
    /* The memory that a processor gets as output, or the device's own: OrtMemTypeCPUOutput, OrtMemTypeDefault. */
    int type = run->is_on_device ? 0 : -1;
    /* A device allocator: 0. */
    if (!conort_done(library, library->CreateMemoryInfo(name, 0, run->network->cuda, type, &run->memory_info), reason,
                     reason_bytes)) {
        run->memory_info = NULL;
        return false;
    }
    if (conort_done(library, library->CreateAllocator(run->network->session, run->memory_info, &run->memory), reason,
                    reason_bytes)) {
        return true;
    }
    library->ReleaseMemoryInfo(run->memory_info);
    run->memory_info = NULL;
    run->memory = NULL;
    return false;
}

static bool read_shape(const conort_library *library, const void *value, conort_tensor *one, char *reason,
                       size_t reason_bytes) {
    void *shape = NULL;
    size_t rank = 0;
    int type = 0;
    if (!conort_done(library, library->GetTensorTypeAndShape(value, &shape), reason, reason_bytes)) return false;
    bool is_done = conort_done(library, library->GetDimensionsCount(shape, &rank), reason, reason_bytes) &&
                   conort_done(library, library->GetTensorElementType(shape, &type), reason, reason_bytes);
    if (is_done && (rank > CONORT_MAX_RANK || type != FLOAT32)) {
        conort_copy_text(reason, reason_bytes, "an output is not float32, or has too many axes");
        is_done = false;
    }
    if (is_done) {
        one->rank = (int)rank;
        is_done = conort_done(library, library->GetDimensions(shape, one->extents, rank), reason, reason_bytes);
    }
    library->ReleaseTensorTypeAndShapeInfo(shape);
    return is_done;
}

/* The first run. On a device it is made by the thread of the run, which is left alone when it does not end. */
static bool run_first(conort_run *run, int *is_stuck, char *reason, size_t reason_bytes) {
    if (run->network->cuda < 0) return conort_run_once(run, reason, reason_bytes);
    if (!conort_start_thread(run, reason, reason_bytes) || conort_start(run) != 0) return false;
    int code = conort_wait(run, TILE_DEVICE_SECONDS * 1000, reason, reason_bytes);
    *is_stuck = code > 0;
    if (*is_stuck) snprintf(reason, reason_bytes, "no result after %d seconds", TILE_DEVICE_SECONDS);
    return code == 0;
}

/* Runs the network with outputs that it allocates itself, and reads their shapes: nothing else gives those of open extents. */
static bool find_output_shapes(conort_run *run, int *is_stuck, char *reason, size_t reason_bytes) {
    conort_network *network = run->network;
    const conort_library *library = network->library;
    for (size_t index = 0; index < network->outputs; index++) {
        const char *name = network->names[network->inputs + index];
        if (!conort_done(library, library->BindOutputToDevice(run->binding, name, library->cpu), reason,
                         reason_bytes)) {
            return false;
        }
    }
    if (!run_first(run, is_stuck, reason, reason_bytes)) return false;
    void **values = NULL;
    size_t count = 0;
    if (!conort_done(library, library->GetBoundOutputValues(run->binding, library->allocator, &values, &count), reason,
                     reason_bytes)) {
        return false;
    }
    bool is_done = count == network->outputs;
    if (!is_done) conort_copy_text(reason, reason_bytes, "an output is missing");
    for (size_t index = 0; index < count; index++) {
        is_done = is_done &&
                  read_shape(library, values[index], &run->buffers[network->inputs + index], reason, reason_bytes);
        library->ReleaseValue(values[index]);
    }
    char unused[256];
    conort_done(library, library->AllocatorFree(library->allocator, values), unused, sizeof unused);
    library->ClearBoundOutputs(run->binding);
    return is_done;
}

static bool prepare(conort_run *run, const int *ranks, const int64_t *extents, int *is_stuck, char *reason,
                    size_t reason_bytes) {
    conort_network *network = run->network;
    const conort_library *library = network->library;
    if (!conort_done(library, library->CreateRunOptions(&run->options), reason, reason_bytes) ||
        !conort_done(library, library->CreateIoBinding(network->session, &run->binding), reason, reason_bytes)) {
        return false;
    }
    char unused[512];
    /* Ordinary memory serves where there is no page-locked memory. */
    if (run->is_on_device) {
        if (!find_memory(run, reason, reason_bytes)) return false;
    } else if (network->cuda >= 0) {
        find_memory(run, unused, sizeof unused);
    }
    for (size_t index = 0; index < network->inputs; index++) {
        conort_tensor *one = &run->buffers[index];
        if (ranks[index] < 0 || ranks[index] > CONORT_MAX_RANK) {
            conort_copy_text(reason, reason_bytes, "an input has too many axes");
            return false;
        }
        one->rank = ranks[index];
        memcpy(one->extents, extents, sizeof(int64_t) * (size_t)one->rank);
        extents += one->rank;
        if (!allocate(run, one, reason, reason_bytes)) return false;
    }
    if (!find_output_shapes(run, is_stuck, reason, reason_bytes)) return false;
    for (size_t index = 0; index < network->outputs; index++) {
        conort_tensor *one = &run->buffers[network->inputs + index];
        if (!allocate(run, one, reason, reason_bytes) ||
            !conort_done(library,
                         library->BindOutput(run->binding, network->names[network->inputs + index], one->tensor),
                         reason, reason_bytes)) {
            return false;
        }
    }
    return run->has_thread || conort_start_thread(run, reason, reason_bytes);
}

conort_run *conort_bind(conort_network *network, const int *ranks, const int64_t *extents, const tile_device *tiles,
                        int *is_stuck, char *reason, size_t reason_bytes) {
    conort_run *run = calloc(1, sizeof *run);
    conort_tensor *buffers = calloc(network->inputs + network->outputs + 1, sizeof *buffers);
    if (run == NULL || buffers == NULL) {
        free(run);
        free(buffers);
        conort_copy_text(reason, reason_bytes, "out of memory");
        return NULL;
    }
    run->network = network;
    run->is_on_device = tiles != NULL && network->cuda >= 0;
    if (tiles != NULL) run->tiles = *tiles;
    run->buffers = buffers;
    pthread_mutex_init(&run->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&run->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (prepare(run, ranks, extents, is_stuck, reason, reason_bytes)) return run;
    conort_free_run(run);
    return NULL;
}
