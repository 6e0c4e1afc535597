// The vector kernels, written once. The including file defines, for its instruction set:
// VECTOR, LANES, LONGEST, DEPTHWISE_PAIRS (voxels of a tile of two rows of a depthwise layer), and vector_* functions;
// and the target attribute as a clang pragma.
// vector_products(x, w, sum) adds the product of the words of x and w, or the two products of pairs.
// vector_store_points stores points in the format of the words; points of LANES channels are POINT_WORDS apart.
// ROW, ROWS and HALVES are its lists of tiles (below).
// Layer 3, execution.

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")

/// What is known of a register tile when it is compiled: `segments` rows of `length` voxels, which are `distance` words
/// apart in the input, times `vectors` vectors of output channels. `sets`: 1, or 2 for separate sums of the even and of the
/// odd words, which are added at the end: shorter sums err less.
typedef struct tile_shape {
    int segments, length, distance, vectors, sets;
} tile_shape;

/// Processes one word of input for the whole tile; `segment`: words between its rows.
INLINE void tile_step(
    VECTOR *sums, const float *input, ptrdiff_t segment, const float *weights, const tile_shape shape) {
    VECTOR w[2];
    UNROLL for (int v = 0; v < shape.vectors; v++) w[v] = vector_load(weights + v * LANES);
    UNROLL for (int s = 0; s < shape.segments; s++) {
        UNROLL for (int r = 0; r < shape.length; r++) {
            const VECTOR x = vector_broadcast(input + s * segment + r * shape.distance);
            UNROLL for (int v = 0; v < shape.vectors; v++) {
                const int i = (s * shape.length + r) * shape.vectors + v;
                sums[i] = vector_products(x, w[v], sums[i]);
            }
        }
    }
}

/// The position of a voxel of a tile in the output.
INLINE float *tile_output(const conv_tile *tile, const int segment, const int voxel) {
    return tile->output + segment * tile->output_segment + voxel * tile->output_step;
}

/// Sets the sums of a tile to the bias, or to what the output contains.
INLINE void tile_start(const conv_tile *tile, VECTOR *sums, const VECTOR_MASK *masks, const tile_shape shape) {
    const int vectors = shape.vectors;
    if (tile->bias) {
        UNROLL for (int i = 0; i < shape.segments * shape.length; i++) {
            UNROLL for (int v = 0; v < vectors; v++) sums[i * vectors + v] = vector_load(tile->bias + v * LANES);
        }
    } else {
        UNROLL for (int s = 0; s < shape.segments; s++) {
            UNROLL for (int r = 0; r < shape.length; r++) {
                const float *from = tile_output(tile, s, r);
                UNROLL for (int v = 0; v < vectors; v++) {
                    sums[(s * shape.length + r) * vectors + v] = vector_load_some(from + v * LANES, masks[v]);
                }
            }
        }
    }
}

INLINE void tile_store(const conv_tile *tile, const VECTOR *sums, const VECTOR_MASK *masks, const tile_shape shape) {
    UNROLL for (int s = 0; s < shape.segments; s++) {
        UNROLL for (int r = 0; r < shape.length; r++) {
            float *to = tile_output(tile, s, r);
            UNROLL for (int v = 0; v < shape.vectors; v++) {
                vector_store_some(to + v * LANES, masks[v], sums[(s * shape.length + r) * shape.vectors + v]);
            }
        }
    }
}

INLINE void tile_body(const conv_tile *tile, const tile_shape shape) {
    const int vectors = shape.vectors, set = shape.segments * shape.length * vectors;
    VECTOR sums[LONGEST * 2];
    VECTOR_MASK masks[2];
    UNROLL for (int v = 0; v < vectors; v++) masks[v] = vector_mask(tile->channels - v * LANES);
    tile_start(tile, sums, masks, shape);
    if (shape.sets == 2) {
        UNROLL for (int i = 0; i < set; i++) sums[set + i] = vector_all(0);
    }

    const float *weights = tile->weights;
    const ptrdiff_t segment = tile->input_segment, ahead = tile->weights_ahead;
    for (int block = 0; block < tile->block_count; block++) {
        const float *base = tile->input + block * tile->input_block;
        const int words = block + 1 == tile->block_count ? tile->last_words : shape.distance;
        for (int tap = 0; tap < tile->tap_count; tap++) {
            const float *input = base + tile->taps[tap];
            int left = words;
            if (shape.distance >= 4) {
                for (; left >= 4; left -= 4) {
                    UNROLL for (int i = 0; i < 4 * vectors * LANES; i += CONV_BLOCK) {
                        __builtin_prefetch(weights + ahead + i);
                    }
                    UNROLL for (int c = 0; c < 4; c++) {
                        const float *w = weights + c * vectors * LANES;
                        tile_step(sums + c % shape.sets * set, input + c, segment, w, shape);
                    }
                    input += 4;
                    weights += 4 * vectors * LANES;
                }
            }
            for (; left > 0; left--) {
                tile_step(sums, input, segment, weights, shape);
                input += 1;
                weights += vectors * LANES;
            }
        }
    }

    if (shape.sets == 2) {
        UNROLL for (int i = 0; i < set; i++) sums[i] = vector_add(sums[i], sums[set + i]);
    }
    tile_store(tile, sums, masks, shape);
}

#define TILE_NAME(segments, length, distance, vectors) tile_##segments##_##length##_##distance##_##vectors
#define TILE(segments, length, distance, vectors)                                          \
    static void TILE_NAME(segments, length, distance, vectors)(const conv_tile *tile) {    \
        tile_body(tile, (tile_shape){segments, length, distance, vectors, 1});             \
    }

#define TILE_OF_TWO_SETS(length, vectors)                                                  \
    static void tile_of_two_sets_##length##_##vectors(const conv_tile *tile) {             \
        tile_body(tile, (tile_shape){1, length, CONV_BLOCK, vectors, 2});                  \
    }

/// The entries of these tiles in the tables of conv_kernels. The tiles of an instruction set are lists, macros that apply X
/// to each: ROW(X, distance, vectors) those of one row, ROWS(X, vectors) those of several short rows at once, and
/// HALVES(X, vectors) the lengths of those with two sets of sums.
#define TILE_ENTRY(segments, length, distance, vectors) \
    [segments - 1][length - 1] = TILE_NAME(segments, length, distance, vectors),
#define ENTRY_OF_TWO_SETS(length, vectors) [length - 1] = tile_of_two_sets_##length##_##vectors,

/// Tiles for whole blocks of words.
#define TILES_OF_BLOCKS ROW(TILE, 16, 1) ROW(TILE, 16, 2) ROWS(TILE, 1) ROWS(TILE, 2)
#define ENTRIES_OF_BLOCKS                                                                  \
    {{ROW(TILE_ENTRY, 16, 1) ROWS(TILE_ENTRY, 1)}, {ROW(TILE_ENTRY, 16, 2) ROWS(TILE_ENTRY, 2)}}

/// Adds the products of one tap of a depthwise layer to the sums of the first row, of the second one, or of both, which
/// then have different taps in common input.
INLINE void depthwise_step(
    VECTOR *sums, const float *input, const float *first, const float *second, const int length) {
    VECTOR w[2];
    if (first) w[0] = vector_load(first);
    if (second) w[1] = vector_load(second);
    UNROLL for (int r = 0; r < length; r++) {
        const VECTOR x = vector_load(input + r * CONV_BLOCK);
        if (first) sums[r] = vector_fma(x, w[0], sums[r]);
        if (second) sums[length + r] = vector_fma(x, w[1], sums[length + r]);
    }
}

/// The sums of two adjacent rows over one plane of the kernel. Each row of input is read once; the first one has taps
/// of the first row of output alone, the last one those of the second.
INLINE void depthwise_plane(
    const conv_tile *tile, VECTOR *sums, const ptrdiff_t *taps, const float *weights, const float *input,
    const int length) {
    const int row = tile->row_taps, plane = tile->plane_taps;
    for (int t = 0; t < row; t++) {
        depthwise_step(sums, input + taps[t], weights + t * CONV_BLOCK, NULL, length);
    }
    for (int t = row; t < plane; t++) {
        const float *first = weights + t * CONV_BLOCK;
        depthwise_step(sums, input + taps[t], first, first - row * CONV_BLOCK, length);
    }
    for (int t = plane - row; t < plane; t++) {
        depthwise_step(sums, input + tile->input_segment + taps[t], NULL, weights + t * CONV_BLOCK, length);
    }
}

INLINE void depthwise_body(const conv_tile *tile, const int segments, const int length) {
    for (int part = 0; part * LANES < tile->channels; part++) {
        VECTOR sums[2 * LONGEST];
        const VECTOR_MASK mask = vector_mask(tile->channels - part * LANES);
        UNROLL for (int r = 0; r < segments * length; r++) sums[r] = vector_load(tile->bias + part * LANES);
        const float *weights = tile->weights + part * LANES, *input = tile->input + part * LANES;
        if (segments == 2) {
            for (int tap = 0; tap < tile->tap_count; tap += tile->plane_taps) {
                depthwise_plane(tile, sums, tile->taps + tap, weights + tap * CONV_BLOCK, input, length);
            }
        } else {
            for (int tap = 0; tap < tile->tap_count; tap++) {
                depthwise_step(sums, input + tile->taps[tap], weights + tap * CONV_BLOCK, NULL, length);
            }
        }
        UNROLL for (int s = 0; s < segments; s++) {
            UNROLL for (int r = 0; r < length; r++) {
                float *to = tile->output + s * tile->output_segment + r * tile->output_step + part * LANES;
                vector_store_some(to, mask, sums[s * length + r]);
            }
        }
    }
}

/// Computes rows in tiles of `tile_length` voxels. The last tile ends with the row, so that it is as long as the
/// others; what it shares with the one before is computed twice, with the same result.
INLINE void depthwise_tiles(const conv_tile *first, const int segments, int length, const int tile_length) {
    conv_tile tile = *first;
    for (int x = 0; x < length; x += tile_length) {
        const int from = x + tile_length > length ? length - tile_length : x;
        tile.input = first->input + (ptrdiff_t)from * CONV_BLOCK;
        tile.output = first->output + from * tile.output_step;
        depthwise_body(&tile, segments, tile_length);
    }
}

static void depthwise(const conv_tile *tile, int segments, int length) {
    if (segments == 2 && length >= DEPTHWISE_PAIRS) {
        depthwise_tiles(tile, 2, length, DEPTHWISE_PAIRS);
    } else if (segments == 2 && length >= 6) {
        depthwise_tiles(tile, 2, length, 6);
    } else if (segments == 2 && length >= 3) {
        depthwise_tiles(tile, 2, length, 3);
    } else if (segments == 2) {
        depthwise_tiles(tile, 2, length, 1);
    } else if (length >= 8) {
        depthwise_tiles(tile, 1, length, 8);
    } else if (length >= 4) {
        depthwise_tiles(tile, 1, length, 4);
    } else {
        depthwise_tiles(tile, 1, length, 1);
    }
}

static void finish(const conv_finish *work) {
    const VECTOR slope = vector_broadcast(&work->slope);
    const float *values = work->values;
    for (int first = 0; first < work->channels; first += LANES) {
        const VECTOR_MASK mask = vector_mask(work->channels - first);
        VECTOR_SUMS sums = vector_sums_zero();
        for (int s = 0; s < work->segments; s++) {
            const ptrdiff_t offset = s * work->output_segment + first;
            for (int r = 0; r < work->length; r++) {
                const ptrdiff_t at = offset + r * work->output_step;
                const float *from =
                    values ? values + (ptrdiff_t)(s * work->length + r) * work->width + first : work->output + at;
                VECTOR y = vector_load_some(from, mask);
                if (work->residual) y = vector_add(y, vector_load_some(work->residual + at, mask));
                if (work->slope != 1) y = vector_leak(y, slope);
                if (values) {
                    vector_stream(work->output + at, y);
                } else if (work->residual || work->slope != 1) {
                    vector_store_some(work->output + at, mask, y);
                }
                if (work->sums) vector_sums_add(&sums, y);
            }
        }
        if (work->sums) vector_sums_store(&sums, work->sums + first, work->squares + first);
    }
}

static void fence(void) { vector_fence(); }

static void fold(const conv_fold *work) {
    const ptrdiff_t width = work->width, tap_step = work->tap_step * width + work->channels;
    for (int first = 0; first < work->channels; first += LANES) {
        const VECTOR_MASK mask = vector_mask(work->channels - first);
        const VECTOR bias = vector_load(work->bias + first);
        const float *products = work->products + first;
        float *output = work->output + first;
        for (int x = 0; x < work->length; x++) {
            VECTOR sum = bias;
            for (int k = 0; k < work->taps; k++) sum = vector_add(sum, vector_load(products + k * tap_step));
            vector_store_some(output, mask, sum);
            products += width;
            output += work->output_step;
        }
    }
}

/// Packs up to a vector of channels, from `first` on. `scales`, `leaks`: whether scale and slope are applied.
INLINE void pack_channels(const conv_strip *strip, const int first, const int scales, const int leaks) {
    const VECTOR slope = vector_broadcast(&strip->slope);
    const ptrdiff_t read_ahead = strip->source_ahead;
    const bool rounds = strip->rounds;
    const VECTOR_MASK mask = vector_mask(strip->channels - first);
    const float *source = (const float *)strip->source + first;
    float *target = (float *)strip->target + first;
    const VECTOR scale = scales ? vector_load_some(strip->scale + first, mask) : slope;
    const VECTOR shift = scales ? vector_load_some(strip->shift + first, mask) : slope;
    for (int i = 0; i < strip->count; i++) {
        __builtin_prefetch(source + read_ahead);
        VECTOR y = vector_load_some(source, mask);
        if (scales) y = vector_fma(y, scale, shift);
        if (leaks) y = vector_leak(y, slope);
        vector_store_some(target, mask, rounds ? vector_round(y) : y);
        source += strip->source_step;
        target += strip->target_step;
    }
}

static void pack(const conv_strip *strip) {
    for (int first = 0; first < strip->channels; first += LANES) {
        if (strip->scale) {
            pack_channels(strip, first, 1, 1);
        } else if (strip->slope != 1) {
            pack_channels(strip, first, 0, 1);
        } else {
            pack_channels(strip, first, 0, 0);
        }
    }
}

#include "minimal_template.h"

TILES_OF_BLOCKS

/// The kernels that every instruction set has.
#define COMMON_KERNELS                                                                     \
    .depthwise = depthwise, .fold = fold, .finish = finish, .fence = fence, .pack = pack,   \
    .minimal_input = {minimal_input_2_2, minimal_input_2_4, minimal_input_4_4},            \
    .minimal_output = {minimal_output_2_2, minimal_output_2_4, minimal_output_4_4}
