// Resampling and counting of RGB pixels.
#include "CPhotoKernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { weight_bits = 22, half = 1 << (weight_bits - 1) };

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

// The weight of tap `tap`: its low 11 bits and the remaining bits, each repeated for red, green and blue.
static inline int32_t weight_of(const int16_t *weights, size_t tap)
{
    const int16_t *group = weights + tap / 4 * PHOTO_GROUP + tap % 4 / 2 * 8 + tap % 2;
    return group[0] + ((int32_t)group[PHOTO_GROUP / 2] << 11);
}

static void resize_row_base(
    const uint8_t *row, const int32_t *starts, const int16_t *weights, size_t groups, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++, weights += groups * PHOTO_GROUP, out += 3) {
        const uint8_t *source = row + (size_t)starts[i] * 3;
        int32_t sums[3] = {half, half, half};
        for (size_t tap = 0; tap < groups * 4; tap++) {
            int32_t weight = weight_of(weights, tap);
            for (size_t c = 0; c < 3; c++) sums[c] += source[tap * 3 + c] * weight;
        }
        for (size_t c = 0; c < 3; c++) out[c] = to_byte(sums[c]);
    }
}

#if defined(__x86_64__)
// Four pixels at a time. Products of 8 by 22 bits exceed the fast 16-bit multiplication, but those of both halves of a
// weight fit; neither sum overflows, because the weights of a pixel add up to about 1 << 22.
__attribute__((target("avx2"))) static void resize_row_avx2(
    const uint8_t *row, const int32_t *starts, const int16_t *weights, size_t groups, size_t count, uint8_t *out)
{
    // Expands bytes to pairs of words for each channel: R0 R1 G0 G1 B0 B1, with pixels 2 and 3 in the upper half.
    const __m256i spread = _mm256_setr_epi8(
        0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,
        6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    const __m128i rounding = _mm_set1_epi32(half);
    for (size_t i = 0; i < count; i++, out += 3) {
        const uint8_t *source = row + (size_t)starts[i] * 3;
        __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
        for (size_t group = 0; group < groups; group++, source += 12, weights += PHOTO_GROUP) {
            __m256i bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)source));
            __m256i pixels = _mm256_shuffle_epi8(bytes, spread);
            __m256i low_weights = _mm256_loadu_si256((const __m256i *)weights);
            __m256i high_weights = _mm256_loadu_si256((const __m256i *)(weights + PHOTO_GROUP / 2));
            low = _mm256_add_epi32(low, _mm256_madd_epi16(pixels, low_weights));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(pixels, high_weights));
        }
        __m256i sums = _mm256_add_epi32(low, _mm256_slli_epi32(high, 11));
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
        sum = _mm_srai_epi32(_mm_add_epi32(sum, rounding), weight_bits);
        // Packing clamps, first to 16-bit words and then to bytes.
        sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
        uint32_t pixel = (uint32_t)_mm_cvtsi128_si32(sum);
        memcpy(out, &pixel, 3);
    }
}
#endif

void photo_resize_row(
    const uint8_t *row, const int32_t *starts, const int16_t *weights, size_t groups, size_t count, uint8_t *out)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        resize_row_avx2(row, starts, weights, groups, count, out);
        return;
    }
#endif
    resize_row_base(row, starts, weights, groups, count, out);
}

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

// Four values at once: red, green and blue, and one more that is left out.
typedef float four_values __attribute__((vector_size(16)));
typedef uint8_t four_bytes __attribute__((vector_size(4)));

PHOTO_INLINE four_values values_at(const uint8_t *pixel)
{
    four_bytes bytes;
    memcpy(&bytes, pixel, sizeof bytes);
    return __builtin_convertvector(bytes, four_values);
}

// The same for the last pixel, after which there is no other byte.
PHOTO_INLINE four_values last_values_at(const uint8_t *pixel)
{
    return (four_values){(float)pixel[0], (float)pixel[1], (float)pixel[2], 0};
}

PHOTO_INLINE void photo_sample_line_body(const photo_masked *source, photo_line line, uint8_t *out, uint8_t *alpha)
{
#pragma STDC FP_CONTRACT OFF
    const uint8_t *opacity = source->opacity;
    const ptrdiff_t width = source->width, height = source->height, last = width * height - 1;
    for (ptrdiff_t i = 0; i < line.count; i++) {
        const double px = line.x + line.dx * (double)i, py = line.y + line.dy * (double)i;
        if (!(px > -0.5 && py > -0.5 && px < (double)width && py < (double)height)) continue;
        const ptrdiff_t nearest_x = (ptrdiff_t)(px + 0.5), nearest_y = (ptrdiff_t)(py + 0.5);
        if (nearest_x >= width || nearest_y >= height) continue;
        const ptrdiff_t own = nearest_y * width + nearest_x;
        if (!opacity[own]) continue;
        // Positions are above -0.5, so the sums are positive and truncation rounds down.
        const ptrdiff_t left = (ptrdiff_t)(px + 1) - 1, top = (ptrdiff_t)(py + 1) - 1;
        const float right = (float)(px - (double)left), below = (float)(py - (double)top);
        const ptrdiff_t first = top * width + left;
        four_values corners[4];
        if (left >= 0 && top >= 0 && left + 1 < width && top + 2 < height && opacity[first] && opacity[first + 1]
            && opacity[first + width] && opacity[first + width + 1]) {
            const uint8_t *pixel = source->pixels + 3 * first;
            corners[0] = values_at(pixel);
            corners[1] = values_at(pixel + 3);
            corners[2] = values_at(pixel + 3 * width);
            corners[3] = values_at(pixel + 3 * width + 3);
        } else {
            for (int corner = 0; corner < 4; corner++) {
                const ptrdiff_t cx = left + (corner & 1), cy = top + (corner >> 1);
                const int is_inside = cx >= 0 && cy >= 0 && cx < width && cy < height && opacity[cy * width + cx];
                const ptrdiff_t place = is_inside ? cy * width + cx : own;
                const uint8_t *pixel = source->pixels + 3 * place;
                corners[corner] = place == last ? last_values_at(pixel) : values_at(pixel);
            }
        }
        const four_values above = corners[0] * (1 - right) + corners[1] * right;
        const four_values under = corners[2] * (1 - right) + corners[3] * right;
        const four_bytes mean = __builtin_convertvector(above * (1 - below) + under * below + 0.5f, four_bytes);
        memcpy(out + 3 * i, &mean, 3);
        alpha[i] = 255;
    }
}

PHOTO_VARIANTS(
    photo_sample_line, (const photo_masked *source, photo_line line, uint8_t *out, uint8_t *alpha),
    (source, line, out, alpha))
