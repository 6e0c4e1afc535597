// Encoding as JPEG through libjpeg-turbo. Errors leave by longjmp, inside this file.
#include "CPhoto.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

typedef struct {
    struct jpeg_error_mgr errors;  // first: the library hands back a pointer to it
    jmp_buf leave;
    char *message;
    size_t message_size;
} encoder_errors;

static _Noreturn void on_error(j_common_ptr info)
{
    encoder_errors *errors = (encoder_errors *)info->err;
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    snprintf(errors->message, errors->message_size, "%s", text);
    longjmp(errors->leave, 1);
}

static void on_message(j_common_ptr info, int level)
{
    (void)info;
    (void)level;
}

cphoto_code cphoto_jpeg_encode(
    const uint8_t *rgb, size_t width, size_t height, int quality, cphoto_jpeg_bytes *result)
{
    struct jpeg_compress_struct info;
    encoder_errors errors;
    unsigned long count = 0;

    result->bytes = NULL;
    result->count = 0;
    result->message[0] = 0;
    info.err = jpeg_std_error(&errors.errors);
    errors.errors.error_exit = on_error;
    errors.errors.emit_message = on_message;
    errors.message = result->message;
    errors.message_size = sizeof result->message;
    if (setjmp(errors.leave)) {
        jpeg_destroy_compress(&info);
        return CPHOTO_TOO_LARGE;
    }
    jpeg_create_compress(&info);
    // The buffer belongs to the caller, who releases it in any case.
    jpeg_mem_dest(&info, &result->bytes, &count);
    info.image_width = (JDIMENSION)width;
    info.image_height = (JDIMENSION)height;
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
        JSAMPROW row = (JSAMPROW)(rgb + (size_t)info.next_scanline * width * 3);
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    result->count = count;
    return CPHOTO_OK;
}

void cphoto_jpeg_release(cphoto_jpeg_bytes *result)
{
    free(result->bytes);
    result->bytes = NULL;
}

#define CPHOTO_QUOTED(text) #text
#define CPHOTO_TEXT(macro) CPHOTO_QUOTED(macro)
const char *cphoto_jpeg_version(void) { return CPHOTO_TEXT(LIBJPEG_TURBO_VERSION); }
