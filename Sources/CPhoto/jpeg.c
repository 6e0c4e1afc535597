// JPEG through libjpeg-turbo. Errors, and warnings that indicate lost pixels, leave by longjmp, inside this file.
#include "CPhoto.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
// Included after jpeglib.h, because its codes depend on how the library was built.
#include <jerror.h>

enum {
    exif_capacity = 65533,
    maximum_scans = 200,  // more than any encoder writes, but too few for a hostile file to take minutes
    row_block = 16
};

struct cphoto_jpeg {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf leave;
    cphoto_code code;
    char message[JMSG_LENGTH_MAX + 32];
    FILE *file;
    int system_code;
    int created;
    int irregularities;
    int many_scans;
    cphoto_stop stop;
    const void *context;
    uint8_t *ink_rows;
    size_t exif_count;
    uint8_t exif[exif_capacity];
};

static cphoto_jpeg *owner(j_common_ptr info) { return (cphoto_jpeg *)info->client_data; }

static _Noreturn void fail(cphoto_jpeg *decoder, cphoto_code code)
{
    decoder->code = code;
    longjmp(decoder->leave, 1);
}

static _Noreturn void fail_with_message(j_common_ptr info, cphoto_code code)
{
    cphoto_jpeg *decoder = owner(info);
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    snprintf(decoder->message, sizeof decoder->message, "%s", text);
    fail(decoder, code);
}

// When a read fails, the library only sees that no bytes arrived. Must be called at once, before errno changes.
static void check_file(cphoto_jpeg *decoder)
{
    int number = errno;
    if (!ferror(decoder->file)) return;
    decoder->system_code = number;
    snprintf(decoder->message, sizeof decoder->message, "%s", strerror(number));
    fail(decoder, CPHOTO_NOT_READ);
}

static void on_error(j_common_ptr info)
{
    switch (info->err->msg_code) {
    case JERR_INPUT_EMPTY:
    case JERR_INPUT_EOF:
        check_file(owner(info));
        fail_with_message(info, CPHOTO_CORRUPT);
    case JERR_OUT_OF_MEMORY: fail_with_message(info, CPHOTO_NO_MEMORY);
    case JERR_NO_BACKING_STORE: fail_with_message(info, CPHOTO_TOO_LARGE);
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
#if JPEG_LIB_VERSION < 70 // later interfaces, as Ubuntu's, always know arithmetic coding
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_CCIR601_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL: fail_with_message(info, CPHOTO_UNSUPPORTED);
    default: fail_with_message(info, CPHOTO_CORRUPT);
    }
}

static void on_message(j_common_ptr info, int level)
{
    if (level >= 0) return;
    cphoto_jpeg *decoder = owner(info);
    switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
        check_file(decoder);
        // In a picture of one scan only the end marker may be missing: if pixels are missing, JWRN_HIT_MARKER follows,
        // but not with arithmetic coding, whose decoder reads zeros behind the end.
        if (decoder->many_scans || decoder->info.arith_code || info->global_state < 205) fail_with_message(info, CPHOTO_CORRUPT);
        decoder->irregularities |= CPHOTO_NO_END_MARKER;
        break;
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_NOT_SEQUENTIAL: fail_with_message(info, CPHOTO_CORRUPT);
    default: decoder->irregularities |= CPHOTO_STRAY_BYTES;
    }
}

static void on_output(j_common_ptr info) { (void)info; }

static void on_progress(j_common_ptr info)
{
    cphoto_jpeg *decoder = owner(info);
    if (decoder->stop && decoder->stop(decoder->context)) fail(decoder, CPHOTO_STOPPED);
    if (decoder->info.input_scan_number > maximum_scans) {
        snprintf(decoder->message, sizeof decoder->message, "more than %d scans", maximum_scans);
        fail(decoder, CPHOTO_CORRUPT);
    }
}

static int next_byte(j_decompress_ptr info)
{
    struct jpeg_source_mgr *source = info->src;
    if (source->bytes_in_buffer == 0 && !source->fill_input_buffer(info)) ERREXIT(info, JERR_CANT_SUSPEND);
    source->bytes_in_buffer--;
    return *source->next_input_byte++;
}

// Keeps the first Exif block; the library's own function would keep all of them.
static boolean on_application_marker(j_decompress_ptr info)
{
    static const uint8_t name[6] = {'E', 'x', 'i', 'f', 0, 0};
    cphoto_jpeg *decoder = owner((j_common_ptr)info);
    int length = next_byte(info) << 8;
    length = (length | next_byte(info)) - 2;
    if (length < 0) ERREXIT(info, JERR_BAD_LENGTH);
    int used = 0;
    if (decoder->exif_count == 0 && length > (int)sizeof name) {
        int matches = 1;
        for (; used < (int)sizeof name; used++) matches &= next_byte(info) == name[used];
        if (matches) {
            for (; used < length; used++) decoder->exif[decoder->exif_count++] = (uint8_t)next_byte(info);
        }
    }
    if (length > used) info->src->skip_input_data(info, length - used);
    return TRUE;
}

static int model_of(J_COLOR_SPACE space)
{
    switch (space) {
    case JCS_GRAYSCALE: return CPHOTO_GREY;
    case JCS_RGB: return CPHOTO_RGB;
    case JCS_YCbCr: return CPHOTO_YCBCR;
    case JCS_CMYK: return CPHOTO_CMYK;
    case JCS_YCCK: return CPHOTO_YCCK;
    default: return -1;
    }
}

cphoto_code cphoto_jpeg_open(const char *path, cphoto_jpeg **made, cphoto_header *header)
{
    cphoto_jpeg *decoder = calloc(1, sizeof *decoder);
    *made = decoder;
    if (!decoder) return CPHOTO_NO_MEMORY;
    decoder->file = fopen(path, "rbe");
    if (!decoder->file) {
        decoder->system_code = errno;
        snprintf(decoder->message, sizeof decoder->message, "%s", strerror(decoder->system_code));
        return CPHOTO_NOT_OPENED;
    }
    struct jpeg_decompress_struct *info = &decoder->info;
    info->err = jpeg_std_error(&decoder->errors);
    decoder->errors.error_exit = on_error;
    decoder->errors.emit_message = on_message;
    decoder->errors.output_message = on_output;
    info->client_data = decoder;
    if (setjmp(decoder->leave)) return decoder->code;
    decoder->created = 1;
    jpeg_create_decompress(info);
    jpeg_stdio_src(info, decoder->file);
    jpeg_set_marker_processor(info, JPEG_APP0 + 1, on_application_marker);
    jpeg_read_header(info, TRUE);

    header->width = info->image_width;
    header->height = info->image_height;
    header->bits = info->data_precision;
    header->model = model_of(info->jpeg_color_space);
    if (header->model < 0) {
        snprintf(
            decoder->message, sizeof decoder->message, "%d components in an unknown colour space",
            info->num_components);
        return CPHOTO_UNSUPPORTED;
    }
    decoder->many_scans = jpeg_has_multiple_scans(info);
    header->is_layered = decoder->many_scans;
    header->has_alpha = 0;
    header->layered_bytes = 0;
    if (decoder->many_scans) {
        for (int i = 0; i < info->num_components; i++) {
            // Whole coefficient arrays, in blocks rounded up to the sampling.
            const jpeg_component_info *component = &info->comp_info[i];
            int64_t across = (header->width + 8 * info->max_h_samp_factor - 1) / (8 * info->max_h_samp_factor);
            int64_t down = (header->height + 8 * info->max_v_samp_factor - 1) / (8 * info->max_v_samp_factor);
            header->layered_bytes += across * component->h_samp_factor * down * component->v_samp_factor * 128;
        }
    }
    return CPHOTO_OK;
}

void cphoto_jpeg_close(cphoto_jpeg *decoder)
{
    if (!decoder) return;
    if (decoder->created && !setjmp(decoder->leave)) jpeg_destroy_decompress(&decoder->info);
    if (decoder->file) fclose(decoder->file);
    free(decoder->ink_rows);
    free(decoder);
}

const char *cphoto_jpeg_message(const cphoto_jpeg *decoder) { return decoder ? decoder->message : ""; }

int cphoto_jpeg_system_code(const cphoto_jpeg *decoder) { return decoder ? decoder->system_code : 0; }

const uint8_t *cphoto_jpeg_exif(const cphoto_jpeg *decoder, size_t *count)
{
    *count = decoder->exif_count;
    return decoder->exif_count ? decoder->exif : NULL;
}

cphoto_code cphoto_jpeg_start(
    cphoto_jpeg *decoder, int denominator, size_t memory, cphoto_stop stop, const void *context)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    decoder->stop = stop;
    decoder->context = context;
    if (setjmp(decoder->leave)) return decoder->code;
    info->mem->max_memory_to_use = (long)memory;
    info->progress = &decoder->progress;
    decoder->progress.progress_monitor = on_progress;
    info->scale_num = 1;
    info->scale_denom = (unsigned)denominator;
    int is_ink = info->num_components == 4;
    info->out_color_space = is_ink ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(info);
    if (is_ink) {
        decoder->ink_rows = malloc((size_t)info->output_width * 4 * row_block);
        if (!decoder->ink_rows) return CPHOTO_NO_MEMORY;
    }
    return CPHOTO_OK;
}

void cphoto_jpeg_keep_columns(cphoto_jpeg *decoder, ptrdiff_t *first, ptrdiff_t *count)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    ptrdiff_t width = info->output_width;
    // Chroma is smoothed across one or two pixels: with one more block on either side, the requested columns do not
    // change.
    ptrdiff_t margin = 8 * info->max_h_samp_factor;
    ptrdiff_t left = *first > margin ? *first - margin : 0;
    ptrdiff_t right = *first + *count + margin < width ? *first + *count + margin : width;
    *first = 0;
    *count = width;
    if (left < margin && right == width) return;
    JDIMENSION offset = (JDIMENSION)left, kept = (JDIMENSION)(right - left);
    if (setjmp(decoder->leave)) return;
    jpeg_crop_scanline(info, &offset, &kept);
    *first = offset;
    *count = kept;
}

// Inks are assumed to be inverted, as Adobe's programs write them and Pillow reads them, with or without a marker.
static void ink_rows_to_rgb(uint8_t *inks, uint8_t *rgb, size_t pixels)
{
    for (size_t i = 0; i < pixels * 4; i++) inks[i] = (uint8_t)~inks[i];
    cphoto_cmyk_to_rgb(inks, rgb, pixels);
}

cphoto_code cphoto_jpeg_rows(cphoto_jpeg *decoder, uint8_t *rgb, size_t count)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    size_t width = info->output_width;
    if (setjmp(decoder->leave)) return decoder->code;
    JDIMENSION end = info->output_scanline + (JDIMENSION)count;
    while (info->output_scanline < end && info->output_scanline < info->output_height) {
        JSAMPROW rows[row_block];
        int wanted = end - info->output_scanline < row_block ? (int)(end - info->output_scanline) : row_block;
        uint8_t *first = decoder->ink_rows ? decoder->ink_rows : rgb;
        size_t stride = width * (decoder->ink_rows ? 4 : 3);
        for (int i = 0; i < wanted; i++) rows[i] = first + (size_t)i * stride;
        JDIMENSION read = jpeg_read_scanlines(info, rows, (JDIMENSION)wanted);
        if (decoder->ink_rows) ink_rows_to_rgb(decoder->ink_rows, rgb, width * read);
        rgb += width * 3 * read;
    }
    if (info->output_scanline == info->output_height) jpeg_finish_decompress(info);
    return CPHOTO_OK;
}

int cphoto_jpeg_irregularities(const cphoto_jpeg *decoder) { return decoder->irregularities; }
