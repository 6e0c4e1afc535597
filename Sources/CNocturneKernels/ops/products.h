/* The tile of a matrix product, for one instruction set. Included with these defined:
   LANES: floats of a vector. ROWS: rows of the largest tile. TARGET: the attribute of functions. NAME(x): names.
   VECTOR, LOAD, STORE, SPREAD, MULTIPLY_ADD, MULTIPLY, ADD, ZERO: the vector type and its operations. */

/* c[0..<rows][0..<2 * LANES] = (first ? 0 : c) + alpha * (a panel), where row i of a starts at a + i * row and its next
   element is `step` further. */
TARGET static inline __attribute__((always_inline)) void NAME(tile_of)(
    const int rows, size_t depth, const float *a, size_t row, size_t step, const float *panel, float alpha, int first,
    float *c, size_t c_row) {
    VECTOR sums[ROWS][2];
    for (int i = 0; i < rows; i++) sums[i][0] = sums[i][1] = ZERO();
    for (size_t k = 0; k < depth; k++) {
        const VECTOR left = LOAD(panel + k * 2 * LANES), right = LOAD(panel + k * 2 * LANES + LANES);
        const float *from = a + k * step;
#pragma clang loop unroll(full)
        for (int i = 0; i < rows; i++) {
            const VECTOR x = SPREAD(from[(size_t)i * row]);
            sums[i][0] = MULTIPLY_ADD(x, left, sums[i][0]);
            sums[i][1] = MULTIPLY_ADD(x, right, sums[i][1]);
        }
    }
    const VECTOR factor = SPREAD(alpha);
    for (int i = 0; i < rows; i++) {
        for (int h = 0; h < 2; h++) {
            float *to = c + (size_t)i * c_row + h * LANES;
            const VECTOR scaled = MULTIPLY(sums[i][h], factor);
            STORE(to, first ? scaled : ADD(LOAD(to), scaled));
        }
    }
}

TARGET static void NAME(tile)(
    size_t rows, size_t depth, const float *a, size_t row, size_t step, const float *panel, float alpha, int first,
    float *c, size_t c_row) {
    switch (rows) {
        case ROWS: NAME(tile_of)(ROWS, depth, a, row, step, panel, alpha, first, c, c_row); break;
        case 4: NAME(tile_of)(4, depth, a, row, step, panel, alpha, first, c, c_row); break;
        case 2: NAME(tile_of)(2, depth, a, row, step, panel, alpha, first, c, c_row); break;
        default: NAME(tile_of)(1, depth, a, row, step, panel, alpha, first, c, c_row); break;
    }
}

TARGET static void NAME(product)(const product *p) {
    enum { WIDTH = 2 * LANES };
    /* A block of the right operand, [k][column]. It stays in the first-level cache. */
    _Alignas(64) float panel[PANEL_DEPTH * WIDTH];
    _Alignas(64) float edge[ROWS * WIDTH];
    for (size_t j = 0; j < p->n; j += WIDTH) {
        const size_t columns = p->n - j < WIDTH ? p->n - j : WIDTH;
        for (size_t k = 0; k < p->k; k += PANEL_DEPTH) {
            const int is_first = k == 0 && !p->adds;
            const size_t depth = p->k - k < PANEL_DEPTH ? p->k - k : PANEL_DEPTH;
            pack(panel, p, p->b + k * p->b_row + j * p->b_column, depth, columns, WIDTH);
            for (size_t i = 0; i < p->m;) {
                const size_t left = p->m - i;
                const size_t rows = left >= ROWS ? ROWS : left >= 4 ? 4 : left >= 2 ? 2 : 1;
                const float *a = p->a + i * p->a_row + k * p->a_column;
                float *c = p->c + i * p->c_row + j;
                if (columns == WIDTH) {
                    NAME(tile)(rows, depth, a, p->a_row, p->a_column, panel, p->alpha, is_first, c, p->c_row);
                } else {
                    NAME(tile)(rows, depth, a, p->a_row, p->a_column, panel, p->alpha, 1, edge, WIDTH);
                    for (size_t r = 0; r < rows; r++) {
                        for (size_t x = 0; x < columns; x++) {
                            float *to = c + r * p->c_row + x;
                            *to = (is_first ? 0 : *to) + edge[r * WIDTH + x];
                        }
                    }
                }
                i += rows;
            }
        }
    }
}

#undef LANES
#undef ROWS
#undef TARGET
#undef NAME
#undef VECTOR
#undef LOAD
#undef STORE
#undef SPREAD
#undef MULTIPLY_ADD
#undef MULTIPLY
#undef ADD
#undef ZERO
