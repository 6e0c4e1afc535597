// The convolution on matrix tiles, written once in terms of four operations. The including file defines TILE_ZERO(t),
// TILE_LOAD(t, address), TILE_LOAD_ONCE(t, address) for what is not needed again soon, TILE_PRODUCTS(sums, a, b) and
// TILE_STORE(t, address), where t is a number from 0 to 7 and rows are 64 bytes apart; and, as a clang pragma, the target
// attribute, which includes AVX-512 with bfloat16.
//
// A tile has 16 rows of 64 bytes. Sixteen voxels of packed input, with a block of words each, are one tile in memory; so are
// 16 words of packed weights for 16 output channels. A block has 96 voxels: their sums are tiles 0 to 5, so that a tile of
// weights, which comes from the second-level cache, serves six products, and input in the first-level cache serves the
// taps. The vector units meanwhile end the block before: its sums are rounded, stored and added up between the products.
//
// Layer 3, execution.

#include "avx512.h"

#define INLINE static inline __attribute__((always_inline))

/// Steps of a block before the end of the block before begins: its last sums are still being stored.
#define END_DELAY 2

/// The end of a block under way.
typedef struct block_end {
    const conv_matrix_end *work;
    const float *sums, *residual;
    const int32_t *offsets;
    char *output;
    __mmask16 mask;
    __m512 bias, slope, sum, square;
    int row;
} block_end;

INLINE block_end begin_end(const conv_matrix_end *work) {
    block_end end = {.row = MATRIX_BLOCK, .sum = _mm512_setzero_ps(), .square = _mm512_setzero_ps()};
    if (!work) return end;
    end.work = work;
    end.sums = work->sums;
    end.offsets = work->offsets[0];
    end.output = work->output[0];
    end.residual = work->residual[0];
    end.mask = (__mmask16)((1u << work->channels) - 1);
    end.bias = _mm512_maskz_loadu_ps(end.mask, work->bias);
    end.slope = _mm512_set1_ps(work->slope);
    end.row = 0;
    return end;
}

/// Stores 16 channels of a voxel: `at` is their position in the output.
INLINE void store_row(const block_end *end, __m512 v, int32_t at, __mmask16 mask, const int form) {
    uint16_t *half = end->work->halves + end->row * MATRIX_ROWS;
    static char dump[64] __attribute__((aligned(64)));
    if (form == MATRIX_FLOATS || form == MATRIX_RESIDUAL) {
        _mm512_mask_storeu_ps((float *)end->output + at, mask, v);
    } else if (form == MATRIX_FLOATS_STREAMED) {
        _mm512_stream_ps(at < 0 ? (float *)dump : (float *)end->output + at, v);
    } else if (form == MATRIX_FIRST_HALF) {
        _mm256_store_si256((__m256i *)half, (__m256i)_mm512_cvtneps_pbh(v));
    } else {
        const __m512i first = _mm512_castsi256_si512(_mm256_load_si256((const __m256i *)half));
        const __m512i line = _mm512_inserti64x4(first, (__m256i)_mm512_cvtneps_pbh(v), 1);
        void *to = at < 0 ? (void *)dump : (void *)((uint16_t *)end->output + at);
        if (form == MATRIX_SECOND_HALF_STREAMED) {
            _mm512_stream_si512(to, line);
        } else {
            _mm512_storeu_si512(to, line);
        }
    }
}

/// Ends four rows of a block.
INLINE void end_rows(block_end *end, const int form) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++, end->row++) {
        const int32_t at = *end->offsets++;
        const __mmask16 mask = at < 0 ? 0 : end->mask;
        __m512 v = _mm512_maskz_add_ps(mask, _mm512_load_ps(end->sums), end->bias);
        if (form == MATRIX_RESIDUAL) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, end->residual + at));
        v = _mm512_mask_mul_ps(v, _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ), v, end->slope);
        end->sum = _mm512_add_ps(end->sum, v);
        end->square = _mm512_fmadd_ps(v, v, end->square);
        store_row(end, v, at, mask, form);
        end->sums += MATRIX_ROWS;
    }
    if (end->row == MATRIX_HALF) {
        end->offsets = end->work->offsets[1];
        end->output = end->work->output[1];
        end->residual = end->work->residual[1];
    }
}

INLINE void complete_end(block_end *end, const int form) {
    while (end->row < MATRIX_BLOCK) end_rows(end, form);
    if (!end->work || !end->work->stats) return;
    vector_add_sums(end->work->stats, end->sum);
    vector_add_sums(end->work->squares, end->square);
}

/// The products of a block, and in between the end of the block before, if there is one.
INLINE void matrix_body(const conv_matrix *work, const conv_matrix_end *before, const int form) {
    const ptrdiff_t next = work->next;
    block_end end = begin_end(before);
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    TILE_ZERO(4);
    TILE_ZERO(5);
    // With a few steps, an end between all products.
    const bool is_short = work->block_count * work->tap_count < MATRIX_BLOCK / 4 + END_DELAY;
    const char *ahead = work->ahead;
    int step = 0;
    for (int block = 0; block < work->block_count; block++) {
        const float *first = work->input[0] + block * work->input_block;
        const float *second = work->input[1] + block * work->input_block;
        const float *weights = work->weights + block * work->weight_block;
        for (int tap = 0; tap < work->tap_count; tap++, step++) {
            _mm_prefetch(ahead, _MM_HINT_T1);
            _mm_prefetch(ahead + 64, _MM_HINT_T1);
            ahead += 128;
            const float *input = first + work->taps[0][tap];
            TILE_LOAD_ONCE(7, weights + work->weight_taps[tap]);
            TILE_LOAD(6, input);
            TILE_PRODUCTS(0, 6, 7);
            TILE_LOAD(6, input + next);
            TILE_PRODUCTS(1, 6, 7);
            TILE_LOAD(6, input + 2 * next);
            TILE_PRODUCTS(2, 6, 7);
            if (step >= END_DELAY && end.row < MATRIX_BLOCK) end_rows(&end, form);
            input = second + work->taps[1][tap];
            TILE_LOAD(6, input);
            TILE_PRODUCTS(3, 6, 7);
            TILE_LOAD(6, input + next);
            TILE_PRODUCTS(4, 6, 7);
            TILE_LOAD(6, input + 2 * next);
            TILE_PRODUCTS(5, 6, 7);
            if (is_short && step >= END_DELAY && end.row < MATRIX_BLOCK) end_rows(&end, form);
        }
    }
    complete_end(&end, form);
    const int tile = MATRIX_ROWS * MATRIX_ROWS;
    TILE_STORE(0, work->sums);
    TILE_STORE(1, work->sums + tile);
    TILE_STORE(2, work->sums + 2 * tile);
    TILE_STORE(3, work->sums + 3 * tile);
    TILE_STORE(4, work->sums + 4 * tile);
    TILE_STORE(5, work->sums + 5 * tile);
}

INLINE void matrix_form(const conv_matrix *work, const conv_matrix_end *before, const int form) {
    if (work) {
        matrix_body(work, before, form);
    } else {
        block_end end = begin_end(before);
        complete_end(&end, form);
    }
}

static void matrix(const conv_matrix *work, const conv_matrix_end *before) {
    switch (before ? before->form : MATRIX_FLOATS) {
    case MATRIX_FLOATS: matrix_form(work, before, MATRIX_FLOATS); break;
    case MATRIX_FLOATS_STREAMED: matrix_form(work, before, MATRIX_FLOATS_STREAMED); break;
    case MATRIX_RESIDUAL: matrix_form(work, before, MATRIX_RESIDUAL); break;
    case MATRIX_FIRST_HALF: matrix_form(work, before, MATRIX_FIRST_HALF); break;
    case MATRIX_SECOND_HALF: matrix_form(work, before, MATRIX_SECOND_HALF); break;
    default: matrix_form(work, before, MATRIX_SECOND_HALF_STREAMED); break;
    }
}
