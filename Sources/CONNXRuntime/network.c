#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HEURISTIC is the search with which convolutions are fast and chosen the same way each time (DEFAULT is several times slower;
   EXHAUSTIVE measures, so that the choice can change from run to run). TF32 has ten bits of mantissa. */
static bool use_cuda(const conort_library *library, void *options, int device, char *reason, size_t reason_bytes) {
    char number[16];
    snprintf(number, sizeof number, "%d", device);
    const char *keys[] = {"device_id", "cudnn_conv_algo_search", "use_tf32", "cudnn_conv_use_max_workspace",
                          "arena_extend_strategy"};
    const char *values[] = {number, "HEURISTIC", "0", "1", "kSameAsRequested"};
    void *cuda = NULL;
    if (!conort_done(library, library->CreateCUDAProviderOptions(&cuda), reason, reason_bytes)) return false;
    bool is_done =
        conort_done(library, library->UpdateCUDAProviderOptions(cuda, keys, values, sizeof keys / sizeof *keys),
                    reason, reason_bytes) &&
        conort_done(library, library->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda), reason,
                    reason_bytes);
    library->ReleaseCUDAProviderOptions(cuda);
    return is_done;
}

static bool configure(const conort_library *library, void *options, int cuda, int threads, char *reason,
                      size_t reason_bytes) {
    return conort_done(library, library->SetIntraOpNumThreads(options, cuda >= 0 ? 1 : threads), reason,
                       reason_bytes) &&
           conort_done(library, library->SetInterOpNumThreads(options, 1), reason, reason_bytes) &&
           /* Waiting threads leave the cores to other stages. */
           conort_done(library, library->AddSessionConfigEntry(options, "session.intra_op.allow_spinning", "0"),
                       reason, reason_bytes) &&
           conort_done(library, library->SetDeterministicCompute(options, true), reason, reason_bytes) &&
           (cuda < 0 || use_cuda(library, options, cuda, reason, reason_bytes));
}

int conort_check_cuda(const conort_library *library, int device, char *reason, size_t reason_bytes) {
    void *options = NULL;
    if (!conort_done(library, library->CreateSessionOptions(&options), reason, reason_bytes)) return -1;
    bool is_done = use_cuda(library, options, device, reason, reason_bytes);
    library->ReleaseSessionOptions(options);
    return is_done ? 0 : -1;
}

static bool read_names(conort_network *network, char *reason, size_t reason_bytes) {
    const conort_library *library = network->library;
    if (!conort_done(library, library->SessionGetInputCount(network->session, &network->inputs), reason,
                     reason_bytes) ||
        !conort_done(library, library->SessionGetOutputCount(network->session, &network->outputs), reason,
                     reason_bytes)) {
        return false;
    }
    size_t count = network->inputs + network->outputs;
    network->names = calloc(count ? count : 1, sizeof *network->names);
    if (network->names == NULL) {
        conort_copy_text(reason, reason_bytes, "out of memory");
        return false;
    }
    for (size_t index = 0; index < count; index++) {
        bool is_output = index >= network->inputs;
        status *found = is_output ? library->SessionGetOutputName(network->session, index - network->inputs,
                                                                  library->allocator, &network->names[index])
                                  : library->SessionGetInputName(network->session, index, library->allocator,
                                                                 &network->names[index]);
        if (!conort_done(library, found, reason, reason_bytes)) return false;
    }
    return true;
}

conort_network *conort_load(const conort_library *library, const char *path, int cuda, int threads, char *reason,
                            size_t reason_bytes) {
    void *options = NULL;
    conort_network *network = calloc(1, sizeof *network);
    if (network == NULL) {
        conort_copy_text(reason, reason_bytes, "out of memory");
        return NULL;
    }
    network->library = library;
    network->cuda = cuda;
    if (!conort_done(library, library->CreateSessionOptions(&options), reason, reason_bytes)) {
        free(network);
        return NULL;
    }
    bool is_done = configure(library, options, cuda, threads < 1 ? 1 : threads, reason, reason_bytes) &&
                   conort_done(library, library->CreateSession(library->environment, path, options, &network->session),
                               reason, reason_bytes) &&
                   read_names(network, reason, reason_bytes);
    library->ReleaseSessionOptions(options);
    if (is_done) return network;
    conort_free_network(network);
    return NULL;
}

void conort_free_network(conort_network *network) {
    const conort_library *library = network->library;
    char unused[256];
    for (size_t index = 0; network->names != NULL && index < network->inputs + network->outputs; index++) {
        if (network->names[index] == NULL) continue;
        conort_done(library, library->AllocatorFree(library->allocator, network->names[index]), unused, sizeof unused);
    }
    free(network->names);
    if (network->session != NULL) library->ReleaseSession(network->session);
    free(network);
}

size_t conort_port_count(const conort_network *network, int of_outputs) {
    return of_outputs ? network->outputs : network->inputs;
}

static bool describe_tensor(const conort_library *library, const void *tensor, conort_port *port, char *reason,
                            size_t reason_bytes) {
    int type = 0;
    size_t rank = 0;
    if (!conort_done(library, library->GetTensorElementType(tensor, &type), reason, reason_bytes) ||
        !conort_done(library, library->GetDimensionsCount(tensor, &rank), reason, reason_bytes)) {
        return false;
    }
    port->is_float32 = type == FLOAT32;
    port->rank = rank > CONORT_MAX_RANK ? -1 : (int)rank;
    return port->rank < 0 || conort_done(library, library->GetDimensions(tensor, port->extents, rank), reason, reason_bytes);
}

int conort_describe(const conort_network *network, int of_outputs, size_t index, conort_port *port, char *reason,
                    size_t reason_bytes) {
    const conort_library *library = network->library;
    void *type = NULL;
    const void *tensor = NULL;
    memset(port, 0, sizeof *port);
    conort_copy_text(port->name, sizeof port->name, network->names[index + (of_outputs ? network->inputs : 0)]);
    status *found = of_outputs ? library->SessionGetOutputTypeInfo(network->session, index, &type)
                               : library->SessionGetInputTypeInfo(network->session, index, &type);
    if (!conort_done(library, found, reason, reason_bytes)) return -1;
    bool is_done = conort_done(library, library->CastTypeInfoToTensorInfo(type, &tensor), reason, reason_bytes) &&
                   /* NULL for a sequence or a map: neither is float32. */
                   (tensor == NULL || describe_tensor(library, tensor, port, reason, reason_bytes));
    library->ReleaseTypeInfo(type);
    return is_done ? 0 : -1;
}
