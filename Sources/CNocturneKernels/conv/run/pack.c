// Copying of a chunk's input into scratch memory, padded and with the prologue applied. Layer 3, execution.

#include "pack.h"

#include <string.h>

#include "bfloat16.h"

/// Copies any strip as float32, one value after the other.
static void pack_plain(const conv_strip *strip) {
    const float slope = strip->slope;
    if (strip->channels == 1) {
        const float scale = strip->scale ? strip->scale[0] : 1, shift = strip->scale ? strip->shift[0] : 0;
        const float *source = strip->source;
        float *target = strip->target;
        for (int i = 0; i < strip->count; i++) {
            float y = *source * scale + shift;
            if (y < 0) y *= slope;
            *target = strip->rounds ? rounded(y) : y;
            source += strip->source_step;
            target += strip->target_step;
        }
        return;
    }
    for (int i = 0; i < strip->count; i++) {
        const float *restrict source = (const float *)strip->source + i * strip->source_step;
        float *restrict target = (float *)strip->target + i * strip->target_step;
        if (strip->scale) {
            for (int c = 0; c < strip->channels; c++) {
                const float y = source[c] * strip->scale[c] + strip->shift[c];
                target[c] = y < 0 ? slope * y : y;
            }
        } else if (slope != 1) {
            for (int c = 0; c < strip->channels; c++) target[c] = source[c] < 0 ? slope * source[c] : source[c];
        } else {
            memcpy(target, source, (size_t)strip->channels * sizeof(float));
        }
        if (strip->rounds) {
            for (int c = 0; c < strip->channels; c++) target[c] = rounded(target[c]);
        }
    }
}

/// The voxels of a line of packed memory that are within the input: `count` voxels from `values` on; the first one is
/// voxel `voxel` of the sources.
typedef struct packed_line {
    float *values;
    int count;
    size_t voxel;
    /// Whether words are pairs of bfloat16.
    bool pairs;
    /// Voxels to the line that is packed next.
    ptrdiff_t ahead;
} packed_line;

/// Copies channels `from` to `to` of a line from the sources that contain them.
static void pack_channels(const conv_job *job, const packed_line *line, int from, int to) {
    const conv_plan *plan = job->plan;
    int base = 0;
    for (int s = 0; s < job->source_count && base < to; s++) {
        const nk_conv_source *source = &job->sources[s];
        const int begin = max_int(from, base), end = min_int(to, base + source->channels);
        if (begin < end) {
            const size_t size = source->bfloat16 ? sizeof(uint16_t) : sizeof(float);
            const conv_strip strip = {
                .source = (const char *)source->data + (line->voxel * source->channels + (begin - base)) * size,
                .halves = source->bfloat16,
                .target = line->pairs ? (void *)((uint16_t *)line->values + (begin - from))
                                      : (void *)(line->values + (begin - from)),
                .scale = source->scale ? source->scale + (begin - base) : NULL,
                .shift = source->scale ? source->shift + (begin - base) : NULL,
                .slope = source->slope,
                .channels = end - begin,
                .count = line->count,
                .rounds = plan->rounds,
                .low = (ptrdiff_t)plan->low,
                .source_step = (ptrdiff_t)plan->in_stride[X] * plan->spacing[X] * source->channels,
                .target_step = plan->distance,
                .source_ahead = line->ahead * source->channels,
            };
            if (line->pairs) {
                job->kernels->pack_pairs(&strip);
            } else if (job->kernels && plan->distance == CONV_BLOCK) {
                job->kernels->pack(&strip);
            } else {
                pack_plain(&strip);
            }
        }
        base += source->channels;
    }
}

/// The voxels `low ..< high` of a packed line are within the input; the first one is voxel `voxel` of the sources.
typedef struct line_extent {
    int low, high;
    size_t voxel;
} line_extent;

/// The extent of the line of one remainder modulo the stride along x, in the input row (z, y).
static line_extent extent_of(const conv_plan *plan, int origin, int step, int z, int y) {
    line_extent extent = {0};
    if (z < 0 || z >= plan->layer.in[Z] || y < 0 || y >= plan->layer.in[Y]) return extent;
    const int count = plan->row_voxels;
    extent.low = origin < 0 ? min_int(count, ceil_div(-origin, step)) : 0;
    extent.high = origin >= plan->layer.in[X] ? 0 : min_int(count, ceil_div(plan->layer.in[X] - origin, step));
    if (extent.high < extent.low) extent.high = extent.low;
    extent.voxel = ((size_t)z * plan->layer.in[Y] + y) * plan->layer.in[X] + (size_t)(origin + extent.low * step);
    return extent;
}

/// Sets the words of a line before `low` and from `from` on to zero, in the low parts of split operands, too.
static void clear(const conv_plan *plan, float *line, int low, int from) {
    const size_t distance = (size_t)plan->distance;
    for (int part = 0; part < parts_of(plan); part++) {
        float *values = line + part * plan->low;
        if (low > 0) memset(values, 0, low * distance * sizeof(float));
        if (from < plan->row_voxels) {
            memset(values + from * distance, 0, (plan->row_voxels - from) * distance * sizeof(float));
        }
    }
}

/// Voxels of the input from a row of the packed box to the one that is packed next: in the same plane or in the next one.
static ptrdiff_t rows_ahead(const conv_job *job, int z, int y, int rows) {
    const conv_plan *plan = job->plan;
    const bool is_last = y + 1 == rows;
    const ptrdiff_t planes = is_last ? input_place(job, Z, z + 1) - input_place(job, Z, z) : 0;
    const ptrdiff_t lines = input_place(job, Y, is_last ? 0 : y + 1) - input_place(job, Y, y);
    return (planes * plan->layer.in[Y] + lines) * plan->layer.in[X];
}

void nk_conv_pack_row(const conv_job *job, const conv_blocks *blocks, int z, int y, float *target) {
    const conv_plan *plan = job->plan;
    const int parts = plan->in_stride[X], step = parts * plan->spacing[X], distance = plan->distance;
    const bool pairs = plan->pairs && !plan->minimal[X];
    const int width = pairs ? 2 * distance : distance, group_end = (blocks->group + 1) * plan->group_in;
    for (int part = 0; part < parts; part++) {
        if (!plan->reads[X][part]) continue;
        const line_extent extent =
            extent_of(plan, input_place(job, X, part), step, input_place(job, Z, z), input_place(job, Y, y));
        packed_line inside = {
            .values = target + part * plan->part + (size_t)extent.low * distance,
            .count = extent.high - extent.low,
            .voxel = extent.voxel,
            .pairs = pairs,
            .ahead = rows_ahead(job, z, y, blocks->rows),
        };
        float *line = target + part * plan->part;
        for (int b = blocks->first; b < blocks->first + blocks->count; b++) {
            const int from = blocks->group * plan->group_in + b * width, to = min_int(from + width, group_end);
            // Weights of missing channels are zero, and so must these values be: zero times NaN is NaN.
            const bool clears = plan->pairs && to - from < width;
            clear(plan, line, extent.low, clears ? extent.low : extent.high);
            if (inside.count > 0 && from < to) pack_channels(job, &inside, from, to);
            line += blocks->target_block;
            inside.values += blocks->target_block;
        }
    }
}

void nk_conv_pack_box(const conv_job *job, int group, int block, int blocks) {
    const conv_plan *plan = job->plan;
    const int planes = packed_extent(job, Z);
    const conv_blocks packed = {
        .group = group,
        .first = block,
        .count = blocks,
        .target_block = plan->block,
        .rows = packed_extent(job, Y),
    };
    for (int z = 0; z < planes; z++) {
        if (!plan->reads[Z][z % plan->in_stride[Z]]) continue;
        for (int y = 0; y < packed.rows; y++) {
            if (!plan->reads[Y][y % plan->in_stride[Y]]) continue;
            nk_conv_pack_row(job, &packed, z, y, job->packed + ((size_t)z * plan->packed[Y] + y) * plan->row);
        }
    }
}
