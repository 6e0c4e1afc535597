// What the decoders of whole pictures share.
#include "frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

cphoto_code cphoto_frame_refuse(cphoto_frame *frame, cphoto_code code, const char *reason)
{
    // The first reason counts: a failed read is the cause of what a library reports after it.
    if (!frame->message[0]) snprintf(frame->message, sizeof frame->message, "%s", reason);
    return frame->system_code && code == CPHOTO_CORRUPT ? CPHOTO_NOT_READ : code;
}

cphoto_code cphoto_frame_open(const char *path, cphoto_frame **made)
{
    cphoto_frame *frame = calloc(1, sizeof *frame);
    *made = frame;
    if (!frame) return CPHOTO_NO_MEMORY;
    struct stat status;
    frame->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (frame->descriptor < 0 || fstat(frame->descriptor, &status) != 0) {
        frame->system_code = errno;
        return cphoto_frame_refuse(frame, CPHOTO_NOT_OPENED, strerror(frame->system_code));
    }
    frame->file_bytes = status.st_size;
    return CPHOTO_OK;
}

int64_t cphoto_frame_read(cphoto_frame *frame, void *bytes, int64_t count, int64_t offset)
{
    int64_t done = 0;
    while (done < count) {
        ssize_t got = pread(frame->descriptor, (uint8_t *)bytes + done, (size_t)(count - done), offset + done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            frame->system_code = errno;
            cphoto_frame_refuse(frame, CPHOTO_NOT_READ, strerror(frame->system_code));
            return -1;
        }
        if (got == 0) break;
        done += got;
    }
    return done;
}

int cphoto_frame_is_stopped(const cphoto_frame *frame) { return frame->stop && frame->stop(frame->context); }

cphoto_code cphoto_frame_start(cphoto_frame *frame, cphoto_stop stop, const void *context)
{
    frame->stop = stop;
    frame->context = context;
    frame->next_row = 0;
    return cphoto_frame_is_stopped(frame) ? CPHOTO_STOPPED : frame->decode(frame);
}

cphoto_code cphoto_frame_rows(cphoto_frame *frame, uint8_t *rgb, size_t count)
{
    if (!frame->pixels) return CPHOTO_CORRUPT;
    size_t width = (size_t)frame->width;
    for (size_t i = 0; i < count && frame->next_row < frame->height; i++, frame->next_row++, rgb += width * 3) {
        const uint8_t *row = frame->pixels + (size_t)frame->next_row * frame->stride;
        if (frame->has_alpha) {
            cphoto_rgba_on_white(row, rgb, width);
        } else {
            memcpy(rgb, row, width * 3);
        }
    }
    return CPHOTO_OK;
}

void cphoto_frame_close(cphoto_frame *frame)
{
    if (!frame) return;
    if (frame->release) frame->release(frame);
    if (frame->descriptor >= 0) close(frame->descriptor);
    free(frame->exif);
    free(frame);
}

const char *cphoto_frame_message(const cphoto_frame *frame) { return frame ? frame->message : ""; }

int cphoto_frame_system_code(const cphoto_frame *frame) { return frame ? frame->system_code : 0; }

const uint8_t *cphoto_frame_exif(const cphoto_frame *frame, size_t *count)
{
    *count = frame->exif_count;
    return frame->exif;
}
