/// Kernels that project a volume along its axes.
///
/// Every function exists in variants for different processors that are selected when called; all give the same results.
/// Pointers must not overlap. Nothing is allocated.
#ifndef NK_PROJECT_H
#define NK_PROJECT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// Projects one plane of `rows` rows of `count` float32 voxels along its three axes: increases `through[r * count +
/// x]`, `down[x]` and `across[r]` to the voxel in row r, column x where it is larger. NaN is ignored.
void nk_project_plane(
    const float *plane, ptrdiff_t count, ptrdiff_t rows, float *through, float *down, float *across);

/// Sets `depths[x]` to `depth` where it is below 0 and the label row[x] is not 0.
void nk_first_labels(const uint16_t *row, ptrdiff_t count, int32_t depth, int32_t *depths);

/// The index of the first, or the last, of `count` labels that is not 0; -1 if there is none.
ptrdiff_t nk_first_label(const uint16_t *row, ptrdiff_t count);
ptrdiff_t nk_last_label(const uint16_t *row, ptrdiff_t count);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
