/* The NVIDIA driver's interface, "cu", without its headers: a result of 0 is success. */
#pragma once
#include "CONNXRuntime.h"

#define DRIVER_FUNCTIONS(F) \
    F(Init, (unsigned)) \
    F(DriverGetVersion, (int *)) \
    F(DeviceGetCount, (int *)) \
    F(DeviceGet, (int *, int)) \
    F(DeviceGetName, (char *, int, int)) \
    F(DeviceGetAttribute, (int *, int, int)) \
    F(DeviceTotalMem_v2, (size_t *, int)) \
    F(DevicePrimaryCtxRetain, (void **, int)) \
    F(DevicePrimaryCtxRelease_v2, (int)) \
    F(CtxPushCurrent_v2, (void *)) \
    F(CtxPopCurrent_v2, (void **)) \
    F(MemGetInfo_v2, (size_t *, size_t *)) \
    F(MemAlloc_v2, (uint64_t *, size_t)) \
    F(MemFree_v2, (uint64_t)) \
    F(MemsetD8_v2, (uint64_t, unsigned char, size_t)) \
    F(MemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    F(MemcpyDtoH_v2, (void *, uint64_t, size_t)) \
    F(ModuleLoadData, (void **, const void *)) \
    F(ModuleGetFunction, (void **, void *, const char *)) \
    F(LaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    F(CtxSynchronize, (void)) \
    F(StreamQuery, (void *)) \
    F(GetErrorString, (int, const char **))

typedef struct {
#define F(name, arguments) int(*name) arguments;
    DRIVER_FUNCTIONS(F)
#undef F
} driver;

int conort_open_driver(driver *cuda, char *reason, size_t reason_bytes);
/* Writes what the driver cannot do, and its message. */
void conort_driver_failed(const driver *cuda, int code, const char *step, char *reason, size_t reason_bytes);
