/* Shifts the clocks of a process for Tools/proofs/after_sleep.py, as if its machine had slept or somebody had set the date: preloaded with
   LD_PRELOAD. SHIFTED_CLOCKS is the path of a file with two numbers of 64 bits, in seconds, that may change at any time: by how much
   CLOCK_BOOTTIME is ahead, and by how much the date. CLOCK_MONOTONIC stays as it is: it does not count sleep. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shifts;

__attribute__((constructor)) static void open_shifts(void) {
    const char *path = getenv("SHIFTED_CLOCKS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) { return; }
    void *map = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (map != MAP_FAILED) { shifts = map; }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    /* Not through the library, whose own function this is. */
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && shifts && clock == CLOCK_BOOTTIME) { time->tv_sec += shifts[0]; }
    if (result == 0 && shifts && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) { time->tv_sec += shifts[1]; }
    return result;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) { *place = now.tv_sec; }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return result;
}
