/* The part of OpenVINO's C interface that Nocturne calls, found at run time: nothing of OpenVINO is needed to build,
   and nothing but the C library is linked. Every symbol is prefixed covino_.

   Functions that return an int give 0, one of OpenVINO's own (negative) codes, or COVINO_MISSING. What they open is
   freed with the matching covino_free_ function. OpenVINO's objects are opaque pointers here. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    /* OpenVINO's: a wait has timed out, and the request still runs. */
    COVINO_NOT_READY = -9,
    /* OpenVINO's: the request was cancelled. */
    COVINO_CANCELLED = -13,
    /* The library does not have the function, or returned nothing. */
    COVINO_MISSING = -1000,
};

/* No tensor here has more axes. */
#define COVINO_MAX_RANK 16
#define COVINO_NAME_BYTES 1024

/* The loaded library. It is never closed, since its threads outlive every object. */
typedef struct covino_library covino_library;

/* An input or output of a model. */
typedef struct {
    char name[COVINO_NAME_BYTES];
    /* -1 when even the number of axes is dynamic, or above COVINO_MAX_RANK. */
    int rank;
    /* -1 where the extent is dynamic. */
    int64_t extents[COVINO_MAX_RANK];
    int is_float32;
} covino_port;

/* Loads the library of that path (its neighbours are found by its own run path) and looks up every function. NULL with
   the reason in `reason` when that fails. */
covino_library *covino_open(const char *path, char *reason, size_t reason_bytes);

/* OpenVINO's message for the last failure, else for the code. */
void covino_last_message(const covino_library *library, int status, char *text, size_t text_bytes);
int covino_version(const covino_library *library, char *text, size_t text_bytes);

int covino_core(const covino_library *library, void **core);
/* A property of the processor's plugin, as text. */
int covino_core_property(const covino_library *library, void *core, const char *key, char *text, size_t text_bytes);

int covino_read(const covino_library *library, void *core, const char *path, void **model);
void covino_free_model(const covino_library *library, void *model);
int covino_port_count(const covino_library *library, void *model, int of_outputs, size_t *count);
int covino_describe(const covino_library *library, void *model, int of_outputs, size_t index, covino_port *port);
/* Gives every input its extents, which lie one after the other in the inputs' order. */
int covino_reshape(const covino_library *library, void *model, size_t count, const int *ranks,
                   const int64_t *extents);

/* For the processor, with at most 8 properties. */
int covino_compile(const covino_library *library, void *core, void *model, size_t count, const char *const *keys,
                   const char *const *values, void **compiled);
void covino_free_compiled(const covino_library *library, void *compiled);

int covino_request(const covino_library *library, void *compiled, void **request);
void covino_free_request(const covino_library *library, void *request);
/* The request reads or writes these floats from now on, until others are given. */
int covino_bind(const covino_library *library, void *request, int of_outputs, size_t index, int rank,
                const int64_t *extents, float *values);
int covino_start(const covino_library *library, void *request);
/* COVINO_NOT_READY when it still runs after that time. */
int covino_wait_for(const covino_library *library, void *request, int64_t milliseconds);
int covino_wait(const covino_library *library, void *request);
int covino_cancel(const covino_library *library, void *request);

/* Writable private memory of this process in bytes, touched or not, after free heap was returned; 0 when it is
   unknown. */
size_t covino_private_bytes(void);
/* The widest vectors of this processor: 3 AMX tiles for bfloat16, 2 AVX-512 with bfloat16, 1 AVX-512, 0 AVX2,
   -1 none of these. */
int covino_processor(void);
