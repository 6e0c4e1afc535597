/* Takes the place of the system calls that may wait for a disk, in the process of the tests alone, so that tests see which
   threads make them: the linker prefers a function of the program to one of a library, also for the calls that SQLite and
   Foundation make. Each of them asks the observer first and then does what it always does. */
#pragma once

/* Called before a call by a thread that is not allowed to block, with the name of the call and the path if it has one.
   NULL for none: then the calls cost a load and a branch. Calls that the observer itself makes are not observed. */
typedef void (*blocking_calls_observer)(const char *call, const char *path);
void blocking_calls_observe(blocking_calls_observer observer);

/* Return addresses of the callers of the calling function, as `module(+offset)`, one a line: for addr2line. */
void blocking_calls_backtrace(char *text, int capacity);
