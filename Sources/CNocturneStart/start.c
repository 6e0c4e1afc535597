// Code that runs before any library is initialised.
#define _GNU_SOURCE
#include "CNocturneStart.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

/* A standard descriptor that is closed at the start would be reused for the next file or pipe that is opened, and
   messages would be written into it. */
static void open_standard_descriptors(void) {
    long descriptor;
    do descriptor = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    while (descriptor >= 0 && descriptor <= 2);
    if (descriptor > 2) syscall(SYS_close, descriptor);
}

/* Swift reads the command line from /proc, and finds no arguments, or traps, where it is not mounted. */
static void require_proc(void) {
    static const char message[] =
        "nocturne: /proc cannot be read, and is needed. Mount it (mount -t proc proc /proc), then repeat the command\n";
    if (syscall(SYS_faccessat, AT_FDCWD, "/proc/self/cmdline", R_OK) == 0) return;
    (void)!syscall(SYS_write, 2, message, sizeof message - 1);
    syscall(SYS_exit_group, 1);
}

static char blas_variable[] = "OPENBLAS_NUM_THREADS=1";

static int has_name(const char *entry, const char *name) { return strncmp(entry, name, strlen(name)) == 0; }

/* Puts the variable into the list that the libraries will read: in its own place, or in that of the variable "_", the
   command's name, which shells set and no program needs. There is no place for one more. Returns whether it is there. */
static int limit_blas_threads(char **envp) {
    char **place = NULL;
    for (char **entry = envp; *entry; entry++) {
        if (has_name(*entry, "OPENBLAS_NUM_THREADS=")) {
            *entry = blas_variable;
            return 1;
        }
        if (has_name(*entry, "_=")) place = entry;
    }
    if (place) *place = blas_variable;
    return place != NULL;
}

/* OpenBLAS starts one thread per core when it is loaded, each with some memory, unless the environment limits the
   number. Nocturne calls it from its own threads. Where the environment cannot be changed before OpenBLAS reads it, the
   program executes itself again with one that has the variable; if that fails, it continues unchanged. */
static void prepare_blas(char **argv, char **envp) {
    if (limit_blas_threads(envp)) return;
    size_t count = 0;
    while (envp[count]) count++;
    char *changed[count + 2];
    memcpy(changed, envp, count * sizeof *envp);
    changed[count] = blas_variable;
    changed[count + 1] = NULL;
    syscall(SYS_execve, "/proc/self/exe", argv, changed);
}

static void start(int argc, char **argv, char **envp) {
    (void)argc;
    open_standard_descriptors();
    require_proc();
#ifndef IS_SANITIZED
    prepare_blas(argv, envp);
#endif
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **, char **) = start;
