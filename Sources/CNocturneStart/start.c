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

/* OpenBLAS starts one thread per core when it is loaded, each with some memory, unless the environment limits the
   number. Nocturne calls it from its own threads. The environment of this process cannot be changed before OpenBLAS
   reads it, so the program executes itself again with a changed environment; without /proc it continues unchanged. */
static void execute_with_one_blas_thread(char **argv, char **envp) {
    static char variable[] = "OPENBLAS_NUM_THREADS=1";
    const size_t name = sizeof "OPENBLAS_NUM_THREADS=" - 1;
    size_t count = 0;
    for (; envp[count]; count++) {
        if (strcmp(envp[count], variable) == 0) return;
    }
    char *changed[count + 2];
    size_t kept = 0;
    for (size_t index = 0; index < count; index++) {
        if (strncmp(envp[index], variable, name) != 0) changed[kept++] = envp[index];
    }
    changed[kept++] = variable;
    changed[kept] = NULL;
    syscall(SYS_execve, "/proc/self/exe", argv, changed);
}

static void start(int argc, char **argv, char **envp) {
    (void)argc;
    open_standard_descriptors();
#ifndef IS_SANITIZED
    execute_with_one_blas_thread(argv, envp);
#endif
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **, char **) = start;
