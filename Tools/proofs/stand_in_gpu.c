/* A stand-in for an NVIDIA GPU, for Tools/proofs/device_faults.py: the same file is built as libonnxruntime.so, libcuda.so.1 and
   libcudnn.so.9. Networks "on the GPU" run in the real ONNX Runtime on the processor, with a fault from one run on.

   STAND_IN_ONNXRUNTIME is the path of the real library, STAND_IN_FAULT one of lost, memory, wrong, slow and hang, and
   STAND_IN_FROM the number of the first run with the fault, from 1. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ONNX Runtime: places in the table of its interface, which never change. */
enum {
    CREATE_STATUS = 0,
    CREATE_SESSION = 7,
    CREATE_TENSOR = 49,
    GET_PROVIDERS = 125,
    FREE_PROVIDERS = 126,
    RUN = 133,
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

static void *bind_output(void *binding, const char *name, const void *tensor) {
    int place = find(tensor);
    if (place >= 0) note(binding, facts[place].value, facts[place].bytes);
    return ((void *(*)(void *, const char *, const void *))real[BIND_OUTPUT])(binding, name, tensor);
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
    while (is_faulty && strcmp(fault, "hang") == 0) pause();
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
    ours[GET_PROVIDERS] = (void *)get_providers;
    ours[FREE_PROVIDERS] = (void *)free_providers;
    ours[RUN] = (void *)run;
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
int cuGetErrorString(int code, const char **text) { return (void)code, *text = "an error", 0; }

size_t cudnnGetVersion(void) { return 91900; }
