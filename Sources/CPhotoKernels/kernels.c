// Resampling, counting and looking up of RGB pixels.
#include "CPhotoKernels.h"

#include <string.h>

enum { weight_bits = 22, half = 1 << (weight_bits - 1), lanes = 24 };

#define PHOTO_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define PHOTO_VARIANTS(name, parameters, arguments)                                                          \
    __attribute__((target("avx2"))) static void name##_avx2 parameters { name##_body arguments; }            \
    static void name##_base parameters { name##_body arguments; }                                            \
    void name parameters {                                                                                   \
        if (__builtin_cpu_supports("avx2")) name##_avx2 arguments;                                           \
        else name##_base arguments;                                                                          \
    }
#else
#define PHOTO_VARIANTS(name, parameters, arguments) \
    void name parameters { name##_body arguments; }
#endif

PHOTO_INLINE uint8_t to_byte(int32_t sum)
{
    int32_t value = sum >> weight_bits;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Functions that return vectors are always inlined, so how they would be passed does not matter.
#pragma clang diagnostic ignored "-Wpsabi"

typedef int32_t ints8 __attribute__((vector_size(32)));
typedef uint8_t bytes8 __attribute__((vector_size(8)));

PHOTO_INLINE ints8 eight(const uint8_t *bytes)
{
    bytes8 loaded;
    memcpy(&loaded, bytes, sizeof loaded);
    return __builtin_convertvector(loaded, ints8);
}

PHOTO_INLINE ints8 eight_weights(const int32_t *weights)
{
    ints8 loaded;
    memcpy(&loaded, weights, sizeof loaded);
    return loaded;
}

// The weights stand three times, so 24 neighbouring bytes meet 24 neighbouring weights, and lane i keeps to channel i % 3.
PHOTO_INLINE void photo_resize_row_body(
    const uint8_t *row, const int32_t *starts, const int32_t *weights, size_t stride, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++, weights += stride, out += 3) {
        const uint8_t *source = row + (size_t)starts[i] * 3;
        ints8 a = {half, half, half}, b = {0}, c = {0};
        for (size_t j = 0; j < stride; j += lanes) {
            a += eight(source + j) * eight_weights(weights + j);
            b += eight(source + j + 8) * eight_weights(weights + j + 8);
            c += eight(source + j + 16) * eight_weights(weights + j + 16);
        }
        // Lanes to channels: a is 01201201, b is 20120120, c is 12012012.
        out[0] = to_byte(a[0] + a[3] + a[6] + b[1] + b[4] + b[7] + c[2] + c[5]);
        out[1] = to_byte(a[1] + a[4] + a[7] + b[2] + b[5] + c[0] + c[3] + c[6]);
        out[2] = to_byte(a[2] + a[5] + b[0] + b[3] + b[6] + c[1] + c[4] + c[7]);
    }
}

PHOTO_VARIANTS(
    photo_resize_row,
    (const uint8_t *row, const int32_t *starts, const int32_t *weights, size_t stride, size_t count, uint8_t *out),
    (row, starts, weights, stride, count, out))

PHOTO_INLINE void photo_mix_rows_body(
    const uint8_t *rows, size_t row_stride, const int32_t *weights, size_t taps, size_t count, uint8_t *out)
{
    enum { block = 64 };
    size_t begin = 0;
    for (; begin + block <= count; begin += block) {
        int32_t sums[block];
        for (size_t i = 0; i < block; i++) sums[i] = half;
        for (size_t tap = 0; tap < taps; tap++) {
            const uint8_t *row = rows + tap * row_stride + begin;
            int32_t weight = weights[tap];
            for (size_t i = 0; i < block; i++) sums[i] += row[i] * weight;
        }
        for (size_t i = 0; i < block; i++) out[begin + i] = to_byte(sums[i]);
    }
    for (; begin < count; begin++) {
        int32_t sum = half;
        for (size_t tap = 0; tap < taps; tap++) sum += rows[tap * row_stride + begin] * weights[tap];
        out[begin] = to_byte(sum);
    }
}

PHOTO_VARIANTS(
    photo_mix_rows,
    (const uint8_t *rows, size_t row_stride, const int32_t *weights, size_t taps, size_t count, uint8_t *out),
    (rows, row_stride, weights, taps, count, out))

void photo_histogram(const uint8_t *pixels, size_t count, uint32_t *counts)
{
    for (size_t i = 0; i < count; i++, pixels += 3) {
        counts[pixels[0]]++;
        counts[256 + pixels[1]]++;
        counts[512 + pixels[2]]++;
    }
}

void photo_look_up(const uint8_t *pixels, size_t count, const float *tables, float *planes, size_t plane)
{
    for (size_t i = 0; i < count; i++, pixels += 3) {
        planes[i] = tables[pixels[0]];
        planes[plane + i] = tables[256 + pixels[1]];
        planes[2 * plane + i] = tables[512 + pixels[2]];
    }
}
