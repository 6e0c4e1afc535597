// PNG through libpng. Errors leave by longjmp, inside this file.
#include "CPhoto.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <png.h>

enum {
    // Maximum size and number of the ancillary chunks that are read; those of real files are far smaller.
    maximum_side = 0x7fffffff,
    maximum_chunk_bytes = 4 << 20,
    maximum_chunks = 1000,
    maximum_pictures = 10000   // that are counted
};

struct cphoto_png {
    png_structp png;
    png_infop info;
    FILE *file;
    int system_code;
    jmp_buf leave;
    cphoto_code code;
    char message[256];
    char warning[128];         // the last warning: only it states what is wrong with a header
    int64_t width, height, next_row;
    int has_alpha, passes;
    uint8_t *late_exif;        // an Exif block behind the pixels
    size_t late_exif_count;
    uint8_t *rows;             // one row with alpha, or all rows of an interlaced picture
    cphoto_stop stop;
    const void *context;
};

static _Noreturn void leave(cphoto_png *decoder, cphoto_code code)
{
    decoder->code = code;
    longjmp(decoder->leave, 1);
}

static _Noreturn void on_error(png_structp png, png_const_charp text)
{
    cphoto_png *decoder = png_get_error_ptr(png);
    if (decoder->width == 0 && decoder->warning[0]) {
        snprintf(decoder->message, sizeof decoder->message, "%s: %s", text, decoder->warning);
    } else {
        snprintf(decoder->message, sizeof decoder->message, "%s", text);
    }
    leave(decoder, strcmp(text, "Out of memory") == 0 ? CPHOTO_NO_MEMORY : CPHOTO_CORRUPT);
}

// libpng only warns about chunks that do not affect the pixels, and about problems that it reports as errors later.
static void on_warning(png_structp png, png_const_charp text)
{
    cphoto_png *decoder = png_get_error_ptr(png);
    snprintf(decoder->warning, sizeof decoder->warning, "%s", text);
}

static void read_bytes(png_structp png, png_bytep bytes, size_t count)
{
    cphoto_png *decoder = png_get_io_ptr(png);
    if (fread(bytes, 1, count, decoder->file) == count) return;
    if (ferror(decoder->file)) {
        decoder->system_code = errno;
        snprintf(decoder->message, sizeof decoder->message, "%s", strerror(decoder->system_code));
        leave(decoder, CPHOTO_NOT_READ);
    }
    png_error(png, "the file ends too early");
}

static int model_of(int colour_type)
{
    switch (colour_type) {
    case PNG_COLOR_TYPE_GRAY: return CPHOTO_GREY;
    case PNG_COLOR_TYPE_GRAY_ALPHA: return CPHOTO_GREY_ALPHA;
    case PNG_COLOR_TYPE_PALETTE: return CPHOTO_PALETTE;
    case PNG_COLOR_TYPE_RGB_ALPHA: return CPHOTO_RGBA;
    default: return CPHOTO_RGB;
    }
}

static uint32_t number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Reads an Exif block behind the pixels, as some tools write it: libpng reads it after them, but the size depends on it.
static void read_late_exif(cphoto_png *decoder, int file, off_t place, off_t length)
{
    if (decoder->late_exif || length > maximum_chunk_bytes || !(decoder->late_exif = malloc((size_t)length + 1))) return;
    ssize_t count = pread(file, decoder->late_exif, (size_t)length, place);
    decoder->late_exif_count = count > 0 ? (size_t)count : 0;
}

// Whether the chunks before the pixels end inside the file. libpng allocates memory for some of them by their stated
// length, regardless of its limits, before it detects that the bytes are missing. Counts the pictures of an animation, too, of
// which libpng knows nothing: the frames, and the picture that is read where it is not the first of them. The walk ends with the
// picture: what follows it in the file, such as another one, is not part of it.
static int chunks_fit(cphoto_png *decoder, int32_t *picture_count)
{
    struct stat status;
    unsigned char head[12];
    uint32_t frames = 0;
    int file = fileno(decoder->file), begins_with_frame = 0, is_behind = 0;
    *picture_count = 1;
    if (fstat(file, &status) != 0) return 1;
    for (off_t place = 8, length; place + 12 <= status.st_size; place += length + 12) {
        // libpng reports read errors.
        if (pread(file, head, 12, place) != 12 || memcmp(head + 4, "IEND", 4) == 0) break;
        length = number(head);
        if (memcmp(head + 4, "IDAT", 4) == 0) is_behind = 1;
        if (length > status.st_size - place - 8) {
            if (!is_behind) return 0;
            break;
        }
        if (is_behind) {
            if (memcmp(head + 4, "eXIf", 4) == 0) read_late_exif(decoder, file, place + 8, length);
            continue;
        }
        if (memcmp(head + 4, "fcTL", 4) == 0) begins_with_frame = 1;
        if (memcmp(head + 4, "acTL", 4) == 0 && length == 8) frames = number(head + 8);
    }
    if (frames > maximum_pictures) frames = maximum_pictures;
    if (frames > 0) *picture_count = (int32_t)frames + !begins_with_frame;
    return 1;
}

cphoto_code cphoto_png_open(const char *path, cphoto_png **made, cphoto_header *header, cphoto_frame_facts *facts)
{
    cphoto_png *decoder = calloc(1, sizeof *decoder);
    *made = decoder;
    if (!decoder) return CPHOTO_NO_MEMORY;
    decoder->file = fopen(path, "rbe");
    if (!decoder->file) {
        decoder->system_code = errno;
        snprintf(decoder->message, sizeof decoder->message, "%s", strerror(decoder->system_code));
        return CPHOTO_NOT_OPENED;
    }
    if (!chunks_fit(decoder, &facts->picture_count)) {
        snprintf(decoder->message, sizeof decoder->message, "the file ends inside a chunk");
        return CPHOTO_CORRUPT;
    }
    if (setjmp(decoder->leave)) return decoder->code;
    decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, decoder, on_error, on_warning);
    if (!decoder->png) return CPHOTO_NO_MEMORY;
    decoder->info = png_create_info_struct(decoder->png);
    if (!decoder->info) return CPHOTO_NO_MEMORY;
    png_set_read_fn(decoder->png, decoder, read_bytes);
    png_set_user_limits(decoder->png, maximum_side, maximum_side);
    png_set_chunk_cache_max(decoder->png, maximum_chunks);
    png_set_chunk_malloc_max(decoder->png, maximum_chunk_bytes);
    // Transparency is an ancillary chunk too; a wrong checksum anywhere indicates a damaged file.
    png_set_crc_action(decoder->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(decoder->png, decoder->info);

    int type = png_get_color_type(decoder->png, decoder->info);
    decoder->width = png_get_image_width(decoder->png, decoder->info);
    decoder->height = png_get_image_height(decoder->png, decoder->info);
    decoder->has_alpha =
        (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(decoder->png, decoder->info, PNG_INFO_tRNS) != 0;
    header->width = decoder->width;
    header->height = decoder->height;
    header->bits = png_get_bit_depth(decoder->png, decoder->info);
    header->model = model_of(type);
    header->has_alpha = decoder->has_alpha;
    header->is_layered = png_get_interlace_type(decoder->png, decoder->info) != PNG_INTERLACE_NONE;
    header->layered_bytes = 0;
    if (header->is_layered) {
        // Both sides are below 2^31: no overflow before the factor, for which the division leaves enough range.
        int64_t pixels = decoder->width * decoder->height, most = INT64_MAX / 8;
        header->layered_bytes = (pixels < most ? pixels : most) * (decoder->has_alpha ? 4 : 3);
    }
    return CPHOTO_OK;
}

void cphoto_png_close(cphoto_png *decoder)
{
    if (!decoder) return;
    if (decoder->png && !setjmp(decoder->leave)) png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
    if (decoder->file) fclose(decoder->file);
    free(decoder->late_exif);
    free(decoder->rows);
    free(decoder);
}

const char *cphoto_png_message(const cphoto_png *decoder) { return decoder ? decoder->message : ""; }

int cphoto_png_system_code(const cphoto_png *decoder) { return decoder ? decoder->system_code : 0; }

const uint8_t *cphoto_png_exif(const cphoto_png *decoder, size_t *count, int *is_text)
{
    png_uint_32 length = 0;
    png_bytep exif = NULL;
    *is_text = 0;
    if (png_get_eXIf_1(decoder->png, decoder->info, &length, &exif) && exif) {
        *count = length;
        return exif;
    }
    if (decoder->late_exif) {
        *count = decoder->late_exif_count;
        return decoder->late_exif;
    }
    png_textp texts = NULL;
    int text_count = 0;
    png_get_text(decoder->png, decoder->info, &texts, &text_count);
    for (int i = 0; i < text_count; i++) {
        int is_exif = strcmp(texts[i].key, "Raw profile type exif") == 0 ||
            strcmp(texts[i].key, "Raw profile type APP1") == 0;
        if (is_exif && texts[i].text) {
            *is_text = 1;
            *count = strlen(texts[i].text);
            return (const uint8_t *)texts[i].text;
        }
    }
    *count = 0;
    return NULL;
}

cphoto_code cphoto_png_start(cphoto_png *decoder, cphoto_stop stop, const void *context)
{
    decoder->stop = stop;
    decoder->context = context;
    if (setjmp(decoder->leave)) return decoder->code;
    png_set_expand(decoder->png);
    // Uses the high byte of 16 bits, as Pillow does.
    png_set_strip_16(decoder->png);
    png_set_gray_to_rgb(decoder->png);
    decoder->passes = png_set_interlace_handling(decoder->png);
    png_read_update_info(decoder->png, decoder->info);
    size_t row_bytes = (size_t)decoder->width * (decoder->has_alpha ? 4 : 3);
    if (png_get_rowbytes(decoder->png, decoder->info) != row_bytes) {
        snprintf(decoder->message, sizeof decoder->message, "rows of an unexpected length");
        return CPHOTO_CORRUPT;
    }
    if (decoder->passes == 1 && !decoder->has_alpha) return CPHOTO_OK;
    decoder->rows = calloc(decoder->passes > 1 ? (size_t)decoder->height : 1, row_bytes);
    return decoder->rows ? CPHOTO_OK : CPHOTO_NO_MEMORY;
}

static void check(cphoto_png *decoder)
{
    if (decoder->stop && decoder->stop(decoder->context)) leave(decoder, CPHOTO_STOPPED);
}

static void read_passes(cphoto_png *decoder, size_t row_bytes)
{
    for (int pass = 0; pass < decoder->passes; pass++) {
        for (int64_t y = 0; y < decoder->height; y++) {
            if (y % 64 == 0) check(decoder);
            png_read_row(decoder->png, decoder->rows + (size_t)y * row_bytes, NULL);
        }
    }
}

cphoto_code cphoto_png_rows(cphoto_png *decoder, uint8_t *rgb, size_t count)
{
    size_t width = (size_t)decoder->width;
    size_t row_bytes = width * (decoder->has_alpha ? 4 : 3);
    if (setjmp(decoder->leave)) return decoder->code;
    if (decoder->passes > 1 && decoder->next_row == 0) read_passes(decoder, row_bytes);
    for (size_t i = 0; i < count && decoder->next_row < decoder->height; i++, decoder->next_row++, rgb += width * 3) {
        uint8_t *row = decoder->rows;
        if (decoder->passes > 1) {
            row += (size_t)decoder->next_row * row_bytes;
        } else {
            if (i % 16 == 0) check(decoder);
            if (!row) row = rgb;
            png_read_row(decoder->png, row, NULL);
        }
        if (decoder->has_alpha) {
            cphoto_rgba_on_white(row, rgb, width);
        } else if (row != rgb) {
            memcpy(rgb, row, width * 3);
        }
    }
    if (decoder->next_row == decoder->height) png_read_end(decoder->png, NULL);
    return CPHOTO_OK;
}

const char *cphoto_png_version(void) { return png_get_libpng_ver(NULL); }
