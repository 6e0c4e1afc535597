#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Threads of dispatch may run at another niceness than the process was given. */
static void be_as_nice_as_asked(void) {
    errno = 0;
    int asked = getpriority(PRIO_PROCESS, (id_t)getpid());
    if (errno == 0) setpriority(PRIO_PROCESS, 0, asked);
}

struct start {
    void *(*body)(void *);
    void *context;
};

static void *run_start(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    be_as_nice_as_asked();
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

int cposix_set_apart(int descriptor, int64_t bytes) { return fallocate(descriptor, 0, 0, bytes) == 0 ? 0 : errno; }

int cposix_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int cposix_syncfs(int descriptor) { return syncfs(descriptor) == 0 ? 0 : errno; }

void cposix_trim_heap(void) { malloc_trim(0); }

/* By itself the C library keeps eight arenas a core, and blocks of up to 32 MiB in them: what stays resident then grows
   with the hours, though nothing is lost. */
void cposix_keep_heap_small(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    mallopt(M_ARENA_MAX, cores > 2 ? (int)cores : 2);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

/* Should memory run out, the kernel is to take the child and leave the small parent, which starts another. Raising one's
   own score needs no rights. Async-signal-safe. */
static void be_the_first_victim(void) {
    static const char file[] = "/proc/self/oom_score_adj";
    char text[16] = {0};
    int descriptor = open(file, O_RDONLY);
    if (descriptor < 0) return;
    ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (length <= 0) return;
    int negative = text[0] == '-', score = 0;
    for (const char *digit = text + negative; *digit >= '0' && *digit <= '9'; digit++) score = 10 * score + *digit - '0';
    score = (negative ? -score : score) + 300;
    if (score > 1000) score = 1000;
    char *start = text + sizeof text;
    int rest = score < 0 ? -score : score;
    do *--start = (char)('0' + rest % 10);
    while (rest /= 10);
    if (score < 0) *--start = '-';
    descriptor = open(file, O_WRONLY);
    if (descriptor < 0) return;
    ssize_t ignored = write(descriptor, start, (size_t)(text + sizeof text - start));
    (void)ignored;
    close(descriptor);
}

pid_t cposix_spawn(const char *path, char *const argv[], char *const envp[], int detach_input) {
    pid_t parent = getpid();
    be_as_nice_as_asked();
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child > 0) {
        setpgid(child, child);
        return child;
    }
    /* Only async-signal-safe calls from here on. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    be_the_first_victim();
    if (detach_input) {
        int null = open("/dev/null", O_RDONLY);
        if (null >= 0) dup2(null, 0);
    }
    /* Wishes that are no end wait until the child listens; by themselves they would be its end. */
    sigset_t kept;
    sigemptyset(&kept);
    sigaddset(&kept, SIGUSR1);
    sigaddset(&kept, SIGUSR2);
    sigprocmask(SIG_SETMASK, &kept, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
    execve(path, argv, envp);
    _exit(127);
}

extern char **environ;

pid_t cposix_spawn_detached(const char *path, char *const argv[], int output) {
    pid_t child = fork();
    if (child != 0) return child < 0 ? -errno : child;
    setsid();
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, 0);
    dup2(output, 1);
    dup2(output, 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    execve(path, argv, environ);
    _exit(127);
}

int cposix_exit_status(int status, int *code_or_signal) {
    if (WIFEXITED(status)) {
        *code_or_signal = WEXITSTATUS(status);
        return 1;
    }
    *code_or_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return 0;
}

static int signal_pipe = -1, signal_source = -1;

static void write_signal(int number) {
    int before = errno;
    unsigned char byte = (unsigned char)number;
    /* A full pipe holds thousands of signals that nobody has read: one more says nothing new. */
    ssize_t ignored = write(signal_pipe, &byte, 1);
    (void)ignored;
    errno = before;
}

int cposix_signals_begin(const int *signals, int count) {
    if (signal_source < 0) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        signal_pipe = ends[1];
        signal_source = ends[0];
    }
    struct sigaction action = {.sa_handler = write_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int index = 0; index < count; index++) {
        if (sigaction(signals[index], &action, NULL) != 0) return -errno;
    }
    return signal_source;
}

int cposix_signals_next(int descriptor) {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    unsigned char byte = 0;
    while (read(descriptor, &byte, 1) != 1) {
        if (errno != EINTR) return -errno;
    }
    return byte;
}

int cposix_is_ignored(const struct sigaction *action) { return action->sa_handler == SIG_IGN ? 1 : 0; }
