#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const void *const *(*table)(uint32_t version);
    const char *(*version)(void);
} interface_base;

void conort_copy_text(char *to, size_t bytes, const char *from) { snprintf(to, bytes, "%s", from ? from : ""); }

bool conort_done(const conort_library *library, status *found, char *reason, size_t reason_bytes) {
    if (found == NULL) return true;
    conort_copy_text(reason, reason_bytes, library->GetErrorMessage(found));
    library->ReleaseStatus(found);
    return false;
}

static conort_library *failed(conort_library *library) {
    free(library);
    return NULL;
}

conort_library *conort_open(const char *path, char *reason, size_t reason_bytes) {
    /* Read when the environment is created: no event of that is sent either. */
    setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        conort_copy_text(reason, reason_bytes, dlerror());
        return NULL;
    }
    const interface_base *(*base)(void);
    *(void **)&base = dlsym(handle, "OrtGetApiBase");
    if (base == NULL) {
        conort_copy_text(reason, reason_bytes, "missing function OrtGetApiBase");
        return NULL;
    }
    conort_library *library = calloc(1, sizeof *library);
    if (library == NULL) {
        conort_copy_text(reason, reason_bytes, "out of memory");
        return NULL;
    }
    const interface_base *found = base();
    conort_copy_text(library->version, sizeof library->version, found->version());
    /* An older library prints a line and returns NULL; the version shows the same without that. */
    int major = 0, minor = 0;
    bool is_known = sscanf(library->version, "%d.%d", &major, &minor) == 2;
    const void *const *table =
        is_known && (major > 1 || minor >= INTERFACE_VERSION) ? found->table(INTERFACE_VERSION) : NULL;
    if (table == NULL) {
        snprintf(reason, reason_bytes, "version %s is older than 1.%d", library->version, INTERFACE_VERSION);
        return failed(library);
    }
#define F(place, result, name, arguments) *(const void **)&library->name = table[place];
    FUNCTIONS(F)
#undef F
    /* Only fatal messages are printed: every failure is returned as text. */
    if (!conort_done(library, library->CreateEnv(4, "nocturne", &library->environment), reason, reason_bytes) ||
        !conort_done(library, library->DisableTelemetryEvents(library->environment), reason, reason_bytes) ||
        !conort_done(library, library->CreateMemoryInfo("Cpu", 0, 0, 0, &library->cpu), reason, reason_bytes) ||
        !conort_done(library, library->GetAllocatorWithDefaultOptions(&library->allocator), reason, reason_bytes)) {
        return failed(library);
    }
    return library;
}

const char *conort_version(const conort_library *library) { return library->version; }

void conort_providers(const conort_library *library, char *text, size_t text_bytes) {
    char **names = NULL;
    int count = 0;
    text[0] = 0;
    if (!conort_done(library, library->GetAvailableProviders(&names, &count), text, text_bytes)) return;
    size_t used = 0;
    for (int index = 0; index < count && used < text_bytes; index++) {
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", index ? "," : "", names[index]);
    }
    char unused[256];
    conort_done(library, library->ReleaseAvailableProviders(names, count), unused, sizeof unused);
}

int conort_preload(const char *path, char *reason, size_t reason_bytes) {
    if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL) return 0;
    conort_copy_text(reason, reason_bytes, dlerror());
    return -1;
}

size_t conort_cudnn(void) {
    /* From the system's path where it was not found elsewhere. */
    void *handle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
    if (handle == NULL) return 0;
    size_t (*version)(void);
    *(void **)&version = dlsym(handle, "cudnnGetVersion");
    return version != NULL ? version() : 0;
}
