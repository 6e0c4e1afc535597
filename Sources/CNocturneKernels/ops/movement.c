/* Data movement: strided copies, tables of offsets, transposition. */
#include "nk_ops.h"
#include "internal.h"

#include <string.h>

void nk_move(
    int32_t rank, const size_t *dims, const float *src, const ptrdiff_t *src_strides, const ptrdiff_t *const *tables,
    float *dst, const ptrdiff_t *dst_strides, float fill, size_t begin, size_t end) {
    size_t index[NK_MAX_RANK];
    size_t rest = begin;
    for (int32_t axis = rank - 1; axis >= 0; axis--) {
        index[axis] = rest % dims[axis];
        rest /= dims[axis];
    }
    const int32_t last = rank - 1;
    const ptrdiff_t *table = tables[last];
    const ptrdiff_t src_step = src_strides[last], dst_step = dst_strides[last];
    while (begin < end) {
        const float *from = src;
        float *to = dst;
        int outside = 0;
        for (int32_t axis = 0; axis < rank; axis++) {
            to += (ptrdiff_t)index[axis] * dst_strides[axis];
            if (axis == last) break;
            if (tables[axis]) {
                ptrdiff_t offset = tables[axis][index[axis]];
                if (offset < 0) outside = 1;
                from += offset;
            } else {
                from += (ptrdiff_t)index[axis] * src_strides[axis];
            }
        }
        size_t run = dims[last] - index[last];
        if (run > end - begin) run = end - begin;
        if (outside) {
            for (size_t i = 0; i < run; i++) to[(ptrdiff_t)i * dst_step] = fill;
        } else if (table) {
            const ptrdiff_t *places = table + index[last];
            for (size_t i = 0; i < run; i++) {
                to[(ptrdiff_t)i * dst_step] = places[i] < 0 ? fill : from[places[i]];
            }
        } else {
            from += (ptrdiff_t)index[last] * src_step;
            if (src_step == 1 && dst_step == 1) {
                memcpy(to, from, run * sizeof(float));
            } else {
                for (size_t i = 0; i < run; i++) to[(ptrdiff_t)i * dst_step] = from[(ptrdiff_t)i * src_step];
            }
        }
        begin += run;
        index[last] = 0;
        for (int32_t axis = last - 1; axis >= 0; axis--) {
            if (++index[axis] < dims[axis]) break;
            index[axis] = 0;
        }
    }
}

void nk_transpose(const float *in, float *out, size_t rows, size_t columns, size_t begin, size_t end) {
    const size_t block = 16;
    for (size_t r0 = begin; r0 < end; r0 += block) {
        size_t r1 = r0 + block < end ? r0 + block : end;
        for (size_t c0 = 0; c0 < columns; c0 += block) {
            size_t c1 = c0 + block < columns ? c0 + block : columns;
            for (size_t c = c0; c < c1; c++) {
                for (size_t r = r0; r < r1; r++) out[c * rows + r] = in[r * columns + c];
            }
        }
    }
}
