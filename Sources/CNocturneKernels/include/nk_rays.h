/// Kernels for rendering a volume by rays that pass through it.
///
/// The results do not depend on the processor. Pointers must not overlap. Nothing is allocated.
#ifndef NK_RAYS_H
#define NK_RAYS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

/// The unit of the upper part of nk_add_blocks' sums, which counts voxels.
#define NK_BLOCK_COUNT_SHIFT 40

/// A voxel is limited to `lower` and `upper` and becomes (voxel - lower) · scale, rounded to an integer.
typedef struct {
    float lower, upper, scale;
} nk_voxel_range;

/// Adds `count` float32 voxels to the sums of blocks along a row: voxel x to sums[(x + phase) / block].
///
/// Voxels that are not finite are left out. The lower 40 bits of a sum are that of the integers, the upper ones the number
/// of voxels.
void nk_add_blocks(
    const float *row, ptrdiff_t count, ptrdiff_t phase, ptrdiff_t block, nk_voxel_range range, uint64_t *sums);

/// What rays pass through, and how they see it. Indices are those of voxels along three axes, the first varying fastest.
typedef struct {
    /// The voxel at index 0 of each axis. One voxel before the first and two after the last of each axis can be read, too.
    const uint16_t *voxels;
    /// Voxels from one row, and from one plane, to the next.
    ptrdiff_t row, plane;
    int32_t size[3];
    /// As `voxels`: 32768 or more in a labelled voxel, less in another; the more, the more labelled ones are around it. NULL
    /// without labels.
    const uint16_t *_Nullable labelled;
    /// For each voxel, without those beyond the ends, the place of its label's colour in `colors`; 0 without a label.
    const uint16_t *_Nullable labels;
    /// Red, green, blue, and one number that is not used.
    const float *colors;
    /// For each value of a voxel divided by 16, and for the end: the sums over all smaller values of red, green and blue, each
    /// times the optical depth of one sample, and of that depth.
    const double *sums;
    /// For each block of 8 voxels a side: 1 if a sample in it may be visible, 2 if one may be in a label, 3 for both.
    const uint8_t *visible;
    int32_t blocks[3];
    /// The index at which the volume ends, half a voxel behind its last one or closer; it begins at -0.5.
    float end[3];
    /// Indices from one sample to the next.
    float step[3];
    /// From gradients along the axes of indices to the patient's directions, per mm: three rows.
    float gradient[9];
    /// The patient's direction away from the viewer, of length 1.
    float forward[3];
    /// The gradient per mm at which a place is half shaded as a surface.
    float surface_gradient;
} nk_ray_scene;

/// What is seen along a ray whose sample 0 is at the index `origin`, in front of the volume: red, green and blue on black, and
/// opacity, all from 0 to about 1. What lies in front of a label hides a third of it at most.
void nk_cast_ray(const nk_ray_scene *scene, const float *origin, float *seen);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
