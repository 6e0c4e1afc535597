#define _GNU_SOURCE
#include "CBlockingCalls.h"
#include "CPosix.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static _Atomic(blocking_calls_observer) observer;
static _Thread_local int observing;

void blocking_calls_observe(blocking_calls_observer new_observer) { atomic_store(&observer, new_observer); }

static void note(const char *call, const char *path) {
    blocking_calls_observer now = atomic_load_explicit(&observer, memory_order_relaxed);
    if (!now || observing || cposix_thread_may_block()) return;
    observing = 1;
    now(call, path ? path : "");
    observing = 0;
}

/* The same for a call on an open file. */
static void note_open(const char *call, int descriptor) {
    if (!atomic_load_explicit(&observer, memory_order_relaxed) || observing || cposix_thread_may_block()) return;
    char link[64], path[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    note(call, path);
}

/* The function that this one takes the place of. */
#define NEXT(name) \
    static _Atomic(void *) found; \
    void *known = atomic_load_explicit(&found, memory_order_relaxed); \
    if (!known) atomic_store_explicit(&found, known = dlsym(RTLD_NEXT, #name), memory_order_relaxed); \
    __typeof__(&name) next = (__typeof__(&name))known

#define WITH_PATH(result, name, parameters, path, ...) \
    result name parameters { \
        NEXT(name); \
        note(#name, path); \
        return next(__VA_ARGS__); \
    }

#define WITH_FILE(result, name, parameters, descriptor, ...) \
    result name parameters { \
        NEXT(name); \
        note_open(#name, descriptor); \
        return next(__VA_ARGS__); \
    }

WITH_PATH(int, unlink, (const char *path), path, path)
WITH_PATH(int, unlinkat, (int folder, const char *path, int flags), path, folder, path, flags)
WITH_PATH(int, rmdir, (const char *path), path, path)
WITH_PATH(int, mkdir, (const char *path, mode_t mode), path, path, mode)
WITH_PATH(int, rename, (const char *from, const char *to), to, from, to)
WITH_PATH(DIR *, opendir, (const char *path), path, path)
WITH_PATH(FILE *, fopen, (const char *path, const char *mode), path, path, mode)
WITH_FILE(int, fsync, (int descriptor), descriptor, descriptor)
WITH_FILE(int, fdatasync, (int descriptor), descriptor, descriptor)
WITH_FILE(int, syncfs, (int descriptor), descriptor, descriptor)
WITH_PATH(int, stat, (const char *path, struct stat *status), path, path, status)
WITH_PATH(int, lstat, (const char *path, struct stat *status), path, path, status)
WITH_PATH(int, fstatat, (int folder, const char *path, struct stat *status, int flags), path, folder, path, status, flags)
WITH_FILE(int, ftruncate, (int descriptor, off_t size), descriptor, descriptor, size)
WITH_FILE(int, fallocate, (int descriptor, int mode, off_t offset, off_t size), descriptor, descriptor, mode, offset, size)
WITH_PATH(int, nanosleep, (const struct timespec *time, struct timespec *left), NULL, time, left)
WITH_PATH(int, usleep, (useconds_t time), NULL, time)
WITH_PATH(unsigned, sleep, (unsigned time), NULL, time)
WITH_PATH(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), to, a, from, b, to, flags)

int open(const char *path, int flags, ...) {
    NEXT(open);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    note("open", path);
    return next(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    NEXT(openat);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    note("openat", path);
    return next(folder, path, flags, mode);
}

/* Sockets and event descriptors never wait for a disk; the runtime writes to them. */
ssize_t write(int descriptor, const void *bytes, size_t count) {
    NEXT(write);
    if (atomic_load_explicit(&observer, memory_order_relaxed) && !observing && !cposix_thread_may_block()) {
        struct stat status;
        if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) note_open("write", descriptor);
    }
    return next(descriptor, bytes, count);
}

void blocking_calls_backtrace(char *text, int capacity) {
    void *frames[24];
    int count = backtrace(frames, 24), used = 0;
    text[0] = 0;
    for (int index = 3; index < count && used < capacity; index++) {
        Dl_info info;
        if (!dladdr(frames[index], &info) || !info.dli_fname) continue;
        const char *module = strrchr(info.dli_fname, '/');
        used += snprintf(text + used, (size_t)(capacity - used), "%s(+%#lx) ", module ? module + 1 : info.dli_fname,
                         (unsigned long)((char *)frames[index] - (char *)info.dli_fbase));
    }
}
