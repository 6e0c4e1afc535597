// Copying of a chunk's input into scratch memory. Layer 3, execution.

#pragma once

#include "job.h"

/// Packs some blocks of channels of the whole box.
void nk_conv_pack_box(const conv_job *job, int group, int block, int blocks);

/// Blocks of channels whose rows are packed, `target_block` words apart.
typedef struct conv_blocks {
    int group, first, count;
    size_t target_block;
    /// Rows along y of each plane that are packed.
    int rows;
} conv_blocks;

/// Packs some blocks of channels of one row: row (z, y) of the packed box, or zeros if the input does not have it, to
/// `target`, the row's position in the first of the blocks. Writes pairs if the plan uses them, but float32 for minimal
/// filtering, whose blocks then have half as many channels.
void nk_conv_pack_row(const conv_job *job, const conv_blocks *blocks, int z, int y, float *target);
