// Copying of a chunk's input into scratch memory, padded and with the prologue applied.

#include <string.h>

#include "job.h"

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
            *target = strip->rounds ? nk_conv_rounded(y) : y;
            source += strip->source_step;
            target += strip->target_step;
        }
        return;
    }
    for (int i = 0; i < strip->count; i++) {
        const float *restrict source = strip->source + i * strip->source_step;
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
            for (int c = 0; c < strip->channels; c++) target[c] = nk_conv_rounded(target[c]);
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
} packed_line;

/// Copies channels `from` to `to` of a line from the sources that contain them.
static void pack_channels(const conv_job *job, const packed_line *line, int from, int to) {
    const nk_conv_plan *plan = job->plan;
    int base = 0;
    for (int s = 0; s < job->source_count && base < to; s++) {
        const nk_conv_source *source = &job->sources[s];
        const int begin = max_int(from, base), end = min_int(to, base + source->channels);
        if (begin < end) {
            const conv_strip strip = {
                .source = source->data + line->voxel * source->channels + (begin - base),
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
                .source_ahead = (ptrdiff_t)plan->in_stride[Y] * plan->spacing[Y] * plan->in[X] * source->channels,
            };
            if (line->pairs) {
                plan->kernels->pack_pairs(&strip);
            } else if (plan->kernels && plan->distance == CONV_BLOCK) {
                plan->kernels->pack(&strip);
            } else {
                pack_plain(&strip);
            }
        }
        base += source->channels;
    }
}

void nk_conv_pack_row(
    const conv_job *job, int group, int block, int blocks, int z, int y, float *target, size_t target_block) {
    const nk_conv_plan *plan = job->plan;
    const int parts = plan->in_stride[X], step = parts * plan->spacing[X], distance = plan->distance;
    const bool pairs = plan->pairs && !plan->minimal_x;
    const int width = pairs ? 2 * distance : distance;
    const bool empty = z < 0 || z >= plan->in[Z] || y < 0 || y >= plan->in[Y];
    const size_t voxel = empty ? 0 : ((size_t)z * plan->in[Y] + y) * plan->in[X];
    for (int b = block; b < block + blocks; b++, target += target_block) {
        const int from = group * plan->group_in + b * width;
        const int to = min_int(from + width, (group + 1) * plan->group_in);
        for (int part = 0; part < parts; part++) {
            if (!plan->reads[X][part]) continue;
            float *line = target + (size_t)part * plan->row_voxels * distance;
            // Voxels low ..< high of the line are within the input.
            const int origin = input_place(job, X, part);
            int low = 0, high = 0;
            if (!empty) {
                low = origin < 0 ? min_int(plan->row_voxels, ceil_div(-origin, step)) : 0;
                high = origin >= plan->in[X] ? 0 : min_int(plan->row_voxels, ceil_div(plan->in[X] - origin, step));
                if (high < low) high = low;
            }
            // Weights of missing channels are zero, and so must these values be: zero times NaN is NaN.
            const bool clears = plan->pairs && to - from < width;
            for (ptrdiff_t part_low = 0; part_low <= (ptrdiff_t)plan->low; part_low += plan->low ? plan->low : 1) {
                float *values = line + part_low;
                const size_t after = (size_t)(clears ? low : high) * distance;
                memset(values, 0, (size_t)low * distance * sizeof(float));
                memset(values + after, 0, ((size_t)plan->row_voxels * distance - after) * sizeof(float));
            }
            if (low == high || from >= to) continue;
            const packed_line inside = {
                .values = line + (size_t)low * distance,
                .count = high - low,
                .voxel = voxel + (size_t)(origin + low * step),
                .pairs = pairs,
            };
            pack_channels(job, &inside, from, to);
        }
    }
}

void nk_conv_pack_box(const conv_job *job, int group, int block, int blocks) {
    const nk_conv_plan *plan = job->plan;
    const int rows_z = (job->size[Z] - 1) * plan->in_stride[Z] + plan->span[Z];
    const int rows_y = (job->size[Y] - 1) * plan->in_stride[Y] + plan->span[Y];
    for (int z = 0; z < rows_z; z++) {
        if (!plan->reads[Z][z % plan->in_stride[Z]]) continue;
        for (int y = 0; y < rows_y; y++) {
            if (!plan->reads[Y][y % plan->in_stride[Y]]) continue;
            nk_conv_pack_row(
                job, group, block, blocks, input_place(job, Z, z), input_place(job, Y, y),
                job->packed + ((size_t)z * plan->packed[Y] + y) * plan->row, plan->block);
        }
    }
}
