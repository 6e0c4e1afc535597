/* What Swift's Glibc import does not offer: thread names and stack sizes, parent-death signals, renames that exchange,
   and child processes. Every symbol is prefixed cposix_. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/types.h>

/* Starts a named thread with the given stack; returns 0 or an errno. */
int cposix_thread_start(uint64_t *handle, const char *name, size_t stack_bytes, void *(*body)(void *), void *context);
/* Waits for the thread to end. */
int cposix_thread_join(uint64_t handle);

/* fallocate(2): reserves disk space for the first bytes of a file, writing nothing. Returns 0 or an errno: EOPNOTSUPP
   where the file system cannot. */
int cposix_fallocate(int descriptor, int64_t bytes);

/* rename(2) in one step; with exchange, both names must exist and swap. Returns 0 or an errno. */
int cposix_rename(const char *from, const char *to, int exchange);
/* Flushes every file of the file system that holds the open descriptor. Returns 0 or an errno. */
int cposix_syncfs(int descriptor);

/* A file in memory, without a name in any folder; -1 and errno on failure. */
int cposix_memory_file(const char *name);
/* Returns free heap pages to the system. */
void cposix_trim_heap(void);
/* From now on the heap has few arenas, and returns blocks of 1 MiB and more to the system when they are freed. */
void cposix_keep_heap_small(void);

/* fork and exec of `path` in a process group of its own. The child is killed when the parent's thread ends, and before
   the parent when memory runs out. With detach_input, standard input is /dev/null. Returns the pid or -errno. */
pid_t cposix_spawn(const char *path, char *const argv[], char *const envp[], int detach_input);
/* The same in a session of its own, without a controlling terminal, which outlives this process: standard input is
   /dev/null, both outputs are the descriptor. Returns the pid or -errno. */
pid_t cposix_spawn_detached(const char *path, char *const argv[], int output);
/* WIFEXITED and friends: 1 and the code when the process exited, 0 and the signal when it was killed. */
int cposix_exit_status(int status, int *code_or_signal);
/* From now on each of these signals is written to a pipe, as one byte, whichever thread receives it. Returns the
   reading end of the pipe or -errno. Further calls add signals to the same pipe. */
int cposix_signals_begin(const int *signals, int count);
/* Waits for the next signal. The calling thread unblocks all signals, so that one thread receives them even when all
   others block them. */
int cposix_signals_next(int descriptor);
/* Whether a disposition ignores the signal. */
int cposix_is_ignored(const struct sigaction *action);
