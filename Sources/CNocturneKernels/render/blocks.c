// The sums of blocks of voxels.
#include "nk_rays.h"

#pragma STDC FP_CONTRACT OFF

enum { piece = 256 };

void nk_add_blocks(
    const float *restrict row, ptrdiff_t count, ptrdiff_t phase, ptrdiff_t block, nk_voxel_range range,
    uint64_t *restrict sums)
{
    const float lower = range.lower, upper = range.upper, scale = range.scale;
    ptrdiff_t target = phase / block;
    ptrdiff_t left = block - phase % block;
    for (ptrdiff_t start = 0; start < count; start += piece) {
        // Without branches first: this loop is vectorised.
        int32_t values[piece];
        ptrdiff_t size = count - start < piece ? count - start : piece;
        for (ptrdiff_t x = 0; x < size; x++) {
            float voxel = row[start + x];
            float limited = voxel > lower ? voxel : lower;
            limited = limited < upper ? limited : upper;
            int32_t value = (int32_t)((limited - lower) * scale + 0.5f);
            // The difference of what is not finite to itself is not 0.
            values[x] = voxel - voxel == 0 ? value : -1;
        }
        for (ptrdiff_t x = 0; x < size; x++) {
            if (values[x] >= 0) sums[target] += ((uint64_t)1 << NK_BLOCK_COUNT_SHIFT) + (uint64_t)values[x];
            if (--left == 0) {
                left = block;
                target++;
            }
        }
    }
}
