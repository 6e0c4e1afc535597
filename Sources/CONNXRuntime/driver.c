#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void conort_driver_failed(const driver *cuda, int code, const char *step, char *reason, size_t reason_bytes) {
    const char *text = NULL;
    if (cuda->GetErrorString(code, &text) != 0 || text == NULL) text = "unknown error";
    snprintf(reason, reason_bytes, "the NVIDIA driver cannot %s: %s", step, text);
}

int conort_open_driver(driver *cuda, char *reason, size_t reason_bytes) {
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(reason, reason_bytes, "this machine has no NVIDIA driver (libcuda.so.1)");
        return -1;
    }
#define F(name, arguments) \
    if ((*(void **)&cuda->name = dlsym(handle, "cu" #name)) == NULL) { \
        snprintf(reason, reason_bytes, "the NVIDIA driver has no function cu" #name); \
        return -1; \
    }
    DRIVER_FUNCTIONS(F)
#undef F
    int code = cuda->Init(0);
    if (code != 0) {
        conort_driver_failed(cuda, code, "be initialised", reason, reason_bytes);
        return -1;
    }
    return 0;
}

int conort_device_count(char *reason, size_t reason_bytes) {
    driver cuda;
    if (conort_open_driver(&cuda, reason, reason_bytes) != 0) return -1;
    int count = 0;
    int code = cuda.DeviceGetCount(&count);
    if (code == 0) return count;
    conort_driver_failed(&cuda, code, "count its devices", reason, reason_bytes);
    return -1;
}

int conort_device_facts(int index, int with_free, conort_device *device, char *reason, size_t reason_bytes) {
    driver cuda;
    int handle = 0;
    size_t total = 0, unused = 0, left = 0;
    void *context = NULL;
    memset(device, 0, sizeof *device);
    if (conort_open_driver(&cuda, reason, reason_bytes) != 0) return -1;
    int code = cuda.DeviceGet(&handle, index);
    if (code == 0) code = cuda.DeviceGetName(device->name, sizeof device->name, handle);
    if (code == 0) code = cuda.DeviceTotalMem_v2(&total, handle);
    if (code == 0 && with_free) {
        code = cuda.DevicePrimaryCtxRetain(&context, handle);
        if (code == 0) {
            code = cuda.CtxPushCurrent_v2(context);
            if (code == 0) {
                code = cuda.MemGetInfo_v2(&left, &unused);
                cuda.CtxPopCurrent_v2(&context);
            }
            cuda.DevicePrimaryCtxRelease_v2(handle);
        }
    }
    if (code != 0) {
        conort_driver_failed(&cuda, code, "use the device", reason, reason_bytes);
        return -1;
    }
    device->total_bytes = total;
    device->free_bytes = left;
    return 0;
}

void conort_driver_version(char *text, size_t text_bytes) {
    char unused[256];
    driver cuda;
    int number = 0;
    void *handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    snprintf(text, text_bytes, "unknown");
    if (handle != NULL) {
        int (*start)(void), (*stop)(void), (*version)(char *, unsigned);
        *(void **)&start = dlsym(handle, "nvmlInit_v2");
        *(void **)&stop = dlsym(handle, "nvmlShutdown");
        *(void **)&version = dlsym(handle, "nvmlSystemGetDriverVersion");
        if (start != NULL && stop != NULL && version != NULL && start() == 0) {
            int code = version(text, (unsigned)text_bytes);
            stop();
            if (code == 0) return;
        }
    }
    if (conort_open_driver(&cuda, unused, sizeof unused) == 0 && cuda.DriverGetVersion(&number) == 0) {
        snprintf(text, text_bytes, "CUDA %d.%d", number / 1000, number % 1000 / 10);
    }
}
