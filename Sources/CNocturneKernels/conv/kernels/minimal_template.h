// The transforms of minimal filtering, written once; included by template.h, using its macros and vector_* functions.
// run/minimal.c has the method and its sources. Layer 3, execution.

/// Transforms four values, `step` apart, to the points of two outputs, in place.
INLINE void minimal_input_2(VECTOR *d, const int step) {
    const VECTOR d1 = d[step], d2 = d[2 * step];
    d[0] = vector_subtract(d[0], d2);
    d[step] = vector_add(d1, d2);
    d[2 * step] = vector_subtract(d2, d1);
    d[3 * step] = vector_subtract(d1, d[3 * step]);
}

/// Transforms six values, `step` apart, to the points of four outputs, in place: 0, 3/4, -3/4, 3/2, -3/2, infinity.
INLINE void minimal_input_4(VECTOR *d, const int step) {
    const VECTOR a = vector_all(0.75f), aa = vector_all(0.5625f), b = vector_all(1.5f), bb = vector_all(2.25f);
    const VECTOR sum = vector_all(2.8125f), product = vector_all(1.265625f);
    const VECTOR d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step];
    const VECTOR p = vector_fnma(bb, d2, d4), q = vector_fnma(bb, d1, d3);
    const VECTOR r = vector_fnma(aa, d2, d4), s = vector_fnma(aa, d1, d3);
    d[0] = vector_fma(product, d[0], vector_fnma(sum, d2, d4));
    d[step] = vector_fma(a, q, p);
    d[2 * step] = vector_fnma(a, q, p);
    d[3 * step] = vector_fma(b, s, r);
    d[4 * step] = vector_fnma(b, s, r);
    d[5 * step] = vector_fma(product, d1, vector_fnma(sum, d3, d[5 * step]));
}

INLINE void minimal_output_2(VECTOR *m, const int step) {
    const VECTOR m1 = m[step], m2 = m[2 * step];
    m[0] = vector_add(vector_add(m[0], m1), m2);
    m[step] = vector_subtract(vector_subtract(m1, m2), m[3 * step]);
}

INLINE void minimal_output_4(VECTOR *m, const int step) {
    const VECTOR two = vector_all(2), four = vector_all(4), eight = vector_all(8);
    const VECTOR a = vector_all(0.75f), aa = vector_all(0.5625f), aaa = vector_all(0.421875f);
    const VECTOR even1 = vector_add(m[step], m[2 * step]), odd1 = vector_subtract(m[step], m[2 * step]);
    const VECTOR even2 = vector_add(m[3 * step], m[4 * step]), odd2 = vector_subtract(m[3 * step], m[4 * step]);
    m[0] = vector_add(vector_add(m[0], even1), even2);
    // The second pair of points is twice the first one.
    m[step] = vector_multiply(a, vector_fma(two, odd2, odd1));
    m[2 * step] = vector_multiply(aa, vector_fma(four, even2, even1));
    m[3 * step] = vector_fma(aaa, vector_fma(eight, odd2, odd1), m[5 * step]);
}

INLINE void minimal_input_axis(VECTOR *d, const int step, const int outputs) {
    if (outputs == 2) {
        minimal_input_2(d, step);
    } else {
        minimal_input_4(d, step);
    }
}

INLINE void minimal_output_axis(VECTOR *m, const int step, const int outputs) {
    if (outputs == 2) {
        minimal_output_2(m, step);
    } else {
        minimal_output_4(m, step);
    }
}

/// `rows`, `columns`: outputs of a tile, 2 or 4.
INLINE void minimal_input_body(const conv_minimal_input *work, const int rows, const int columns) {
    const int points_y = rows + 2, points_x = columns + 2;
    float *points = work->points;
    for (int ty = 0; ty < work->tiles_y; ty++) {
        const float *input = work->input + (ptrdiff_t)ty * rows * work->row;
        for (int tx = 0; tx < work->tiles_x; tx++) {
            for (int part = 0; part < CONV_BLOCK; part += LANES) {
                VECTOR d[LARGEST_POINTS];
                UNROLL for (int x = 0; x < points_x; x++) {
                    UNROLL for (int y = 0; y < points_y; y++) {
                        d[y * points_x + x] = vector_load(input + y * work->row + x * CONV_BLOCK + part);
                    }
                    minimal_input_axis(d + x, points_x, rows);
                }
                float *to = points + part / LANES * POINT_WORDS;
                UNROLL for (int y = 0; y < points_y; y++) {
                    minimal_input_axis(d + y * points_x, 1, columns);
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

INLINE void minimal_output_body(const conv_minimal_output *work, const int rows, const int columns) {
    const int points_y = rows + 2, points_x = columns + 2;
    for (int part = 0; part < work->channels; part += LANES) {
        const VECTOR_MASK mask = vector_mask(work->channels - part);
        const VECTOR bias = vector_load(work->bias + part);
        const float *points = work->points + part;
        float *output = work->output + part;
        for (int left = work->columns; left > 0; left -= columns) {
            VECTOR m[LARGEST_POINTS];
            const float *from = points;
            UNROLL for (int y = 0; y < points_y; y++) {
                UNROLL for (int x = 0; x < points_x; x++) {
                    m[y * points_x + x] = vector_load(from);
                    from += work->point;
                }
                minimal_output_axis(m + y * points_x, 1, columns);
            }
            UNROLL for (int x = 0; x < columns; x++) minimal_output_axis(m + x, points_x, rows);
            UNROLL for (int y = 0; y < rows; y++) {
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

#define MINIMAL_TILE(rows, columns)                                                     \
    static void minimal_input_##rows##_##columns(const conv_minimal_input *work) {      \
        minimal_input_body(work, rows, columns);                                        \
    }                                                                                   \
    static void minimal_output_##rows##_##columns(const conv_minimal_output *work) {    \
        minimal_output_body(work, rows, columns);                                       \
    }

MINIMAL_TILE(2, 2)
MINIMAL_TILE(2, 4)
MINIMAL_TILE(4, 4)
