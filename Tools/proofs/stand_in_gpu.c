/* A stand-in for an NVIDIA GPU, for Tools/proofs/device_faults.py: the same file is built as libonnxruntime.so, libcuda.so.1,
   libcudnn.so.9 and libnvrtc.so.13. Networks "on the GPU" run in the real ONNX Runtime on the processor, and Nocturne's kernels
   as C, with a fault from one run on. Its memory is the processor's.

   STAND_IN_ONNXRUNTIME is the path of the real library, STAND_IN_FAULT one of lost, memory, wrong, slow, hang, launch (kernels
   cannot be started) and kernel (a kernel computes other values), and STAND_IN_FROM the number of the first run, or start of a
   kernel, with the fault, from 1. For Tools/benchmarks/device_share.py a run computes nothing (wait), and takes
   STAND_IN_MILLISECONDS; its beginning and end, in seconds, are appended to the file STAND_IN_TIMES. */
#include "../../Sources/CTileKernels/include/CTileKernels.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ONNX Runtime: places in the table of its interface, which never change. */
enum {
    CREATE_STATUS = 0,
    CREATE_SESSION = 7,
    CREATE_TENSOR = 49,
    CREATE_MEMORY_INFO = 68,
    DEFAULT_ALLOCATOR = 78,
    GET_PROVIDERS = 125,
    FREE_PROVIDERS = 126,
    CREATE_ALLOCATOR = 131,
    FREE_ALLOCATOR = 132,
    RUN = 133,
    CREATE_BINDING = 134,
    BIND_OUTPUT = 137,
    APPEND_CUDA = 204,
    CREATE_CUDA = 205,
    UPDATE_CUDA = 206,
    FREE_CUDA = 208,
    COUNT = 274
};

typedef struct {
    const void *const *(*table)(uint32_t version);
    const char *(*version)(void);
} interface_base;

/* Set while a run does not end: the driver waits for it, then. */
static volatile int is_hung;

static void wait_for_device(void) {
    while (is_hung) pause();
}

static const void *real[COUNT], *ours[COUNT];
static const interface_base *base;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What belongs together: session options and sessions of the device, buffers and their tensors, tensors and bindings. */
enum { MOST = 1 << 16 };
static struct {
    const void *key;
    const void *value;
    size_t bytes;
} facts[MOST];
static size_t fact_count;

static void note(const void *key, const void *value, size_t bytes) {
    pthread_mutex_lock(&lock);
    if (fact_count < MOST) {
        facts[fact_count].key = key;
        facts[fact_count].value = value;
        facts[fact_count++].bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
}

/* The newest fact: addresses are used again. */
static int find(const void *key) {
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int index = (int)fact_count - 1; index >= 0 && found < 0; index--) {
        if (facts[index].key == key) found = index;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void *failure(const char *text) { return ((void *(*)(int, const char *))real[CREATE_STATUS])(1, text); }

static void *create_session(const void *environment, const char *path, const void *options, void **session) {
    void *status = ((void *(*)(const void *, const char *, const void *, void **))real[CREATE_SESSION])(
        environment, path, options, session);
    int place = find(options);
    if (status == NULL) note(*session, place >= 0 && facts[place].value == ours ? ours : NULL, 0);
    return status;
}

static void *create_tensor(const void *info, void *values, size_t bytes, const int64_t *shape, size_t rank, int type,
                           void **tensor) {
    void *status = ((void *(*)(const void *, void *, size_t, const int64_t *, size_t, int, void **))real[CREATE_TENSOR])(
        info, values, bytes, shape, rank, type, tensor);
    if (status == NULL) note(*tensor, values, bytes);
    return status;
}

/* Nothing is bound yet, whatever was bound at this address before. */
static void *create_binding(void *session, void **binding) {
    void *status = ((void *(*)(void *, void **))real[CREATE_BINDING])(session, binding);
    if (status == NULL) note(*binding, NULL, 0);
    return status;
}

static void *bind_output(void *binding, const char *name, const void *tensor) {
    int place = find(tensor);
    if (place >= 0) note(binding, facts[place].value, facts[place].bytes);
    return ((void *(*)(void *, const char *, const void *))real[BIND_OUTPUT])(binding, name, tensor);
}

/* Memory of the device is the processor's; there is no page-locked memory. */
static void *create_memory_info(const char *name, int kind, int device, int type, void **info) {
    typedef void *(*function)(const char *, int, int, int, void **);
    int is_device = strcmp(name, "Cuda") == 0;
    void *status = ((function)real[CREATE_MEMORY_INFO])(is_device ? "Cpu" : name, kind, device, type, info);
    if (status == NULL && is_device) note(*info, ours, 0);
    return status;
}

static void *create_allocator(const void *session, const void *info, void **allocator) {
    int place = find(info);
    if (place < 0 || facts[place].value != ours) return failure("no such memory");
    (void)session;
    return ((void *(*)(void **))real[DEFAULT_ALLOCATOR])(allocator);
}

static void free_allocator(void *allocator) { (void)allocator; }

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *wait_only(void) {
    const char *time = getenv("STAND_IN_MILLISECONDS"), *path = getenv("STAND_IN_TIMES");
    double begin = now();
    usleep((unsigned)(time != NULL ? atoi(time) : 1) * 1000);
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL) return NULL;
    fprintf(file, "%.6f %.6f\n", begin, now());
    fclose(file);
    return NULL;
}

static void *run(void *session, const void *options, const void *binding) {
    static long runs;
    int place = find(session);
    const char *fault = getenv("STAND_IN_FAULT"), *from = getenv("STAND_IN_FROM");
    int is_faulty = 0;
    if (place >= 0 && facts[place].value == ours && fault != NULL) {
        pthread_mutex_lock(&lock);
        is_faulty = ++runs >= (from != NULL ? atol(from) : 1);
        pthread_mutex_unlock(&lock);
    }
    if (is_faulty && strcmp(fault, "lost") == 0) return failure("CUDA failure 719: unspecified launch failure");
    if (is_faulty && strcmp(fault, "memory") == 0) return failure("CUDA failure 2: out of memory");
    if (is_faulty && strcmp(fault, "slow") == 0) usleep(2000);
    if (is_faulty && strcmp(fault, "wait") == 0) return wait_only();
    if (is_faulty && strcmp(fault, "hang") == 0) is_hung = 1;
    if (place >= 0 && facts[place].value == ours) wait_for_device();
    void *status = ((void *(*)(void *, const void *, const void *))real[RUN])(session, options, binding);
    place = find(binding);
    if (status == NULL && is_faulty && strcmp(fault, "wrong") == 0 && place >= 0) {
        float *values = (float *)facts[place].value;
        for (size_t index = 0; index < facts[place].bytes / sizeof *values; index++) values[index] = -values[index];
    }
    return status;
}

static void *get_providers(char ***names, int *count) {
    static char *own[] = {"CUDAExecutionProvider", "CPUExecutionProvider"};
    *names = own;
    *count = 2;
    return NULL;
}

static void *free_providers(char **names, int count) { return (void)names, (void)count, NULL; }
static void *append_cuda(void *options, const void *cuda) { return (void)cuda, note(options, ours, 0), NULL; }
static void *create_cuda(void **cuda) { return *cuda = ours, NULL; }
static void *update_cuda(void *cuda, const char *const *keys, const char *const *values, size_t count) {
    return (void)cuda, (void)keys, (void)values, (void)count, NULL;
}
static void free_cuda(void *cuda) { (void)cuda; }

static const void *const *table(uint32_t version) {
    const void *const *found = base->table(version);
    if (found == NULL) return NULL;
    memcpy(real, found, sizeof real);
    memcpy(ours, found, sizeof ours);
    ours[CREATE_SESSION] = (void *)create_session;
    ours[CREATE_TENSOR] = (void *)create_tensor;
    ours[CREATE_MEMORY_INFO] = (void *)create_memory_info;
    ours[CREATE_ALLOCATOR] = (void *)create_allocator;
    ours[FREE_ALLOCATOR] = (void *)free_allocator;
    ours[GET_PROVIDERS] = (void *)get_providers;
    ours[FREE_PROVIDERS] = (void *)free_providers;
    ours[RUN] = (void *)run;
    ours[CREATE_BINDING] = (void *)create_binding;
    ours[BIND_OUTPUT] = (void *)bind_output;
    ours[APPEND_CUDA] = (void *)append_cuda;
    ours[CREATE_CUDA] = (void *)create_cuda;
    ours[UPDATE_CUDA] = (void *)update_cuda;
    ours[FREE_CUDA] = (void *)free_cuda;
    return ours;
}

static const char *version(void) { return base->version(); }

const interface_base *OrtGetApiBase(void) {
    static const interface_base own = {table, version};
    void *handle = dlopen(getenv("STAND_IN_ONNXRUNTIME"), RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) abort();
    base = ((const interface_base *(*)(void))dlsym(handle, "OrtGetApiBase"))();
    return &own;
}

/* The NVIDIA driver: one device of 24 GiB, 20 of them free. */
int cuInit(unsigned flags) { return (void)flags, 0; }
int cuDriverGetVersion(int *number) { return *number = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int index) { return *device = index, index != 0; }
int cuDeviceGetName(char *name, int bytes, int device) { return (void)device, strncpy(name, "stand-in", (size_t)bytes), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = (size_t)24 << 30, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return (void)device, *context = NULL, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, 0; }
int cuCtxPushCurrent_v2(void *context) { return (void)context, 0; }
int cuCtxPopCurrent_v2(void **context) { return *context = NULL, 0; }
int cuMemGetInfo_v2(size_t *left, size_t *total) { return *left = (size_t)20 << 30, *total = (size_t)24 << 30, 0; }
/* Compute capability 9.0. */
int cuDeviceGetAttribute(int *value, int attribute, int device) { return (void)device, *value = attribute == 75 ? 9 : 0, 0; }
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { return (*address = (uintptr_t)calloc(1, bytes)) == 0 ? 2 : 0; }
int cuMemFree_v2(uint64_t address) { return wait_for_device(), free((void *)address), 0; }
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) { return memset((void *)to, value, bytes), 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return memcpy((void *)to, from, bytes), 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { return wait_for_device(), memcpy(to, (void *)from, bytes), 0; }
int cuModuleLoadData(void **module, const void *code) { return (void)code, *module = ours, 0; }
int cuStreamQuery(void *stream) { return (void)stream, is_hung ? 600 : 0; }
int cuCtxSynchronize(void) { return wait_for_device(), 0; }

/* The number of a kernel, from 1. */
int cuModuleGetFunction(void **function, void *module, const char *name) {
    const char *names[] = {
#define NAME(name) #name "_kernel",
        TILE_KERNELS(NAME)
    };
    (void)module;
    for (uintptr_t index = 0; index < tile_kernel_count; index++) {
        if (strcmp(names[index], name) == 0) return *function = (void *)(index + 1), 0;
    }
    return 500;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned height, unsigned depth,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    static long launches;
    long long count = *(long long *)parameters[1];
    const char *fault = getenv("STAND_IN_FAULT"), *from = getenv("STAND_IN_FROM");
    (void)height, (void)depth, (void)shared, (void)stream, (void)extra;
    pthread_mutex_lock(&lock);
    int is_faulty = fault != NULL && ++launches >= (from != NULL ? atol(from) : 1);
    pthread_mutex_unlock(&lock);
    if (y != 1 || z != 1 || (long long)x * threads < count || (is_faulty && strcmp(fault, "launch") == 0)) return 719;
    /* A device takes a thousandth of the processor's time for a kernel. The first ones are compared with the processor. */
    if (is_faulty && strcmp(fault, "wait") == 0 && launches > 500) {
        const tile_odd *odd = parameters[0];
        if ((uintptr_t)function - 1 == tile_odd_kernel_number) memset(odd->found, 0, (size_t)count * sizeof *odd->found);
        return 0;
    }
    switch ((tile_kernel)((uintptr_t)function - 1)) {
#define LOOP(name) \
    case name##_kernel_number: \
        for (long long index = 0; index < count; index++) name##_body(parameters[0], index); \
        break;
        TILE_KERNELS(LOOP)
    default: return 400;
    }
    if (is_faulty && strcmp(fault, "kernel") == 0 && (uintptr_t)function - 1 == tile_blend_kernel_number) {
        const tile_blend *blend = parameters[0];
        long long slots = (long long)blend->depth * blend->classes * blend->shape.y * blend->shape.x;
        for (long long index = 0; index < slots; index++) blend->sums[index] = -blend->sums[index];
    }
    return 0;
}

/* CUDA's compiler: its code is not looked at. */
int nvrtcCreateProgram(void **program, const char *source, const char *name, int count, const char *const *headers,
                       const char *const *names) {
    return (void)name, (void)count, (void)headers, (void)names, *program = (void *)(uintptr_t)source, 0;
}
int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    return (void)options, count == 2 && strstr(program, "tile_blend_body") != NULL ? 0 : 6;
}
int nvrtcGetProgramLogSize(void *program, size_t *bytes) { return (void)program, *bytes = 1, 0; }
int nvrtcGetProgramLog(void *program, char *log) { return (void)program, *log = 0; }
int nvrtcGetCUBINSize(void *program, size_t *bytes) { return (void)program, *bytes = 1, 0; }
int nvrtcGetCUBIN(void *program, char *code) { return (void)program, *code = 0; }
int nvrtcDestroyProgram(void **program) { return *program = NULL, 0; }

/* NVRTC asks for the driver's cache. */
int cuGetExportTable(const void **found, const void *id) { return (void)id, *found = NULL, 500; }
int cuGetErrorString(int code, const char **text) { return (void)code, *text = "an error", 0; }

size_t cudnnGetVersion(void) { return 91900; }
