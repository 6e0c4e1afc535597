// Child processes: started without fork handlers, identified without races, named and protected.
#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int cposix_scheduled_cores(void) {
    /* For 65,536 cores: the system refuses a set that is smaller than its own. */
    cpu_set_t sets[64];
    memset(sets, 0, sizeof sets);
    return sched_getaffinity(0, sizeof sets, sets) == 0 ? CPU_COUNT_S(sizeof sets, sets) : 0;
}

/* If memory runs out, the kernel should kill the child and not the small parent, which starts another child. Raising
   the own score needs no privileges. Async-signal-safe. */
static void raise_out_of_memory_score(void) {
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

/* fork without pthread_atfork handlers: those of OpenBLAS wait for threads, indefinitely if a thread could not
   start. */
static pid_t plain_fork(void) {
#if __GLIBC_PREREQ(2, 34)
    return _Fork();
#else
    return fork();
#endif
}

/* Signals that the parent ignores or handles would otherwise be ignored in the child, too. */
static void default_signals(void) {
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGKILL && number != SIGSTOP && number != SIGPIPE) signal(number, SIG_DFL);
    }
}

static _Noreturn void execute(const char *path, char *const argv[], char *const envp[], int report) {
    execve(path, argv, envp);
    int code = errno;
    ssize_t ignored = write(report, &code, sizeof code);
    (void)ignored;
    _exit(127);
}

/* Returns the pid once execution has closed the other end of the pipe; -errno if execution failed, without a child. */
static pid_t executed(pid_t child, const int ends[2]) {
    close(ends[1]);
    int code = 0;
    ssize_t count;
    do count = read(ends[0], &code, sizeof code);
    while (count < 0 && errno == EINTR);
    close(ends[0]);
    if (count != sizeof code) return child;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    return -code;
}

pid_t cposix_spawn(const char *path, char *const argv[], char *const envp[], int detach_input) {
    pid_t parent = getpid();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    cposix_restore_priority();
    /* No handler of the parent may run in the child. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = plain_fork();
    int code = errno;
    if (child != 0) sigprocmask(SIG_SETMASK, &before, NULL);
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return -code;
    }
    if (child > 0) {
        setpgid(child, child);
        return executed(child, ends);
    }
    /* Only async-signal-safe calls from here on. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    /* Files of a process that disables core dumps belong to root. Executing a program sets this anyway. */
    prctl(PR_SET_DUMPABLE, 1);
    raise_out_of_memory_score();
    if (detach_input) {
        int null = open("/dev/null", O_RDONLY);
        if (null >= 0) dup2(null, 0);
    }
    default_signals();
    /* Signals stay blocked until the child has installed its handlers; otherwise they would end it. */
    sigset_t kept;
    sigemptyset(&kept);
    sigaddset(&kept, SIGUSR1);
    sigaddset(&kept, SIGUSR2);
    sigprocmask(SIG_SETMASK, &kept, NULL);
    execute(path, argv, envp, ends[1]);
}

pid_t cposix_spawn_detached(const char *path, char *const argv[], char *const envp[], int output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    pid_t child = plain_fork();
    if (child < 0) {
        int code = errno;
        close(ends[0]);
        close(ends[1]);
        return -code;
    }
    if (child > 0) return executed(child, ends);
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
    execute(path, argv, envp, ends[1]);
}

int cposix_child_status(pid_t child, int *code_or_signal) {
    int status = 0;
    pid_t ended;
    do ended = waitpid(child, &status, WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (ended < 0) return -errno;
    if (ended == 0) return 2;
    if (WIFEXITED(status)) {
        *code_or_signal = WEXITSTATUS(status);
        return 1;
    }
    *code_or_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return 0;
}

int cposix_inheritable_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    fcntl(ends[1], F_SETFD, 0);
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

int cposix_process_open(pid_t process) {
    int descriptor = (int)syscall(SYS_pidfd_open, process, 0);
    return descriptor < 0 ? -errno : descriptor;
}

int cposix_process_signal(int descriptor, int number) {
    return syscall(SYS_pidfd_send_signal, descriptor, number, NULL, 0) == 0 ? 0 : errno;
}

int cposix_disable_core_dumps(void) { return prctl(PR_SET_DUMPABLE, 0) == 0 ? 0 : errno; }

void cposix_set_name(const char *name) {
    char shortened[16];
    snprintf(shortened, sizeof shortened, "%s", name);
    prctl(PR_SET_NAME, shortened);
}

size_t cposix_write_nonblocking(int descriptor, const char *bytes, size_t count) {
    size_t written = 0;
    while (written < count) {
        struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
        if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT)) break;
        /* A pipe that is ready accepts this many bytes without blocking. */
        size_t part = count - written < 512 ? count - written : 512;
        ssize_t result = write(descriptor, bytes + written, part);
        if (result < 0 && errno == EINTR) continue;
        if (result <= 0) break;
        written += (size_t)result;
    }
    return written;
}
