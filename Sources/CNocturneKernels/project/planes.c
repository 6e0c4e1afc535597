// Maximum-intensity projections and first labels, a plane or a row at a time.
#include "nk_project.h"

#include <math.h>

#include "../variants.h"

enum { lane_count = 32 };

NK_INLINE void nk_project_plane_body(
    const float *restrict plane, ptrdiff_t count, ptrdiff_t rows, float *restrict through, float *restrict down,
    float *restrict across)
{
    for (ptrdiff_t r = 0; r < rows; r++) {
        const float *row = plane + r * count;
        float *kept = through + r * count;
        // Keeps the maximum of a row in several lanes: a single one would be a chain of dependent comparisons.
        float lanes[lane_count];
        for (int lane = 0; lane < lane_count; lane++) lanes[lane] = -INFINITY;
        ptrdiff_t x = 0;
        for (; x + lane_count <= count; x += lane_count)
            for (int lane = 0; lane < lane_count; lane++) {
                float value = row[x + lane];
                kept[x + lane] = value > kept[x + lane] ? value : kept[x + lane];
                down[x + lane] = value > down[x + lane] ? value : down[x + lane];
                lanes[lane] = value > lanes[lane] ? value : lanes[lane];
            }
        for (; x < count; x++) {
            float value = row[x];
            kept[x] = value > kept[x] ? value : kept[x];
            down[x] = value > down[x] ? value : down[x];
            lanes[0] = value > lanes[0] ? value : lanes[0];
        }
        float largest = across[r];
        for (int lane = 0; lane < lane_count; lane++) largest = lanes[lane] > largest ? lanes[lane] : largest;
        across[r] = largest;
    }
}

NK_VARIANTS(
    void, nk_project_plane,
    (const float *restrict plane, ptrdiff_t count, ptrdiff_t rows, float *restrict through, float *restrict down,
     float *restrict across),
    (plane, count, rows, through, down, across))

NK_INLINE void nk_first_labels_body(const uint16_t *row, ptrdiff_t count, int32_t depth, int32_t *restrict depths)
{
    for (ptrdiff_t x = 0; x < count; x++) depths[x] = depths[x] < 0 && row[x] ? depth : depths[x];
}

NK_VARIANTS(
    void, nk_first_labels, (const uint16_t *restrict row, ptrdiff_t count, int32_t depth, int32_t *restrict depths),
    (row, count, depth, depths))

// Most rows are largely empty: whole blocks are tested first.
NK_INLINE int is_empty(const uint16_t *row)
{
    uint16_t any = 0;
    for (int lane = 0; lane < lane_count; lane++) any |= row[lane];
    return !any;
}

NK_INLINE ptrdiff_t nk_first_label_body(const uint16_t *row, ptrdiff_t count)
{
    ptrdiff_t x = 0;
    while (x + lane_count <= count && is_empty(row + x)) x += lane_count;
    while (x < count && !row[x]) x++;
    return x < count ? x : -1;
}

NK_VARIANTS(ptrdiff_t, nk_first_label, (const uint16_t *row, ptrdiff_t count), (row, count))

NK_INLINE ptrdiff_t nk_last_label_body(const uint16_t *row, ptrdiff_t count)
{
    ptrdiff_t x = count;
    while (x >= lane_count && is_empty(row + x - lane_count)) x -= lane_count;
    while (x > 0 && !row[x - 1]) x--;
    return x - 1;
}

NK_VARIANTS(ptrdiff_t, nk_last_label, (const uint16_t *row, ptrdiff_t count), (row, count))
