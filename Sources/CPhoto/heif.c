// HEIC through libheif, which is loaded when the first such picture is opened: its package brings encoders of several megabytes under
// the GPL, which neither the program nor its packages need.
#include "frame.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libheif/heif.h>

#define FUNCTIONS(each)                                                                                               \
    each(heif_init) each(heif_get_version) each(heif_context_alloc) each(heif_context_free)                           \
    each(heif_context_set_maximum_image_size_limit) each(heif_context_set_max_decoding_threads)                       \
    each(heif_context_read_from_reader) each(heif_context_get_number_of_top_level_images)                             \
    each(heif_context_get_primary_image_handle) each(heif_image_handle_release) each(heif_image_handle_get_width)     \
    each(heif_image_handle_get_height) each(heif_image_handle_has_alpha_channel)                                      \
    each(heif_image_handle_is_premultiplied_alpha) each(heif_image_handle_get_luma_bits_per_pixel)                    \
    each(heif_decoding_options_alloc) each(heif_decoding_options_free) each(heif_decode_image)                        \
    each(heif_image_release) each(heif_image_get_width) each(heif_image_get_height)                                   \
    each(heif_image_get_plane_readonly)

#define DECLARE(name) typeof(name) *name;
static struct {
    FUNCTIONS(DECLARE)
} library;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *handle = dlopen("libheif.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    is_loaded = 1;
#define FIND(name) is_loaded &= (library.name = (typeof(name) *)dlsym(handle, #name)) != NULL;
    FUNCTIONS(FIND)
    // Finds the decoders, which newer releases have in separate files.
    if (is_loaded) library.heif_init(NULL);
}

typedef struct {
    struct heif_context *context;
    struct heif_image_handle *handle;
    struct heif_image *image;
    int64_t position;
} heif_parts;

static int64_t get_position(void *owner) { return ((heif_parts *)((cphoto_frame *)owner)->library)->position; }

static int read_bytes(void *bytes, size_t count, void *owner)
{
    cphoto_frame *frame = owner;
    heif_parts *parts = frame->library;
    // Between the tiles of a picture, too.
    if (cphoto_frame_is_stopped(frame)) return 1;
    if (cphoto_frame_read(frame, bytes, (int64_t)count, parts->position) != (int64_t)count) return 1;
    parts->position += (int64_t)count;
    return 0;
}

static int seek(int64_t position, void *owner)
{
    cphoto_frame *frame = owner;
    if (position < 0 || position > frame->file_bytes) return 1;
    ((heif_parts *)frame->library)->position = position;
    return 0;
}

static enum heif_reader_grow_status wait_for_size(int64_t size, void *owner)
{
    return size > ((cphoto_frame *)owner)->file_bytes ? heif_reader_grow_status_size_beyond_eof
                                                      : heif_reader_grow_status_size_reached;
}

static struct heif_reader reader = {
    .reader_api_version = 1,
    .get_position = get_position,
    .read = read_bytes,
    .seek = seek,
    .wait_for_file_size = wait_for_size,
};

static cphoto_code refuse(cphoto_frame *frame, struct heif_error error)
{
    if (cphoto_frame_is_stopped(frame)) return CPHOTO_STOPPED;
    cphoto_code code = CPHOTO_CORRUPT;
    switch (error.code) {
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
    case heif_error_Plugin_loading_error: code = CPHOTO_UNSUPPORTED; break;
    case heif_error_Memory_allocation_error:
        code = error.subcode == heif_suberror_Security_limit_exceeded ? CPHOTO_TOO_LARGE : CPHOTO_NO_MEMORY;
        break;
    default: break;
    }
    return cphoto_frame_refuse(frame, code, error.message ? error.message : "libheif gives no reason");
}

static cphoto_code decode(cphoto_frame *frame)
{
    heif_parts *parts = frame->library;
    struct heif_decoding_options *options = library.heif_decoding_options_alloc();
    if (!options) return CPHOTO_NO_MEMORY;
    options->convert_hdr_to_8bit = 1;
    options->strict_decoding = 1;
    struct heif_error error = library.heif_decode_image(
        parts->handle, &parts->image, heif_colorspace_RGB,
        frame->has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, options);
    library.heif_decoding_options_free(options);
    if (cphoto_frame_is_stopped(frame)) return CPHOTO_STOPPED;
    if (error.code != heif_error_Ok) return refuse(frame, error);
    int stride = 0;
    const uint8_t *pixels = library.heif_image_get_plane_readonly(parts->image, heif_channel_interleaved, &stride);
    // A container may state another size than its picture has.
    int is_expected = pixels && library.heif_image_get_width(parts->image, heif_channel_interleaved) == frame->width &&
        library.heif_image_get_height(parts->image, heif_channel_interleaved) == frame->height &&
        stride >= frame->width * (frame->has_alpha ? 4 : 3);
    if (!is_expected) return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "the picture has another size than its header states");
    frame->pixels = pixels;
    frame->stride = (size_t)stride;
    return CPHOTO_OK;
}

static void release(cphoto_frame *frame)
{
    heif_parts *parts = frame->library;
    if (!parts) return;
    if (parts->image) library.heif_image_release(parts->image);
    if (parts->handle) library.heif_image_handle_release(parts->handle);
    if (parts->context) library.heif_context_free(parts->context);
    free(parts);
}

static int side_of(int64_t pixels)
{
    int64_t side = 1;
    while (side * side < pixels && side < 1 << 20) side++;
    return (int)side;
}

cphoto_code cphoto_heif_open(
    const char *path, int64_t pixels, cphoto_frame **made, cphoto_header *header, cphoto_frame_facts *facts)
{
    cphoto_code code = cphoto_frame_open(path, made);
    if (code != CPHOTO_OK) return code;
    cphoto_frame *frame = *made;
    pthread_once(&once, load);
    if (!is_loaded) {
        return cphoto_frame_refuse(
            frame, CPHOTO_UNSUPPORTED, "HEIC is decoded by libheif, which is not installed (on Debian and Ubuntu: libheif1)");
    }
    heif_parts *parts = calloc(1, sizeof *parts);
    if (!parts) return CPHOTO_NO_MEMORY;
    frame->library = parts;
    frame->decode = decode;
    frame->release = release;
    parts->context = library.heif_context_alloc();
    if (!parts->context) return CPHOTO_NO_MEMORY;
    // The library compares the square of this number with the pixels of a picture.
    library.heif_context_set_maximum_image_size_limit(parts->context, side_of(pixels));
    // In the calling thread.
    library.heif_context_set_max_decoding_threads(parts->context, 0);
    struct heif_error error = library.heif_context_read_from_reader(parts->context, &reader, frame, NULL);
    if (error.code == heif_error_Ok) {
        error = library.heif_context_get_primary_image_handle(parts->context, &parts->handle);
    }
    if (error.code != heif_error_Ok) return refuse(frame, error);
    // Turned as the container states: Exif repeats it.
    frame->width = header->width = library.heif_image_handle_get_width(parts->handle);
    frame->height = header->height = library.heif_image_handle_get_height(parts->handle);
    frame->has_alpha = header->has_alpha = library.heif_image_handle_has_alpha_channel(parts->handle);
    if (frame->has_alpha && library.heif_image_handle_is_premultiplied_alpha(parts->handle)) {
        return cphoto_frame_refuse(frame, CPHOTO_UNSUPPORTED, "colours that are multiplied with their transparency");
    }
    int bits = library.heif_image_handle_get_luma_bits_per_pixel(parts->handle);
    header->bits = bits > 0 ? bits : 8;
    header->model = frame->has_alpha ? CPHOTO_RGBA : CPHOTO_YCBCR;
    header->is_layered = 1;
    facts->picture_count = library.heif_context_get_number_of_top_level_images(parts->context);
    // Planes as decoded and as turned, and colours; whatever the decoder holds of a tile or a whole picture.
    int64_t count = frame->width * frame->height < (int64_t)1 << 40 ? frame->width * frame->height : (int64_t)1 << 40;
    header->layered_bytes = (8 << 20) + frame->file_bytes + count * (header->bits > 8 ? 20 : 12) + (frame->has_alpha ? 4 * count : 0);
    return CPHOTO_OK;
}

const char *cphoto_heif_version(void)
{
    pthread_once(&once, load);
    return is_loaded ? library.heif_get_version() : NULL;
}
