#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool bind_inputs(conort_run *run, char *reason, size_t reason_bytes) {
    conort_network *network = run->network;
    const conort_library *library = network->library;
    for (size_t index = 0; index < network->inputs; index++) {
        /* Binding copies the values to the device, so that it is repeated for every run. */
        if (!conort_done(library,
                         library->BindInput(run->binding, network->names[index], run->buffers[index].tensor), reason,
                         reason_bytes)) {
            return false;
        }
    }
    return conort_done(library, library->SynchronizeBoundInputs(run->binding), reason, reason_bytes);
}

bool conort_run_once(conort_run *run, char *reason, size_t reason_bytes) {
    const conort_library *library = run->network->library;
    /* On this thread, which is left alone when the device does not answer. */
    if (run->tiles.wait != NULL && run->tiles.wait(run->tiles.owner, reason, reason_bytes) != 0) return false;
    return bind_inputs(run, reason, reason_bytes) &&
           conort_done(library, library->RunWithBinding(run->network->session, run->options, run->binding), reason,
                       reason_bytes) &&
           conort_done(library, library->SynchronizeBoundOutputs(run->binding), reason, reason_bytes);
}

static void *work(void *argument) {
    conort_run *run = argument;
    pthread_mutex_lock(&run->lock);
    while (run->state != closing) {
        if (run->state != asked) {
            pthread_cond_wait(&run->changed, &run->lock);
            continue;
        }
        run->state = running;
        pthread_mutex_unlock(&run->lock);
        char message[sizeof run->message] = "";
        bool is_done = conort_run_once(run, message, sizeof message);
        pthread_mutex_lock(&run->lock);
        run->has_failed = !is_done;
        memcpy(run->message, message, sizeof message);
        run->state = ended;
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

bool conort_start_thread(conort_run *run, char *reason, size_t reason_bytes) {
    run->has_thread = pthread_create(&run->thread, NULL, work, run) == 0;
    if (!run->has_thread) conort_copy_text(reason, reason_bytes, "no thread can be created");
    return run->has_thread;
}

static void free_buffer(conort_run *run, conort_tensor *one) {
    const conort_library *library = run->network->library;
    char unused[256];
    if (one->tensor != NULL) library->ReleaseValue(one->tensor);
    if (one->values == NULL) return;
    if (run->memory == NULL) {
        free(one->values);
        return;
    }
    conort_done(library, library->AllocatorFree(run->memory, one->values), unused, sizeof unused);
}

void conort_free_run(conort_run *run) {
    const conort_library *library = run->network->library;
    if (run->has_thread) {
        pthread_mutex_lock(&run->lock);
        bool is_stuck = run->state == running || run->state == asked;
        if (!is_stuck) run->state = closing;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        if (is_stuck) {
            /* The device may still write to the buffers. */
            pthread_detach(run->thread);
            return;
        }
        pthread_join(run->thread, NULL);
    }
    if (run->binding != NULL) library->ReleaseIoBinding(run->binding);
    for (size_t index = 0; index < run->network->inputs + run->network->outputs; index++) {
        free_buffer(run, &run->buffers[index]);
    }
    if (run->options != NULL) library->ReleaseRunOptions(run->options);
    if (run->memory != NULL) library->ReleaseAllocator(run->memory);
    if (run->memory_info != NULL) library->ReleaseMemoryInfo(run->memory_info);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    free(run->buffers);
    free(run);
}

static const conort_tensor *buffer_at(const conort_run *run, int of_outputs, size_t index) {
    return &run->buffers[index + (of_outputs ? run->network->inputs : 0)];
}

int conort_output_rank(const conort_run *run, size_t index) { return buffer_at(run, 1, index)->rank; }

int64_t conort_output_extent(const conort_run *run, size_t index, int axis) {
    return buffer_at(run, 1, index)->extents[axis];
}

float *conort_buffer(const conort_run *run, int of_outputs, size_t index) {
    return buffer_at(run, of_outputs, index)->values;
}

int conort_start(conort_run *run) {
    char unused[256];
    const conort_library *library = run->network->library;
    if (!conort_done(library, library->RunOptionsUnsetTerminate(run->options), unused, sizeof unused)) return -1;
    pthread_mutex_lock(&run->lock);
    bool is_free = run->state == idle;
    if (is_free) run->state = asked;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return is_free ? 0 : -1;
}

int conort_wait(conort_run *run, int milliseconds, char *reason, size_t reason_bytes) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec += 1;
        end.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&run->lock);
    int waited = 0;
    while (run->state != ended && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&run->changed, &run->lock, &end);
    int result = 1;
    if (run->state == ended) {
        run->state = idle;
        result = run->has_failed ? -1 : 0;
        if (run->has_failed) conort_copy_text(reason, reason_bytes, run->message);
    }
    pthread_mutex_unlock(&run->lock);
    return result;
}

void conort_cancel(conort_run *run) {
    char unused[256];
    const conort_library *library = run->network->library;
    conort_done(library, library->RunOptionsSetTerminate(run->options), unused, sizeof unused);
}
