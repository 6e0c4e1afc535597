// The vector kernels, written once. The including file defines, for its instruction set:
// VECTOR, LANES, LONGEST, and vector_* functions; and the target attribute as a clang pragma.
// vector_products(x, w, sum) adds what the words of x and w make together: one product, or those of a pair.
// vector_store_points stores points in the form of the words; points of LANES channels are POINT_WORDS apart.

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")

/// One word of input for the whole tile.
INLINE void tile_step(
    VECTOR *sums, const float *input, ptrdiff_t segment, const float *weights, const int segments, const int length,
    const int distance, const int vectors) {
    VECTOR w[2];
    UNROLL for (int v = 0; v < vectors; v++) w[v] = vector_load(weights + v * LANES);
    UNROLL for (int s = 0; s < segments; s++) {
        UNROLL for (int r = 0; r < length; r++) {
            const VECTOR x = vector_broadcast(input + s * segment + r * distance);
            UNROLL for (int v = 0; v < vectors; v++) {
                const int i = (s * length + r) * vectors + v;
                sums[i] = vector_products(x, w[v], sums[i]);
            }
        }
    }
}

INLINE void tile_body(
    const conv_tile *tile, const int segments, const int length, const int distance, const int vectors) {
    VECTOR sums[LONGEST * 2];
    VECTOR_MASK masks[2];
    UNROLL for (int v = 0; v < vectors; v++) masks[v] = vector_mask(tile->channels - v * LANES);

    if (tile->bias) {
        UNROLL for (int i = 0; i < segments * length; i++) {
            UNROLL for (int v = 0; v < vectors; v++) sums[i * vectors + v] = vector_load(tile->bias + v * LANES);
        }
    } else {
        UNROLL for (int s = 0; s < segments; s++) {
            UNROLL for (int r = 0; r < length; r++) {
                const float *from = tile->output + s * tile->output_segment + r * tile->output_step;
                UNROLL for (int v = 0; v < vectors; v++) {
                    sums[(s * length + r) * vectors + v] = vector_load_some(from + v * LANES, masks[v]);
                }
            }
        }
    }

    const float *weights = tile->weights;
    const ptrdiff_t segment = tile->input_segment;
    for (int block = 0; block < tile->block_count; block++) {
        const float *base = tile->input + block * tile->input_block;
        const int words = block + 1 == tile->block_count ? tile->last_words : distance;
        for (int tap = 0; tap < tile->tap_count; tap++) {
            const float *input = base + tile->taps[tap];
            int left = words;
            if (distance >= 4) {
                for (; left >= 4; left -= 4) {
                    UNROLL for (int c = 0; c < 4; c++) {
                        const float *w = weights + c * vectors * LANES;
                        tile_step(sums, input + c, segment, w, segments, length, distance, vectors);
                    }
                    input += 4;
                    weights += 4 * vectors * LANES;
                }
            }
            for (; left > 0; left--) {
                tile_step(sums, input, segment, weights, segments, length, distance, vectors);
                input += 1;
                weights += vectors * LANES;
            }
        }
    }

    UNROLL for (int s = 0; s < segments; s++) {
        UNROLL for (int r = 0; r < length; r++) {
            float *to = tile->output + s * tile->output_segment + r * tile->output_step;
            UNROLL for (int v = 0; v < vectors; v++) {
                vector_store_some(to + v * LANES, masks[v], sums[(s * length + r) * vectors + v]);
            }
        }
    }
}

#define TILE_NAME(segments, length, distance, vectors) tile_##segments##_##length##_##distance##_##vectors
#define TILE(segments, length, distance, vectors)                                          \
    static void TILE_NAME(segments, length, distance, vectors)(const conv_tile *tile) {    \
        tile_body(tile, segments, length, distance, vectors);                              \
    }

INLINE void depthwise_body(const conv_tile *tile, const int length) {
    for (int part = 0; part * LANES < tile->channels; part++) {
        VECTOR sums[8];
        const VECTOR_MASK mask = vector_mask(tile->channels - part * LANES);
        UNROLL for (int r = 0; r < length; r++) sums[r] = vector_load(tile->bias + part * LANES);
        const float *weights = tile->weights + part * LANES;
        for (int tap = 0; tap < tile->tap_count; tap++) {
            const float *input = tile->input + tile->taps[tap] + part * LANES;
            const VECTOR w = vector_load(weights);
            UNROLL for (int r = 0; r < length; r++) {
                sums[r] = vector_fma(vector_load(input + r * CONV_BLOCK), w, sums[r]);
            }
            weights += CONV_BLOCK;
        }
        UNROLL for (int r = 0; r < length; r++) {
            vector_store_some(tile->output + r * tile->output_step + part * LANES, mask, sums[r]);
        }
    }
}

static void depthwise(const conv_tile *first, int length) {
    conv_tile tile = *first;
    for (; length >= 8; length -= 8) {
        depthwise_body(&tile, 8);
        tile.input += 8 * CONV_BLOCK;
        tile.output += 8 * tile.output_step;
    }
    if (length & 4) {
        depthwise_body(&tile, 4);
        tile.input += 4 * CONV_BLOCK;
        tile.output += 4 * tile.output_step;
    }
    for (length &= 3; length > 0; length--) {
        depthwise_body(&tile, 1);
        tile.input += CONV_BLOCK;
        tile.output += tile.output_step;
    }
}

static void finish(const conv_finish *work) {
    const VECTOR slope = vector_broadcast(&work->slope);
    for (int first = 0; first < work->channels; first += LANES) {
        const VECTOR_MASK mask = vector_mask(work->channels - first);
        VECTOR_SUMS sums = vector_sums_zero();
        for (int s = 0; s < work->segments; s++) {
            const ptrdiff_t offset = s * work->output_segment + first;
            for (int r = 0; r < work->length; r++) {
                const ptrdiff_t at = offset + r * work->output_step;
                VECTOR y = vector_load_some(work->output + at, mask);
                if (work->residual) y = vector_add(y, vector_load_some(work->residual + at, mask));
                if (work->slope != 1) y = vector_leak(y, slope);
                if (work->residual || work->slope != 1) vector_store_some(work->output + at, mask, y);
                if (work->sums) vector_sums_add(&sums, y);
            }
        }
        if (work->sums) vector_sums_store(&sums, work->sums + first, work->squares + first);
    }
}

static void pack(const conv_strip *strip) {
    const VECTOR slope = vector_broadcast(&strip->slope);
    const ptrdiff_t ahead = strip->source_ahead;
    const bool rounds = strip->rounds;
    for (int first = 0; first < strip->channels; first += LANES) {
        const VECTOR_MASK mask = vector_mask(strip->channels - first);
        const float *source = strip->source + first;
        float *target = (float *)strip->target + first;
        if (strip->scale) {
            const VECTOR scale = vector_load_some(strip->scale + first, mask);
            const VECTOR shift = vector_load_some(strip->shift + first, mask);
            for (int i = 0; i < strip->count; i++) {
                __builtin_prefetch(source + ahead);
                const VECTOR y = vector_leak(vector_fma(vector_load_some(source, mask), scale, shift), slope);
                vector_store_some(target, mask, rounds ? vector_round(y) : y);
                source += strip->source_step;
                target += strip->target_step;
            }
        } else if (strip->slope != 1) {
            for (int i = 0; i < strip->count; i++) {
                __builtin_prefetch(source + ahead);
                const VECTOR y = vector_leak(vector_load_some(source, mask), slope);
                vector_store_some(target, mask, rounds ? vector_round(y) : y);
                source += strip->source_step;
                target += strip->target_step;
            }
        } else {
            for (int i = 0; i < strip->count; i++) {
                __builtin_prefetch(source + ahead);
                const VECTOR y = vector_load_some(source, mask);
                vector_store_some(target, mask, rounds ? vector_round(y) : y);
                source += strip->source_step;
                target += strip->target_step;
            }
        }
    }
}

// MARK: Minimal filtering

/// From four values, `step` apart, to the points of two outputs, in place.
INLINE void minimal_input_2(VECTOR *d, const int step) {
    const VECTOR d1 = d[step], d2 = d[2 * step];
    d[0] = vector_subtract(d[0], d2);
    d[step] = vector_add(d1, d2);
    d[2 * step] = vector_subtract(d2, d1);
    d[3 * step] = vector_subtract(d1, d[3 * step]);
}

/// From six values to the points of four outputs, in place.
INLINE void minimal_input_4(VECTOR *d) {
    const VECTOR two = vector_all(2), four = vector_all(4), five = vector_all(5);
    const VECTOR d1 = d[1], d2 = d[2], d3 = d[3], d4 = d[4];
    const VECTOR p = vector_fnma(four, d2, d4), q = vector_fnma(four, d1, d3);
    const VECTOR r = vector_subtract(d4, d2), s = vector_subtract(d3, d1);
    d[0] = vector_fma(four, d[0], vector_fnma(five, d2, d4));
    d[1] = vector_add(p, q);
    d[2] = vector_subtract(p, q);
    d[3] = vector_fma(two, s, r);
    d[4] = vector_fnma(two, s, r);
    d[5] = vector_fma(four, d1, vector_fnma(five, d3, d[5]));
}

INLINE void minimal_output_2(VECTOR *m, const int step) {
    const VECTOR m1 = m[step], m2 = m[2 * step];
    m[0] = vector_add(vector_add(m[0], m1), m2);
    m[step] = vector_subtract(vector_subtract(m1, m2), m[3 * step]);
}

INLINE void minimal_output_4(VECTOR *m) {
    const VECTOR two = vector_all(2), four = vector_all(4), eight = vector_all(8);
    const VECTOR a = vector_add(m[1], m[2]), b = vector_subtract(m[1], m[2]);
    const VECTOR c = vector_add(m[3], m[4]), d = vector_subtract(m[3], m[4]);
    m[0] = vector_add(vector_add(m[0], a), c);
    m[1] = vector_fma(two, d, b);
    m[2] = vector_fma(four, c, a);
    m[3] = vector_add(vector_fma(eight, d, b), m[5]);
}

/// `columns`: outputs of a tile along x, 2 or 4.
INLINE void minimal_input_body(const conv_minimal_input *work, const int columns) {
    const int points_x = columns + 2;
    float *points = work->points;
    for (int ty = 0; ty < work->tiles_y; ty++) {
        const float *input = work->input + (ptrdiff_t)ty * MINIMAL_Y * work->row;
        for (int tx = 0; tx < work->tiles_x; tx++) {
            for (int part = 0; part < CONV_BLOCK; part += LANES) {
                VECTOR d[LARGEST_POINTS];
                UNROLL for (int x = 0; x < points_x; x++) {
                    UNROLL for (int y = 0; y < POINTS_Y; y++) {
                        d[y * points_x + x] = vector_load(input + y * work->row + x * CONV_BLOCK + part);
                    }
                    minimal_input_2(d + x, points_x);
                }
                float *to = points + part / LANES * POINT_WORDS;
                UNROLL for (int y = 0; y < POINTS_Y; y++) {
                    if (columns == 2) {
                        minimal_input_2(d + y * points_x, 1);
                    } else {
                        minimal_input_4(d + y * points_x);
                    }
                    UNROLL for (int x = 0; x < points_x; x++) {
                        vector_store_points(to, d[y * points_x + x]);
                        to += work->point;
                    }
                }
            }
            input += columns * CONV_BLOCK;
            points += CONV_BLOCK;
        }
    }
}

static void minimal_input_by_2(const conv_minimal_input *work) { minimal_input_body(work, 2); }
static void minimal_input_by_4(const conv_minimal_input *work) { minimal_input_body(work, 4); }

INLINE void minimal_output_body(const conv_minimal_output *work, const int columns) {
    const int points_x = columns + 2;
    for (int part = 0; part < work->channels; part += LANES) {
        const VECTOR_MASK mask = vector_mask(work->channels - part);
        const VECTOR bias = vector_load(work->bias + part);
        const float *points = work->points + part;
        float *output = work->output + part;
        for (int left = work->columns; left > 0; left -= columns) {
            VECTOR m[LARGEST_POINTS];
            const float *from = points;
            UNROLL for (int y = 0; y < POINTS_Y; y++) {
                UNROLL for (int x = 0; x < points_x; x++) {
                    m[y * points_x + x] = vector_load(from);
                    from += work->point;
                }
                if (columns == 2) {
                    minimal_output_2(m + y * points_x, 1);
                } else {
                    minimal_output_4(m + y * points_x);
                }
            }
            UNROLL for (int x = 0; x < columns; x++) minimal_output_2(m + x, points_x);
            UNROLL for (int y = 0; y < MINIMAL_Y; y++) {
                if (y >= work->rows) continue;
                UNROLL for (int x = 0; x < columns; x++) {
                    if (x >= left) continue;
                    float *to = output + y * work->output_row + x * work->output_step;
                    vector_store_some(to, mask, vector_add(m[y * points_x + x], bias));
                }
            }
            points += work->width;
            output += columns * work->output_step;
        }
    }
}

static void minimal_output_by_2(const conv_minimal_output *work) { minimal_output_body(work, 2); }
static void minimal_output_by_4(const conv_minimal_output *work) { minimal_output_body(work, 4); }
