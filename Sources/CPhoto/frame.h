#ifndef CPHOTO_FRAME_H
#define CPHOTO_FRAME_H

#include "CPhoto.h"

// A picture that its library decodes as a whole.
struct cphoto_frame {
    char message[256];
    int system_code;
    int descriptor;             // of the file
    int64_t file_bytes;
    int64_t width, height, next_row;
    int has_alpha;
    const uint8_t *pixels;      // RGB or RGBA
    size_t stride;
    uint8_t *exif;
    size_t exif_count;
    cphoto_stop stop;
    const void *context;
    void *library;              // what the format's file holds
    cphoto_code (*decode)(cphoto_frame *frame);
    void (*release)(cphoto_frame *frame);
};

// Opens the file of a new decoder.
cphoto_code cphoto_frame_open(const char *path, cphoto_frame **made);

// Stores the reason and returns the code.
cphoto_code cphoto_frame_refuse(cphoto_frame *frame, cphoto_code code, const char *reason);

// Reads bytes at an offset; fewer, as far as the file reaches. Negative after a failed read, with its message.
int64_t cphoto_frame_read(cphoto_frame *frame, void *bytes, int64_t count, int64_t offset);

int cphoto_frame_is_stopped(const cphoto_frame *frame);

#endif
