// Signals as bytes in a pipe, which one thread reads.
#define _GNU_SOURCE
#include "CPosix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static int signal_pipe = -1, signal_source = -1;

static void write_signal(int number) {
    int before = errno;
    unsigned char byte = (unsigned char)number;
    /* A full pipe holds thousands of unread signals: another one adds nothing. */
    ssize_t ignored = write(signal_pipe, &byte, 1);
    (void)ignored;
    errno = before;
}

int cposix_signals_begin(const int *signals, int count) {
    if (signal_source < 0) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
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

int cposix_signals_next(int descriptor, int milliseconds) {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    while (1) {
        unsigned char byte = 0;
        ssize_t count = read(descriptor, &byte, 1);
        if (count == 1) return byte;
        if (count == 0) return -EPIPE;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return -errno;
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        int result = poll(&ready, 1, milliseconds);
        if (result == 0) return 0;
        /* The wait was interrupted by a signal, so a byte can be read. */
        if (result < 0 && errno != EINTR) return -errno;
    }
}

void cposix_signals_ignore(const int *signals, int count) {
    for (int index = 0; index < count; index++) signal(signals[index], SIG_IGN);
}

int cposix_is_ignored(const struct sigaction *action) { return action->sa_handler == SIG_IGN ? 1 : 0; }
