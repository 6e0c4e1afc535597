#include "COpenVINO.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layouts of the structures passed to and from OpenVINO. */
typedef struct {
    int64_t smallest;
    int64_t largest;
} dimension;

typedef struct {
    dimension rank;
    dimension *extents;
} partial_shape;

typedef struct {
    int64_t rank;
    int64_t *extents;
} whole_shape;

typedef struct {
    const char *number;
    const char *description;
} version;

/* The functions by name without the prefix "ov_". Objects are void pointers: only their addresses are passed. */
#define FUNCTIONS(F) \
    F(int, get_openvino_version, (version *)) \
    F(void, version_free, (version *)) \
    F(const char *, get_error_info, (int)) \
    F(void, free, (const char *)) \
    F(int, core_create, (void **)) \
    F(int, core_get_property, (const void *, const char *, const char *, char **)) \
    F(int, core_read_model, (const void *, const char *, const char *, void **)) \
    F(int, core_compile_model, (const void *, const void *, const char *, size_t, void **, ...)) \
    F(void, model_free, (void *)) \
    F(int, model_inputs_size, (const void *, size_t *)) \
    F(int, model_outputs_size, (const void *, size_t *)) \
    F(int, model_const_input_by_index, (const void *, size_t, void **)) \
    F(int, model_const_output_by_index, (const void *, size_t, void **)) \
    F(int, model_reshape_by_port_indexes, (const void *, const size_t *, const partial_shape *, size_t)) \
    F(int, port_get_any_name, (const void *, char **)) \
    F(int, port_get_partial_shape, (const void *, partial_shape *)) \
    F(int, port_get_element_type, (const void *, int *)) \
    F(void, output_const_port_free, (void *)) \
    F(void, partial_shape_free, (partial_shape *)) \
    F(void, compiled_model_free, (void *)) \
    F(int, compiled_model_create_infer_request, (const void *, void **)) \
    F(void, infer_request_free, (void *)) \
    F(int, infer_request_set_input_tensor_by_index, (void *, size_t, const void *)) \
    F(int, infer_request_set_output_tensor_by_index, (void *, size_t, const void *)) \
    F(int, infer_request_start_async, (void *)) \
    F(int, infer_request_wait_for, (void *, int64_t)) \
    F(int, infer_request_wait, (void *)) \
    F(int, infer_request_cancel, (void *)) \
    F(int, tensor_create, (int, whole_shape, void **)) \
    F(int, tensor_create_from_host_ptr, (int, whole_shape, void *, void **)) \
    F(int, tensor_get_byte_size, (const void *, size_t *)) \
    F(void, tensor_free, (void *))

struct covino_library {
#define F(result, name, arguments) result(*name) arguments;
    FUNCTIONS(F)
#undef F
    /* NULL in versions that do not have it. */
    const char *(*get_last_err_msg)(void);
    /* The element type code of float32, which differs by one between versions. */
    int float32;
};

static void copy_text(char *to, size_t bytes, const char *from) { snprintf(to, bytes, "%s", from ? from : ""); }

/* Of the two codes that versions use for float32, the one whose elements take four bytes: the codes next to it are for
   types of two and of eight bytes. */
static int float32_code(const covino_library *library) {
    for (int code = 4; code <= 5; code++) {
        int64_t extent = 1;
        void *tensor = NULL;
        size_t bytes = 0;
        whole_shape one = {1, &extent};
        if (library->tensor_create(code, one, &tensor) != 0 || tensor == NULL) continue;
        library->tensor_get_byte_size(tensor, &bytes);
        library->tensor_free(tensor);
        if (bytes == 4) return code;
    }
    return -1;
}

covino_library *covino_open(const char *path, char *reason, size_t reason_bytes) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        copy_text(reason, reason_bytes, dlerror());
        return NULL;
    }
    covino_library *library = calloc(1, sizeof *library);
    if (library == NULL) {
        copy_text(reason, reason_bytes, "out of memory");
        return NULL;
    }
#define F(result, name, arguments) \
    if ((*(void **)&library->name = dlsym(handle, "ov_" #name)) == NULL) { \
        snprintf(reason, reason_bytes, "missing function ov_%s", #name); \
        free(library); \
        return NULL; \
    }
    FUNCTIONS(F)
#undef F
    *(void **)&library->get_last_err_msg = dlsym(handle, "ov_get_last_err_msg");
    library->float32 = float32_code(library);
    if (library->float32 < 0) {
        copy_text(reason, reason_bytes, "no float32 tensors");
        free(library);
        return NULL;
    }
    return library;
}

void covino_last_message(const covino_library *library, int status, char *text, size_t text_bytes) {
    const char *message = library->get_last_err_msg != NULL ? library->get_last_err_msg() : NULL;
    if (message == NULL || *message == 0) message = library->get_error_info(status);
    copy_text(text, text_bytes, message);
}

int covino_version(const covino_library *library, char *text, size_t text_bytes) {
    version found = {NULL, NULL};
    int status = library->get_openvino_version(&found);
    if (status != 0) return status;
    copy_text(text, text_bytes, found.number);
    library->version_free(&found);
    return 0;
}

int covino_core(const covino_library *library, void **core) { return library->core_create(core); }

int covino_core_property(const covino_library *library, void *core, const char *key, char *text, size_t text_bytes) {
    char *value = NULL;
    int status = library->core_get_property(core, "CPU", key, &value);
    if (status != 0) return status;
    copy_text(text, text_bytes, value);
    if (value != NULL) library->free(value);
    return 0;
}

int covino_read(const covino_library *library, void *core, const char *path, void **model) {
    return library->core_read_model(core, path, NULL, model);
}

void covino_free_model(const covino_library *library, void *model) { library->model_free(model); }

int covino_port_count(const covino_library *library, void *model, int of_outputs, size_t *count) {
    return of_outputs ? library->model_outputs_size(model, count) : library->model_inputs_size(model, count);
}

int covino_describe(const covino_library *library, void *model, int of_outputs, size_t index, covino_port *port) {
    void *found = NULL;
    int status = of_outputs ? library->model_const_output_by_index(model, index, &found)
                            : library->model_const_input_by_index(model, index, &found);
    if (status != 0) return status;
    char *name = NULL;
    status = library->port_get_any_name(found, &name);
    if (status == 0) {
        copy_text(port->name, sizeof port->name, name);
        if (name != NULL) library->free(name);
        int type = -1;
        status = library->port_get_element_type(found, &type);
        port->is_float32 = type == library->float32;
    }
    partial_shape shape = {{0, 0}, NULL};
    if (status == 0) status = library->port_get_partial_shape(found, &shape);
    if (status == 0) {
        int64_t rank = shape.rank.smallest == shape.rank.largest ? shape.rank.largest : -1;
        port->rank = rank > COVINO_MAX_RANK ? -1 : (int)rank;
        for (int axis = 0; axis < port->rank; axis++) {
            dimension extent = shape.extents[axis];
            port->extents[axis] = extent.smallest == extent.largest ? extent.largest : -1;
        }
        library->partial_shape_free(&shape);
    }
    library->output_const_port_free(found);
    return status;
}

int covino_reshape(const covino_library *library, void *model, size_t count, const int *ranks,
                   const int64_t *extents) {
    size_t *indexes = calloc(count ? count : 1, sizeof *indexes);
    partial_shape *shapes = calloc(count ? count : 1, sizeof *shapes);
    dimension *dimensions = calloc((count ? count : 1) * COVINO_MAX_RANK, sizeof *dimensions);
    int status = COVINO_MISSING;
    if (indexes != NULL && shapes != NULL && dimensions != NULL) {
        for (size_t index = 0; index < count; index++) {
            indexes[index] = index;
            int rank = ranks[index] < COVINO_MAX_RANK ? ranks[index] : COVINO_MAX_RANK;
            shapes[index].rank = (dimension){rank, rank};
            shapes[index].extents = dimensions + index * COVINO_MAX_RANK;
            for (int axis = 0; axis < rank; axis++) {
                shapes[index].extents[axis] = (dimension){extents[axis], extents[axis]};
            }
            extents += ranks[index];
        }
        status = library->model_reshape_by_port_indexes(model, indexes, shapes, count);
    }
    free(indexes);
    free(shapes);
    free(dimensions);
    return status;
}

int covino_compile(const covino_library *library, void *core, void *model, size_t count,
                   const char *const *properties, void **compiled) {
    const char *p[16] = {NULL};
    if (count > 8) return COVINO_MISSING;
    for (size_t index = 0; index < 2 * count; index++) p[index] = properties[index];
    /* The function reads as many properties as the count states; only later versions have one that takes arrays. */
    return library->core_compile_model(core, model, "CPU", 2 * count, compiled, p[0], p[1], p[2], p[3], p[4], p[5],
                                       p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]);
}

void covino_free_compiled(const covino_library *library, void *compiled) { library->compiled_model_free(compiled); }

int covino_request(const covino_library *library, void *compiled, void **request) {
    return library->compiled_model_create_infer_request(compiled, request);
}

void covino_free_request(const covino_library *library, void *request) { library->infer_request_free(request); }

int covino_bind(const covino_library *library, void *request, covino_place place, int rank, const int64_t *extents,
                float *values) {
    int64_t copy[COVINO_MAX_RANK];
    if (rank < 0 || rank > COVINO_MAX_RANK) return COVINO_MISSING;
    memcpy(copy, extents, sizeof(int64_t) * (size_t)rank);
    whole_shape shape = {rank, copy};
    void *tensor = NULL;
    int status = library->tensor_create_from_host_ptr(library->float32, shape, values, &tensor);
    if (status != 0) return status;
    status = place.of_outputs ? library->infer_request_set_output_tensor_by_index(request, place.index, tensor)
                              : library->infer_request_set_input_tensor_by_index(request, place.index, tensor);
    /* The request holds another reference. */
    library->tensor_free(tensor);
    return status;
}

int covino_start(const covino_library *library, void *request) { return library->infer_request_start_async(request); }

int covino_wait_for(const covino_library *library, void *request, int64_t milliseconds) {
    return library->infer_request_wait_for(request, milliseconds);
}

int covino_wait(const covino_library *library, void *request) { return library->infer_request_wait(request); }

int covino_cancel(const covino_library *library, void *request) { return library->infer_request_cancel(request); }

int covino_processor(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("amx-bf16")) return 3;
    if (__builtin_cpu_supports("avx512bf16")) return 2;
    if (__builtin_cpu_supports("avx512f")) return 1;
    if (__builtin_cpu_supports("avx2")) return 0;
#endif
    return -1;
}
