// Operations on decoded rows.
#include "CPhoto.h"

#include <string.h>

// a * b / 255, rounded; exact for bytes.
static inline unsigned divide_by_255(unsigned product)
{
    unsigned rounded = product + 128;
    return ((rounded >> 8) + rounded) >> 8;
}

void cphoto_cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, size_t count)
{
    for (size_t i = 0; i < count; i++, cmyk += 4, rgb += 3) {
        unsigned light = 255u - cmyk[3];
        // An ink absorbs at most all of the light, so no value falls below 0.
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(light - divide_by_255(cmyk[c] * light));
    }
}

void cphoto_rgba_on_white(const uint8_t *rgba, uint8_t *rgb, size_t count)
{
    for (size_t i = 0; i < count; i++, rgba += 4, rgb += 3) {
        unsigned alpha = rgba[3];
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)divide_by_255(rgba[c] * alpha + 255u * (255u - alpha));
    }
}

// Copies pixels `step` bytes apart to adjacent pixels. All but the outermost are copied as four bytes; the next pixel
// overwrites the last of them.
static void copy_strided(const uint8_t *source, ptrdiff_t step, size_t count, uint8_t *target)
{
    // Only the pixel with the highest address may be at the end of the readable memory; it is one of the outermost
    // ones.
    memcpy(target, source, 3);
    if (count < 2) return;
    for (size_t i = 1; i + 1 < count; i++) memcpy(target + i * 3, source + (ptrdiff_t)i * step, 4);
    memcpy(target + (count - 1) * 3, source + (ptrdiff_t)(count - 1) * step, 3);
}

void cphoto_place_rows(const uint8_t *rows, size_t first, size_t count, cphoto_stored stored, uint8_t *upright)
{
    size_t width = stored.width, height = stored.height;
    int orientation = stored.orientation;
    int is_turned = orientation >= 5;
    size_t row_length = (is_turned ? height : width) * 3;
    // The target of stored column 0, and the distance between two columns, for each stored row.
    int columns_reversed = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    int rows_reversed = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (!is_turned) {
        for (size_t y = first; y < first + count; y++, rows += width * 3) {
            uint8_t *target = upright + (rows_reversed ? height - 1 - y : y) * row_length;
            if (!columns_reversed) {
                memcpy(target, rows, row_length);
                continue;
            }
            for (size_t x = 0; x < width; x++) memcpy(target + (width - 1 - x) * 3, rows + x * 3, 3);
        }
        return;
    }
    // Column by column, so that the written pixels are contiguous; the stored row that comes first there is read first.
    ptrdiff_t step = (ptrdiff_t)(width * 3);
    const uint8_t *top = rows_reversed ? rows + (ptrdiff_t)(count - 1) * step : rows;
    size_t left = rows_reversed ? height - first - count : first;
    for (size_t x = 0; x < width; x++) {
        uint8_t *target = upright + (columns_reversed ? width - 1 - x : x) * row_length + left * 3;
        copy_strided(top + x * 3, rows_reversed ? -step : step, count, target);
    }
}

void cphoto_add_row(const uint8_t *row, size_t width, size_t factor, uint64_t *sums)
{
    for (size_t begin = 0; begin < width; begin += factor, sums += 3) {
        size_t end = begin + factor < width ? begin + factor : width;
        for (size_t x = begin; x < end; x++) {
            for (int c = 0; c < 3; c++) sums[c] += row[x * 3 + (size_t)c];
        }
    }
}

void cphoto_mean_row(uint64_t *sums, size_t width, size_t factor, size_t rows, uint8_t *mean)
{
    for (size_t begin = 0; begin < width; begin += factor, sums += 3, mean += 3) {
        size_t columns = begin + factor < width ? factor : width - begin;
        uint64_t count = columns * rows;
        for (int c = 0; c < 3; c++) {
            mean[c] = (uint8_t)((sums[c] + count / 2) / count);
            sums[c] = 0;
        }
    }
}
