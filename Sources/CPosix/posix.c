#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Dispatch threads may run with another niceness than the process was given. */
void cposix_restore_priority(void) {
    errno = 0;
    int niceness = getpriority(PRIO_PROCESS, (id_t)getpid());
    if (errno == 0) setpriority(PRIO_PROCESS, 0, niceness);
}

struct start {
    void *(*body)(void *);
    void *context;
};

static void *run_start(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    cposix_restore_priority();
    return start.body(start.context);
}

int cposix_thread_start(uint64_t *handle, const char *name, size_t stack_bytes, void *(*body)(void *), void *context) {
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code != 0) return code;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    struct start *start = malloc(sizeof *start);
    if (!start) {
        pthread_attr_destroy(&attributes);
        return ENOMEM;
    }
    *start = (struct start){body, context};
    pthread_t thread;
    code = pthread_create(&thread, &attributes, run_start, start);
    pthread_attr_destroy(&attributes);
    if (code != 0) {
        free(start);
        return code;
    }
    char shortened[16];
    snprintf(shortened, sizeof shortened, "%s", name);
    pthread_setname_np(thread, shortened);
    *handle = (uint64_t)thread;
    return 0;
}

int cposix_thread_join(uint64_t handle) { return pthread_join((pthread_t)handle, NULL); }

int cposix_rename(const char *from, const char *to, int exchange) {
    int result = exchange ? renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) : rename(from, to);
    return result == 0 ? 0 : errno;
}

int cposix_fallocate(int descriptor, int64_t bytes) { return fallocate(descriptor, 0, 0, bytes) == 0 ? 0 : errno; }

int cposix_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

uint32_t cposix_file_system_type(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (uint32_t)status.f_type : 0;
}

int cposix_syncfs(int descriptor) { return syncfs(descriptor) == 0 ? 0 : errno; }

void cposix_trim_heap(void) { malloc_trim(0); }

/* By default the C library keeps eight arenas per core, and blocks of up to 32 MiB in them: resident memory then grows
   for hours, although nothing leaks. What is free at the end of an arena stays with the process up to a few MiB: with less,
   the buffers of each small item would go back to the system and come again, page by page. */
void cposix_limit_heap(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    mallopt(M_ARENA_MAX, cores > 2 ? (int)cores : 2);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

static _Thread_local int thread_may_block;

int cposix_thread_may_block(void) { return thread_may_block; }
void cposix_thread_set_may_block(int may_block) { thread_may_block = may_block; }
