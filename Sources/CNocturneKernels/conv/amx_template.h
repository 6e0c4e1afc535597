// The convolution on matrix tiles, written once in terms of four operations. The including file defines TILE_ZERO(t),
// TILE_LOAD(t, address, bytes between rows), TILE_PRODUCTS(sums, a, b) and TILE_STORE(t, address, bytes between rows),
// where t is a number from 0 to 7, and, as a clang pragma, the target attribute, which includes AVX-512.
//
// A tile has 16 rows of 64 bytes. Sixteen voxels of packed input, with a block of words each, are one tile in memory;
// so are 16 words of packed weights for 16 output channels. Up to 32 voxels times 32 output channels are four sums in
// tiles 0 to 3. Tiles are always full: rows beyond the existing voxels read whatever follows in scratch memory, and are
// not written.

enum { TILE_ROWS = 16 };

/// `rows` and `vectors`: the number of tiles of voxels and of output channels, 1 or 2.
static inline __attribute__((always_inline)) void matrix_body(
    const conv_tile *tile, ptrdiff_t second, float *sums, const int rows, const int vectors) {
    const ptrdiff_t row = CONV_BLOCK * sizeof(float), width = vectors * TILE_ROWS, weight_row = width * sizeof(float);
    const ptrdiff_t low = tile->input_low, part = CONV_BLOCK * width;
    TILE_ZERO(0);
    if (vectors == 2) TILE_ZERO(1);
    if (rows == 2) TILE_ZERO(2);
    if (rows == 2 && vectors == 2) TILE_ZERO(3);
    const float *weights = tile->weights;
    for (int block = 0; block < tile->block_count; block++) {
        const float *base = tile->input + block * tile->input_block;
        for (int tap = 0; tap < tile->tap_count; tap++) {
            const float *input = base + tile->taps[tap];
            TILE_LOAD(4, input, row);
            if (rows == 2) TILE_LOAD(5, input + second, row);
            // For split operands: high times low, high times high, low times high; low times low is below float32
            // precision.
            for (int step = low ? 0 : 1; step < (low ? 3 : 2); step++) {
                if (step < 2) {
                    const float *from = step == 0 ? weights + part : weights;
                    TILE_LOAD(6, from, weight_row);
                    if (vectors == 2) TILE_LOAD(7, from + TILE_ROWS, weight_row);
                } else {
                    TILE_LOAD(4, input + low, row);
                    if (rows == 2) TILE_LOAD(5, input + low + second, row);
                }
                TILE_PRODUCTS(0, 4, 6);
                if (vectors == 2) TILE_PRODUCTS(1, 4, 7);
                if (rows == 2) TILE_PRODUCTS(2, 5, 6);
                if (rows == 2 && vectors == 2) TILE_PRODUCTS(3, 5, 7);
            }
            weights += low ? 2 * part : part;
        }
    }
    TILE_STORE(0, sums, weight_row);
    if (vectors == 2) TILE_STORE(1, sums + TILE_ROWS, weight_row);
    if (rows == 2) TILE_STORE(2, sums + TILE_ROWS * width, weight_row);
    if (rows == 2 && vectors == 2) TILE_STORE(3, sums + TILE_ROWS * width + TILE_ROWS, weight_row);
}

static void matrix(const conv_tile *tile, int segments, int length, int vectors) {
    float sums[4 * TILE_ROWS * TILE_ROWS] __attribute__((aligned(64)));
    const ptrdiff_t second = segments == 2 ? tile->input_segment : TILE_ROWS * CONV_BLOCK;
    const bool both = segments == 2 || length > TILE_ROWS;
    if (vectors == 2) {
        if (both) matrix_body(tile, second, sums, 2, 2);
        else matrix_body(tile, second, sums, 1, 2);
    } else {
        if (both) matrix_body(tile, second, sums, 2, 1);
        else matrix_body(tile, second, sums, 1, 1);
    }
    for (int v = 0; v < vectors; v++) {
        const int channels = tile->channels - v * TILE_ROWS;
        const __mmask16 mask = channels >= TILE_ROWS ? 0xffff : channels <= 0 ? 0 : (__mmask16)((1u << channels) - 1);
        const __m512 bias = tile->bias ? _mm512_maskz_loadu_ps(mask, tile->bias + v * TILE_ROWS) : _mm512_setzero_ps();
        for (int s = 0; s < segments; s++) {
            const float *from = sums + (s * vectors * TILE_ROWS + v) * TILE_ROWS;
            float *to = tile->output + s * tile->output_segment + v * TILE_ROWS;
            for (int r = 0; r < length; r++) {
                const __m512 start = tile->bias ? bias : _mm512_maskz_loadu_ps(mask, to);
                _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(start, _mm512_load_ps(from)));
                from += vectors * TILE_ROWS;
                to += tile->output_step;
            }
        }
    }
}
