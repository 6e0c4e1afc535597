/* What Swift's Glibc import hides: thread names and stack sizes, process-death signals, renames that exchange, and
   child processes. Every symbol is prefixed cposix_. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/types.h>

/* Starts a named thread with the given stack; returns 0 or an errno. */
int cposix_thread_start(uint64_t *handle, const char *name, size_t stack_bytes, void *(*body)(void *), void *context);
/* Waits for the thread to end. */
int cposix_thread_join(uint64_t handle);

/* Sets room apart for a file from its beginning, writing nothing. Returns 0 or a system error code: EOPNOTSUPP where the
   file system cannot. */
int cposix_set_apart(int descriptor, int64_t bytes);

/* rename(2) in one step; with exchange, both names must exist and swap. Returns 0 or an errno. */
int cposix_rename(const char *from, const char *to, int exchange);
/* Flushes every file of the file system that holds the open descriptor. Returns 0 or an errno. */
int cposix_syncfs(int descriptor);

/* A file in memory, without a name in any folder; -1 and errno on failure. */
int cposix_memory_file(const char *name);
/* Gives free heap pages back to the system. */
void cposix_trim_heap(void);
/* From now on the heap has few arenas, and gives blocks of 1 MiB and more back to the system when they are freed. */
void cposix_keep_heap_small(void);

/* fork and exec of `path` in a process group of its own, dying with the parent's thread, and before it when memory
   runs out; returns the pid or -errno.
   When detach_input is set, standard input is /dev/null. */
pid_t cposix_spawn(const char *path, char *const argv[], char *const envp[], int detach_input);
/* The same in a session of its own, which no terminal can end and which outlives this process: standard input is /dev/null,
   both outputs are the descriptor. Returns the pid or -errno. */
pid_t cposix_spawn_detached(const char *path, char *const argv[], int output);
/* WIFEXITED and friends: 1 and the code when the process exited, 0 and the signal when it was killed. */
int cposix_exit_status(int status, int *code_or_signal);
/* From now on each of these signals is written into a pipe, as one byte, whichever thread it comes to; returns the pipe's
   reading end or -errno. Called again, it adds signals to the same pipe. */
int cposix_signals_begin(const int *signals, int count);
/* The next signal, waited for. The calling thread takes them itself, so that one does even when all others block them. */
int cposix_signals_next(int descriptor);
/* Whether a disposition is to ignore the signal. */
int cposix_is_ignored(const struct sigaction *action);
