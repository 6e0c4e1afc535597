// Opening a file with libtiff, and the library's messages.
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void keep_message(ctiff_decoder *decoder, const char *format, va_list arguments)
{
    if (!decoder->has_message) vsnprintf(decoder->message, sizeof decoder->message, format, arguments);
    decoder->has_message = 1;
}

static void on_error(ctiff_decoder *decoder, const char *format, va_list arguments)
{
    // The library's own read function preserves the errno, and its message states only that reading failed.
    int number = errno;
    if (!decoder->has_message && (number == EIO || number == ESTALE || number == ETIMEDOUT)) {
        decoder->system_code = number;
    }
    keep_message(decoder, format, arguments);
}

// For a truncated or damaged picture the library may only warn, and continue without the pixels or the palette.
static int indicates_loss(const char *module, const char *text)
{
    if (strstr(text, "IO error") || strstr(text, "ColorMap") || strstr(text, "Colormap")) return 1;
    // The codecs of JPEG and of old-style JPEG.
    if (!module || (strcmp(module, "JPEGLib") != 0 && strcmp(module, "LibJpeg") != 0)) return 0;
    return (strstr(text, "remature end") || strstr(text, "Corrupt")) && !strstr(text, "extraneous");
}

static void on_warning(ctiff_decoder *decoder, const char *module, const char *format, va_list arguments)
{
    char text[200];
    va_list copy;
    va_copy(copy, arguments);
    vsnprintf(text, sizeof text, format, copy);
    va_end(copy);
    if (indicates_loss(module, text)) keep_message(decoder, format, arguments);
}

#if TIFFLIB_VERSION >= 20221213 // 4.5

static int handle_error(TIFF *tiff, void *owner, const char *module, const char *format, va_list arguments)
{
    (void)tiff;
    (void)module;
    on_error(owner, format, arguments);
    return 1;
}

static int handle_warning(TIFF *tiff, void *owner, const char *module, const char *format, va_list arguments)
{
    (void)tiff;
    on_warning(owner, module, format, arguments);
    return 1;
}

int ctiff_open_library(ctiff_decoder *decoder, const char *path, size_t memory)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return 0;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)memory);
    TIFFOpenOptionsSetErrorHandlerExtR(options, handle_error, decoder);
    TIFFOpenOptionsSetWarningHandlerExtR(options, handle_warning, decoder);
    errno = 0;
    decoder->tiff = TIFFOpenExt(path, "rm", options);
    int reason = errno;
    TIFFOpenOptionsFree(options);
    errno = reason;
    return 1;
}

void ctiff_listen(ctiff_decoder *decoder) { (void)decoder; }

#else // One handler for all files of the process: messages go to the decoder at work in the calling thread.

static _Thread_local ctiff_decoder *listener;

void ctiff_listen(ctiff_decoder *decoder) { listener = decoder; }

static void handle_error(thandle_t file, const char *module, const char *format, va_list arguments)
{
    (void)file;
    (void)module;
    if (listener) on_error(listener, format, arguments);
}

static void handle_warning(thandle_t file, const char *module, const char *format, va_list arguments)
{
    (void)file;
    if (listener) on_warning(listener, module, format, arguments);
}

// This version has no option that limits a single allocation.
int ctiff_open_library(ctiff_decoder *decoder, const char *path, size_t memory)
{
    (void)memory;
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandlerExt(handle_error);
    TIFFSetWarningHandlerExt(handle_warning);
    ctiff_listen(decoder);
    errno = 0;
    decoder->tiff = TIFFOpen(path, "rm");
    return 1;
}

#endif

cphoto_code ctiff_refuse(ctiff_decoder *decoder, cphoto_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    decoder->has_message = 0;
    keep_message(decoder, format, arguments);
    va_end(arguments);
    return code;
}

// libjpeg inside libtiff states a process that it does not have, such as lossless JPEG, only as text.
static int states_missing_feature(const char *text)
{
    return strstr(text, "Unsupported") || strstr(text, "not implemented") || strstr(text, "omitted at compile time");
}

cphoto_code ctiff_library_failure(ctiff_decoder *decoder)
{
    if (!decoder->system_code) return states_missing_feature(decoder->message) ? CPHOTO_UNSUPPORTED : CPHOTO_CORRUPT;
    return ctiff_refuse(decoder, CPHOTO_NOT_READ, "%s", strerror(decoder->system_code));
}
