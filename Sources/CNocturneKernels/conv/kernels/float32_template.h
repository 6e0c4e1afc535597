// What kernels of float32 products have besides those of template.h, written once, and their table: tiles for the few
// channels of a first layer, tiles with two sets of sums, and the transforms of minimal filtering along z. Layer 3,
// execution.

#include "template.h"

ROW(TILE, 4, 1) ROW(TILE, 4, 2) ROW(TILE, 1, 1) ROW(TILE, 1, 2)
HALVES(TILE_OF_TWO_SETS, 1) HALVES(TILE_OF_TWO_SETS, 2)

static void minimal_z_input(const conv_minimal_z_input *work) {
    const int outputs = 4, points = outputs + 2;
    float *to = work->points;
    for (int b = 0; b < work->blocks; b++) {
        const float *input = work->input + b * work->block;
        for (int s = 0; s < work->slabs; s++) {
            const ptrdiff_t *planes = work->planes + s * outputs;
            for (ptrdiff_t at = 0; at < (ptrdiff_t)work->tiles * CONV_BLOCK; at += LANES) {
                VECTOR d[6];
                UNROLL for (int z = 0; z < points; z++) d[z] = vector_load(input + planes[z] + at);
                minimal_input_axis(d, 1, outputs);
                UNROLL for (int z = 0; z < points; z++) vector_store(to + z * work->point, d[z]);
                to += LANES;
            }
        }
    }
}

static void minimal_z_output(const conv_minimal_z_output *work) {
    const int outputs = 4, points = outputs + 2;
    const ptrdiff_t plane = (ptrdiff_t)work->tiles * work->width;
    const float *from = work->points;
    for (int s = 0; s < work->slabs; s++) {
        float *slab = work->products + s * outputs * plane;
        const int planes = work->planes - s * outputs;
        for (ptrdiff_t at = 0; at < plane; at += LANES) {
            VECTOR m[6];
            UNROLL for (int z = 0; z < points; z++) m[z] = vector_load(from + z * work->point);
            minimal_output_axis(m, 1, outputs);
            UNROLL for (int z = 0; z < outputs; z++) {
                if (z >= planes) continue;
                float *to = slab + z * plane + at;
                vector_store(to, work->adds ? vector_add(vector_load(to), m[z]) : m[z]);
            }
            from += LANES;
        }
    }
}

static const conv_kernels kernels = {
    COMMON_KERNELS,
#ifdef STORES_HALVES
    .finish_halves = finish_halves,
#endif
    .tiles = {
        ENTRIES_OF_BLOCKS,
        {{ROW(TILE_ENTRY, 4, 1)}, {ROW(TILE_ENTRY, 4, 2)}},
        {{ROW(TILE_ENTRY, 1, 1)}, {ROW(TILE_ENTRY, 1, 2)}},
    },
    .two_sets = {{HALVES(ENTRY_OF_TWO_SETS, 1)}, {HALVES(ENTRY_OF_TWO_SETS, 2)}},
    .minimal_z_input = minimal_z_input,
    .minimal_z_output = minimal_z_output,
};
