// WebP through libwebp.
#include "frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

enum { header_bytes = 4096, piece_bytes = 64 << 10, maximum_exif = 1 << 20, maximum_frames = 10000 };

typedef struct {
    uint8_t *file;              // the whole file, while it is decoded
    uint8_t *pixels;
    WebPAnimDecoder *animation;
    int is_animated;
} webp_parts;

static uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

// Counts frames and keeps the Exif block, from the chunks of the container.
static cphoto_code read_chunks(cphoto_frame *frame, int32_t *frames)
{
    uint8_t head[8];
    *frames = 0;
    for (int64_t place = 12; *frames < maximum_frames;) {
        int64_t got = cphoto_frame_read(frame, head, sizeof head, place);
        if (got < 0) return CPHOTO_NOT_READ;
        if (got < (int64_t)sizeof head) break;
        int64_t length = number_at(head + 4);
        if (memcmp(head, "ANMF", 4) == 0) (*frames)++;
        int is_exif = memcmp(head, "EXIF", 4) == 0 && length <= maximum_exif && length <= frame->file_bytes;
        if (is_exif && length > 0 && !frame->exif) {
            frame->exif = malloc((size_t)length);
            if (!frame->exif) return CPHOTO_NO_MEMORY;
            got = cphoto_frame_read(frame, frame->exif, length, place + 8);
            if (got < 0) return CPHOTO_NOT_READ;
            frame->exif_count = (size_t)got;
        }
        place += 8 + length + (length & 1);
    }
    if (*frames < 1) *frames = 1;
    return CPHOTO_OK;
}

// The size of the file with its container, which may be shorter than the file.
static cphoto_code read_file(cphoto_frame *frame, webp_parts *parts, size_t *count)
{
    uint8_t head[8];
    if (cphoto_frame_read(frame, head, sizeof head, 0) < (int64_t)sizeof head) {
        return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "the file ends too early");
    }
    int64_t length = 8 + (int64_t)number_at(head + 4);
    if (length > frame->file_bytes) return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "the file ends too early");
    parts->file = malloc((size_t)length);
    if (!parts->file) return CPHOTO_NO_MEMORY;
    int64_t got = cphoto_frame_read(frame, parts->file, length, 0);
    if (got < length) return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "the file ends too early");
    *count = (size_t)length;
    return CPHOTO_OK;
}

static cphoto_code refuse_status(cphoto_frame *frame, VP8StatusCode status)
{
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return CPHOTO_NO_MEMORY;
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return cphoto_frame_refuse(frame, CPHOTO_UNSUPPORTED, "a feature that libwebp does not decode");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "the file ends too early");
    default: return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "invalid WebP data");
    }
}

static cphoto_code decode_first_of_many(cphoto_frame *frame, webp_parts *parts, size_t count)
{
    WebPAnimDecoderOptions options;
    if (!WebPAnimDecoderOptionsInit(&options)) return CPHOTO_UNSUPPORTED;
    options.color_mode = MODE_RGBA;
    WebPData data = {parts->file, count};
    parts->animation = WebPAnimDecoderNew(&data, &options);
    uint8_t *canvas = NULL;
    int time = 0;
    if (!parts->animation || !WebPAnimDecoderGetNext(parts->animation, &canvas, &time)) {
        return cphoto_frame_refuse(frame, CPHOTO_CORRUPT, "invalid animation");
    }
    // The canvas may be transparent outside the frame, whatever the header states.
    frame->has_alpha = 1;
    frame->pixels = canvas;
    frame->stride = (size_t)frame->width * 4;
    return CPHOTO_OK;
}

// Passes the file on in pieces, so that a decision to stop is noticed between them.
static cphoto_code decode_single(cphoto_frame *frame, webp_parts *parts, size_t count)
{
    frame->stride = (size_t)frame->width * (frame->has_alpha ? 4 : 3);
    size_t size = frame->stride * (size_t)frame->height;
    parts->pixels = calloc(size, 1);
    if (!parts->pixels) return CPHOTO_NO_MEMORY;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return CPHOTO_UNSUPPORTED;
    config.output.colorspace = frame->has_alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = parts->pixels;
    config.output.u.RGBA.stride = (int)frame->stride;
    config.output.u.RGBA.size = size;
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (!decoder) return CPHOTO_NO_MEMORY;
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    for (size_t given = 0; given < count && status == VP8_STATUS_SUSPENDED && !cphoto_frame_is_stopped(frame);) {
        given = count - given < piece_bytes ? count : given + piece_bytes;
        status = WebPIUpdate(decoder, parts->file, given);
    }
    WebPIDelete(decoder);
    if (cphoto_frame_is_stopped(frame)) return CPHOTO_STOPPED;
    if (status != VP8_STATUS_OK) return refuse_status(frame, status);
    frame->pixels = parts->pixels;
    return CPHOTO_OK;
}

static cphoto_code decode(cphoto_frame *frame)
{
    webp_parts *parts = frame->library;
    size_t count = 0;
    cphoto_code code = read_file(frame, parts, &count);
    if (code == CPHOTO_OK) {
        code = parts->is_animated ? decode_first_of_many(frame, parts, count) : decode_single(frame, parts, count);
    }
    if (!parts->is_animated) {
        free(parts->file);
        parts->file = NULL;
    }
    return code;
}

static void release(cphoto_frame *frame)
{
    webp_parts *parts = frame->library;
    if (!parts) return;
    WebPAnimDecoderDelete(parts->animation);
    free(parts->pixels);
    free(parts->file);
    free(parts);
}

cphoto_code cphoto_webp_open(const char *path, cphoto_frame **made, cphoto_header *header, cphoto_frame_facts *facts)
{
    cphoto_code code = cphoto_frame_open(path, made);
    if (code != CPHOTO_OK) return code;
    cphoto_frame *frame = *made;
    webp_parts *parts = calloc(1, sizeof *parts);
    if (!parts) return CPHOTO_NO_MEMORY;
    frame->library = parts;
    frame->decode = decode;
    frame->release = release;

    uint8_t head[header_bytes];
    int64_t got = cphoto_frame_read(frame, head, sizeof head, 0);
    if (got < 0) return CPHOTO_NOT_READ;
    WebPBitstreamFeatures features;
    VP8StatusCode status = WebPGetFeatures(head, (size_t)got, &features);
    if (status != VP8_STATUS_OK) return refuse_status(frame, status);
    code = read_chunks(frame, &facts->picture_count);
    if (code != CPHOTO_OK) return code;
    frame->width = features.width;
    frame->height = features.height;
    frame->has_alpha = features.has_alpha;
    parts->is_animated = features.has_animation;
    if (!parts->is_animated) facts->picture_count = 1;
    header->width = frame->width;
    header->height = frame->height;
    header->bits = 8;
    header->has_alpha = frame->has_alpha;
    header->model = frame->has_alpha ? CPHOTO_RGBA : features.format == 1 ? CPHOTO_YCBCR : CPHOTO_RGB;
    header->is_layered = 1;
    // The file; pixels, or two canvases and a frame; lossless pictures also as the library holds them, and alpha.
    int64_t pixels = frame->width * frame->height;
    header->layered_bytes = frame->file_bytes + pixels * (parts->is_animated ? 16 : frame->has_alpha ? 9 : 7) + frame->width * 256;
    return CPHOTO_OK;
}

const char *cphoto_webp_version(void)
{
    static _Thread_local char text[16];
    int version = WebPGetDecoderVersion();
    snprintf(text, sizeof text, "%d.%d.%d", version >> 16, version >> 8 & 255, version & 255);
    return text;
}
