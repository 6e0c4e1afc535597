// The transforms of minimal filtering, written once; included by template.h, using its macros and vector_* functions.

/// Transforms four values, `step` apart, to the points of two outputs, in place.
INLINE void minimal_input_2(VECTOR *d, const int step) {
    const VECTOR d1 = d[step], d2 = d[2 * step];
    d[0] = vector_subtract(d[0], d2);
    d[step] = vector_add(d1, d2);
    d[2 * step] = vector_subtract(d2, d1);
    d[3 * step] = vector_subtract(d1, d[3 * step]);
}

/// Transforms six values to the points of four outputs, in place.
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
