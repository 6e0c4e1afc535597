/* The part of OpenVINO's C interface that Nocturne calls, loaded at run time: OpenVINO is not needed to build, and only
   the C library is linked. Every symbol has the prefix covino_.

   Functions that return an int return 0, one of OpenVINO's own (negative) codes, or COVINO_MISSING. Free the objects
   they create with the matching covino_free_ function. OpenVINO's objects are opaque pointers here. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    /* OpenVINO's code: a wait has timed out, and the request is still running. */
    COVINO_NOT_READY = -9,
    /* OpenVINO's code: the request was cancelled. */
    COVINO_CANCELLED = -13,
    /* The library does not have the function, or returned nothing. */
    COVINO_MISSING = -1000,
};

/* The maximum number of axes of a tensor. */
#define COVINO_MAX_RANK 16
#define COVINO_NAME_BYTES 1024

/* The loaded library. Never closed, since its threads outlive every object. */
typedef struct covino_library covino_library;

/* An input or output of a model. */
typedef struct {
    char name[COVINO_NAME_BYTES];
    /* -1 if the number of axes is dynamic or above COVINO_MAX_RANK. */
    int rank;
    /* -1 for a dynamic extent. */
    int64_t extents[COVINO_MAX_RANK];
    int is_float32;
} covino_port;

/* Loads the library at `path` (its own run path finds the libraries it depends on) and resolves every function. Returns
   NULL on failure, with the reason in `reason`. */
covino_library *covino_open(const char *path, char *reason, size_t reason_bytes);

/* OpenVINO's message for the last failure, or for the code if there is none. */
void covino_last_message(const covino_library *library, int status, char *text, size_t text_bytes);
int covino_version(const covino_library *library, char *text, size_t text_bytes);

int covino_core(const covino_library *library, void **core);
/* A property of the CPU plugin, as text. */
int covino_core_property(const covino_library *library, void *core, const char *key, char *text, size_t text_bytes);

int covino_read(const covino_library *library, void *core, const char *path, void **model);
void covino_free_model(const covino_library *library, void *model);
int covino_port_count(const covino_library *library, void *model, int of_outputs, size_t *count);
int covino_describe(const covino_library *library, void *model, int of_outputs, size_t index, covino_port *port);
/* Sets the extents of every input; `extents` holds them contiguously in the order of the inputs. */
int covino_reshape(const covino_library *library, void *model, size_t count, const int *ranks,
                   const int64_t *extents);

/* Compiles for the CPU, with at most 8 properties: the key of each, then its value. */
int covino_compile(const covino_library *library, void *core, void *model, size_t count,
                   const char *const *properties, void **compiled);
void covino_free_compiled(const covino_library *library, void *compiled);

int covino_request(const covino_library *library, void *compiled, void **request);
void covino_free_request(const covino_library *library, void *request);
/* One of a model's inputs or outputs. */
typedef struct {
    int of_outputs;
    size_t index;
} covino_place;

/* The request reads or writes these floats until others are bound. */
int covino_bind(const covino_library *library, void *request, covino_place place, int rank, const int64_t *extents,
                float *values);
int covino_start(const covino_library *library, void *request);
/* Returns COVINO_NOT_READY if the request is still running after that time. */
int covino_wait_for(const covino_library *library, void *request, int64_t milliseconds);
int covino_wait(const covino_library *library, void *request);
int covino_cancel(const covino_library *library, void *request);
/* The widest vector instructions of this processor: 3 AMX tiles for bfloat16, 2 AVX-512 with bfloat16, 1 AVX-512,
   0 AVX2, -1 none of these. */
int covino_processor(void);
