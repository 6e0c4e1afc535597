/* Kernels for tiles on a device of the NVIDIA driver: compiled by NVRTC, which is part of CUDA's run-time libraries. */
#include "driver.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    driver cuda;
    void *context;
    void *kernels[tile_kernel_count];
} device;

/* The context of the device, which ONNX Runtime uses too, is current between enter and leave only. */
static int enter(const device *own, char *reason, size_t reason_bytes) {
    int code = own->cuda.CtxPushCurrent_v2(own->context);
    if (code != 0) conort_driver_failed(&own->cuda, code, "use the device", reason, reason_bytes);
    return code;
}

static int leave(const device *own, int code, const char *step, char *reason, size_t reason_bytes) {
    void *unused = NULL;
    if (code != 0) conort_driver_failed(&own->cuda, code, step, reason, reason_bytes);
    own->cuda.CtxPopCurrent_v2(&unused);
    return code == 0 ? 0 : -1;
}

static int allocate(void *owner, size_t bytes, void **memory, char *reason, size_t reason_bytes) {
    const device *own = owner;
    uint64_t address = 0;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    int code = own->cuda.MemAlloc_v2(&address, bytes);
    *memory = (void *)(uintptr_t)address;
    return leave(own, code, "allocate memory", reason, reason_bytes);
}

static void release(void *owner, void *memory) {
    const device *own = owner;
    char unused[256];
    if (enter(own, unused, sizeof unused) != 0) return;
    leave(own, own->cuda.MemFree_v2((uintptr_t)memory), "free memory", unused, sizeof unused);
}

static int clear(void *owner, void *memory, size_t bytes, char *reason, size_t reason_bytes) {
    const device *own = owner;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    return leave(own, own->cuda.MemsetD8_v2((uintptr_t)memory, 0, bytes), "clear memory", reason, reason_bytes);
}

static int upload(void *owner, void *to, const void *from, size_t bytes, char *reason, size_t reason_bytes) {
    const device *own = owner;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    return leave(own, own->cuda.MemcpyHtoD_v2((uintptr_t)to, from, bytes), "copy to the device", reason, reason_bytes);
}

/* CUDA_ERROR_NOT_READY: work is not complete. */
enum { not_ready = 600 };

/* Waits for the kernels so far, with a limit, which copies do not have. */
static int await_kernels(const device *own) {
    const struct timespec pause = {0, 20000};
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        int code = own->cuda.StreamQuery(NULL);
        if (code != not_ready) return code;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begin.tv_sec > TILE_DEVICE_SECONDS) return not_ready;
        nanosleep(&pause, NULL);
    }
}

static int download(void *owner, void *to, const void *from, size_t bytes, char *reason, size_t reason_bytes) {
    const device *own = owner;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    int code = await_kernels(own);
    if (code != 0) {
        leave(own, code, "wait for kernels", reason, reason_bytes);
        return code == not_ready ? TILE_NO_ANSWER : -1;
    }
    return leave(own, own->cuda.MemcpyDtoH_v2(to, (uintptr_t)from, bytes), "copy from the device", reason,
                 reason_bytes);
}

static int launch(void *owner, tile_kernel kernel, const void *arguments, long long count, char *reason,
                  size_t reason_bytes) {
    const device *own = owner;
    enum { threads = 256 };
    /* The driver copies both before it returns. */
    void *parameters[] = {(void *)(uintptr_t)arguments, &count};
    if (count <= 0) return 0;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    int code = own->cuda.LaunchKernel(own->kernels[kernel], (unsigned)((count + threads - 1) / threads), 1, 1, threads,
                                      1, 1, 0, NULL, parameters, NULL);
    return leave(own, code, "start a kernel", reason, reason_bytes);
}

static int wait_for_all(void *owner, char *reason, size_t reason_bytes) {
    const device *own = owner;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    return leave(own, own->cuda.CtxSynchronize(), "run a kernel", reason, reason_bytes);
}

static int unused_bytes(void *owner, size_t *bytes, char *reason, size_t reason_bytes) {
    const device *own = owner;
    size_t total = 0;
    if (enter(own, reason, reason_bytes) != 0) return -1;
    return leave(own, own->cuda.MemGetInfo_v2(bytes, &total), "state its free memory", reason, reason_bytes);
}

/* NVRTC's interface. */
typedef struct {
    int (*CreateProgram)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*CompileProgram)(void *, int, const char *const *);
    int (*GetProgramLogSize)(void *, size_t *);
    int (*GetProgramLog)(void *, char *);
    int (*GetCUBINSize)(void *, size_t *);
    int (*GetCUBIN)(void *, char *);
    int (*DestroyProgram)(void **);
} compiler;

static int open_compiler(compiler *nvrtc, int driver_version, char *reason, size_t reason_bytes) {
    /* A driver loads code for the version of CUDA that it supports, and for earlier ones. */
    const char *newest = driver_version >= 13000 ? "libnvrtc.so.13" : "libnvrtc.so.12";
    void *handle = dlopen(newest, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) handle = dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(reason, reason_bytes, "CUDA's run-time compiler (libnvrtc.so) was not found");
        return -1;
    }
#define F(name) \
    if ((*(void **)&nvrtc->name = dlsym(handle, "nvrtc" #name)) == NULL) { \
        snprintf(reason, reason_bytes, "libnvrtc.so has no function nvrtc" #name); \
        return -1; \
    }
    F(CreateProgram)
    F(CompileProgram)
    F(GetProgramLogSize)
    F(GetProgramLog)
    F(GetCUBINSize)
    F(GetCUBIN)
    F(DestroyProgram)
#undef F
    return 0;
}

/* The kernels as code of the device; NULL with the reason. */
static char *compiled(const compiler *nvrtc, void *program, int major, int minor, char *reason, size_t reason_bytes) {
    char architecture[64];
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
    /* No contraction of products and sums: the processor's bits. */
    const char *options[] = {architecture, "--fmad=false"};
    size_t bytes = 0;
    if (nvrtc->CompileProgram(program, 2, options) != 0) {
        char *log = NULL;
        if (nvrtc->GetProgramLogSize(program, &bytes) == 0 && (log = calloc(1, bytes + 1)) != NULL) {
            nvrtc->GetProgramLog(program, log);
        }
        snprintf(reason, reason_bytes, "libnvrtc.so cannot compile for sm_%d%d: %s", major, minor, log ? log : "");
        free(log);
        return NULL;
    }
    char *code = NULL;
    if (nvrtc->GetCUBINSize(program, &bytes) == 0 && bytes > 0 && (code = malloc(bytes)) != NULL &&
        nvrtc->GetCUBIN(program, code) == 0) {
        return code;
    }
    free(code);
    snprintf(reason, reason_bytes, "libnvrtc.so returned no code for sm_%d%d", major, minor);
    return NULL;
}

static char *compile(int driver_version, int major, int minor, char *reason, size_t reason_bytes) {
    compiler nvrtc;
    void *program = NULL;
    if (open_compiler(&nvrtc, driver_version, reason, reason_bytes) != 0) return NULL;
    if (nvrtc.CreateProgram(&program, tile_source(), "tile_kernels.cu", 0, NULL, NULL) != 0) {
        snprintf(reason, reason_bytes, "libnvrtc.so cannot read the kernels");
        return NULL;
    }
    char *code = compiled(&nvrtc, program, major, minor, reason, reason_bytes);
    nvrtc.DestroyProgram(&program);
    return code;
}

static int load(device *own, int number, char *reason, size_t reason_bytes) {
    /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR. */
    enum { major_attribute = 75, minor_attribute = 76 };
    int handle = 0, version = 0, major = 0, minor = 0;
    void *module = NULL;
    int code = own->cuda.DriverGetVersion(&version);
    if (code == 0) code = own->cuda.DeviceGet(&handle, number);
    if (code == 0) code = own->cuda.DeviceGetAttribute(&major, major_attribute, handle);
    if (code == 0) code = own->cuda.DeviceGetAttribute(&minor, minor_attribute, handle);
    if (code == 0) code = own->cuda.DevicePrimaryCtxRetain(&own->context, handle);
    if (code != 0) {
        conort_driver_failed(&own->cuda, code, "use the device", reason, reason_bytes);
        return -1;
    }
    char *binary = compile(version, major, minor, reason, reason_bytes);
    if (binary == NULL || enter(own, reason, reason_bytes) != 0) {
        free(binary);
        return -1;
    }
    code = own->cuda.ModuleLoadData(&module, binary);
    for (int index = 0; code == 0 && index < tile_kernel_count; index++) {
        code = own->cuda.ModuleGetFunction(&own->kernels[index], module, tile_kernel_name((tile_kernel)index));
    }
    free(binary);
    return leave(own, code, "load the kernels", reason, reason_bytes);
}

int conort_tiles(int number, tile_device *tiles, char *reason, size_t reason_bytes) {
    device *own = calloc(1, sizeof *own);
    if (own == NULL) {
        snprintf(reason, reason_bytes, "out of memory");
        return -1;
    }
    if (conort_open_driver(&own->cuda, reason, reason_bytes) != 0 || load(own, number, reason, reason_bytes) != 0) {
        free(own);
        return -1;
    }
    *tiles = (tile_device){own,      allocate, release,      clear,       upload,
                           download, launch,   wait_for_all, unused_bytes};
    return 0;
}
