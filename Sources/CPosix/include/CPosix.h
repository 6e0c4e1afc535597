/* Functions that Swift's Glibc import does not offer: thread names and stack sizes, parent-death signals, exchanging
   renames, and child processes. Every symbol has the prefix cposix_. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/types.h>

/* Starts a named thread with the given stack; returns 0 or an errno. */
int cposix_thread_start(uint64_t *handle, const char *name, size_t stack_bytes, void *(*body)(void *), void *context);
/* Waits for the thread to end. */
int cposix_thread_join(uint64_t handle);

/* fallocate(2): reserves disk space for the first bytes of a file without writing. Returns 0 or an errno: EOPNOTSUPP if
   the file system does not support it. */
int cposix_fallocate(int descriptor, int64_t bytes);

/* rename(2) as one atomic step; with exchange, both names must exist and are swapped. Returns 0 or an errno. */
int cposix_rename(const char *from, const char *to, int exchange);
/* Flushes all files of the file system that contains the open descriptor. Returns 0 or an errno. */
int cposix_syncfs(int descriptor);

/* The magic number of the file system that holds the path (linux/magic.h); 0 if it cannot be asked. */
uint32_t cposix_file_system_type(const char *path);

/* Creates a file in memory without a name in any folder; -1 and errno on failure. */
int cposix_memory_file(const char *name);
/* Returns free heap pages to the system. */
void cposix_trim_heap(void);
/* From this call on, the heap uses few arenas, and returns blocks of 1 MiB and more to the system when they are
   freed. */
void cposix_limit_heap(void);

/* Sets the niceness of the calling thread to the value with which the process was started. */
void cposix_restore_priority(void);

/* Forks and executes `path` in its own process group. The child is killed when the calling thread ends and, if memory
   runs out, before the parent. Handlers registered with pthread_atfork are not run. With detach_input set, standard
   input is /dev/null. Returns the pid once the program has been executed, or -errno. */
pid_t cposix_spawn(const char *path, char *const argv[], char *const envp[], int detach_input);
/* The same in a separate session, which no terminal can end and which outlives this process: standard input is
   /dev/null, both outputs go to the descriptor. */
pid_t cposix_spawn_detached(const char *path, char *const argv[], char *const envp[], int output);
/* Collects the child if it has ended, without waiting: 2 while it runs, 1 and its code when it exited, 0 and the signal
   when one killed it, or -errno. */
int cposix_child_status(pid_t child, int *code_or_signal);
/* Creates a pipe whose reading end is not inherited by other programs; the writing end is. Returns 0 or an errno. */
int cposix_inheritable_pipe(int *reading, int *writing);
/* Returns a descriptor of the process that currently has this number, or -errno. */
int cposix_process_open(pid_t process);
/* Sends a signal to the process that had this number when `descriptor` was opened. Returns 0 or an errno. */
int cposix_process_signal(int descriptor, int number);
/* Disables core dumps of this process, and prevents other users' processes from reading its memory. Returns 0 or an
   errno. */
int cposix_disable_core_dumps(void);
/* The number of cores that this process may be scheduled on, or 0 where the system does not report it. */
int cposix_scheduled_cores(void);
/* Sets the name that ps and top show for the calling thread; for the main thread, also for the process. */
void cposix_set_name(const char *name);
/* Writes as many bytes as the descriptor accepts at once and discards the rest: a terminal or pipe that is not read
   does not block the caller. Returns the number of bytes written. */
size_t cposix_write_nonblocking(int descriptor, const char *bytes, size_t count);

/* From this call on, each of these signals is written to a pipe as one byte, whichever thread receives it; returns the
   pipe's reading end or -errno. Another call adds signals to the same pipe. */
int cposix_signals_begin(const int *signals, int count);
/* Waits for the next signal for at most `milliseconds` (without limit when negative), and returns its number, 0 after
   the timeout, or -errno. The calling thread unblocks signals while it waits, so that one thread receives them even if
   all others block them. */
int cposix_signals_next(int descriptor, int milliseconds);
/* Ignores these signals from this call on. */
void cposix_signals_ignore(const int *signals, int count);
/* Whether a disposition ignores the signal. */
int cposix_is_ignored(const struct sigaction *action);

/* Whether the calling thread may wait for the disk or for other threads; 0 until it is set. */
int cposix_thread_may_block(void);
void cposix_thread_set_may_block(int may_block);
