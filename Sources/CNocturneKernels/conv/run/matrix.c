// Sums of products on matrix tiles. A chunk moves along z: it packs the planes of input that are needed next into a ring,
// and computes some planes of output in blocks of 96 voxels. A block is ended between the products of the next one.
// Layer 3, execution.

#include "methods.h"
#include "pack.h"

/// The input that is packed next, plane by plane and source by source: the lines that have not been fetched, and the plane and
/// source of those that follow them.
typedef struct input_ahead {
    const char *lines;
    ptrdiff_t bytes;
    int plane, end, source;
} input_ahead;

/// A chunk under computation on matrix tiles.
typedef struct matrix_chunk {
    const conv_job *job;
    /// Scratch memory: sums of a block, first halves of bfloat16 channels, offsets of the taps in the input of each half
    /// and in the weights, and positions in a plane of output of the voxels of all groups and then of a group without any.
    float *sums;
    uint16_t *halves;
    ptrdiff_t *taps[2], *weight_taps;
    int32_t *offsets;
    /// What the tables are for: the phase, the plane of each half, and the extent of a plane of output with its groups.
    const conv_phase *phase;
    int planes[2], rows, columns, groups;
    /// The block that has not been ended.
    conv_matrix_end end;
    bool is_pending;
    input_ahead ahead;
} matrix_chunk;

/// Half a block: a plane of the box, and a group of its voxels; `exists`: false for the missing half of the last block.
typedef struct block_half {
    int plane, group;
    bool exists;
} block_half;

/// The first voxel of a group, as a position in the flattened plane.
static int first_of_group(const conv_plan *plan, int group) {
    if (!has_whole_tiles(plan)) return group * MATRIX_HALF;
    const int across = plan->box[X] / MATRIX_ROWS, rows = MATRIX_HALF / MATRIX_ROWS;
    return group / across * rows * (int)(plan->row / CONV_BLOCK) + group % across * MATRIX_ROWS;
}

/// Words from one tile of a group to the next.
static ptrdiff_t next_tile(const conv_plan *plan) {
    return has_whole_tiles(plan) ? (ptrdiff_t)plan->row : MATRIX_ROWS * CONV_BLOCK;
}

static void end_pending(matrix_chunk *chunk) {
    if (chunk->is_pending) chunk->job->kernels->matrix(NULL, &chunk->end);
    chunk->is_pending = false;
}

/// Sets the positions of voxels in a plane of output of `rows` rows and `columns` columns.
static void set_offsets(matrix_chunk *chunk, int rows, int columns) {
    if (rows == chunk->rows && columns == chunk->columns) return;
    end_pending(chunk);
    const conv_plan *plan = chunk->job->plan;
    const int pitch = (int)(plan->row / CONV_BLOCK), next = (int)(next_tile(plan) / CONV_BLOCK);
    const ptrdiff_t step_x = (ptrdiff_t)output_step(plan, X) * plan->layer.cout;
    const ptrdiff_t step_y = (ptrdiff_t)output_step(plan, Y) * plan->layer.out[X] * plan->layer.cout;
    chunk->rows = rows;
    chunk->columns = columns;
    chunk->groups = nk_conv_groups_of_plane(plan, rows, columns);
    for (int i = 0; i < (chunk->groups + 1) * MATRIX_HALF; i++) {
        const int voxel = i % MATRIX_HALF;
        const int at = first_of_group(plan, i / MATRIX_HALF) + voxel / MATRIX_ROWS * next + voxel % MATRIX_ROWS;
        const int y = at / pitch, x = at % pitch;
        const bool is_wanted = i < chunk->groups * MATRIX_HALF && y < rows && x < columns;
        chunk->offsets[i] = is_wanted ? (int32_t)(y * step_y + x * step_x) : -1;
    }
}

/// Sets the offsets of the taps of a phase for one half. Of split operands, small products are added first.
static void set_taps(matrix_chunk *chunk, const conv_phase *phase, int half, int plane) {
    static const int input_parts[] = {0, 1, 2, 0, 1, 0}, weight_parts[] = {2, 1, 0, 1, 0, 0};
    const conv_plan *plan = chunk->job->plan;
    const int start = plane * plan->in_stride[Z] % plan->ring;
    ptrdiff_t *taps = chunk->taps[half], *weights = chunk->weight_taps;
    for (int t = 0; t < phase->tap_count; t++) {
        const int slot = start + phase->planes[t];
        const ptrdiff_t tap = (slot < plan->ring ? slot : slot - plan->ring) * (ptrdiff_t)plan->plane + phase->taps[t];
        for (int p = 0; p < products_of(plan); p++) {
            *taps++ = tap + (plan->split ? input_parts[p] * (ptrdiff_t)plan->low : 0);
            *weights++ = (t * parts_of(plan) + (plan->split ? weight_parts[p] : 0)) * MATRIX_ROWS * CONV_BLOCK;
        }
    }
    chunk->planes[half] = plane;
}

/// How 16 channels are stored: those of the first or of the second vector of a unit.
static int form_of(const conv_job *job, int vector) {
    const bool streams = job_streams(job);
    if (!job->stores_halves) return job->residual ? MATRIX_RESIDUAL : streams ? MATRIX_FLOATS_STREAMED : MATRIX_FLOATS;
    return vector == 0 ? MATRIX_FIRST_HALF : streams ? MATRIX_SECOND_HALF_STREAMED : MATRIX_SECOND_HALF;
}

/// The end of a block: of one vector of channels of a unit.
static conv_matrix_end end_of(
    const matrix_chunk *chunk, const conv_unit *unit, int vector, const block_half halves[2]) {
    const conv_job *job = chunk->job;
    const int first = unit->group * job->plan->group_out + unit->first, channel = first + vector * MATRIX_ROWS;
    conv_matrix_end end = {
        .sums = chunk->sums,
        .channels = min_int(MATRIX_ROWS, unit->channels - vector * MATRIX_ROWS),
        .form = form_of(job, vector),
        .bias = job->bias + channel,
        .slope = job->out_slope,
        .halves = chunk->halves,
        .stats = job->sums ? job->sums + channel : NULL,
        .squares = job->sums ? job->squares + channel : NULL,
    };
    for (int h = 0; h < 2; h++) {
        // Both vectors of a unit are stored together as bfloat16.
        const size_t voxel = output_voxel(job, chunk->phase, halves[h].plane, 0, 0);
        const size_t at = voxel * job->plan->layer.cout + (job->stores_halves ? first : channel);
        end.output[h] = job->stores_halves ? (void *)((uint16_t *)job->out + at) : (void *)(job->out + at);
        end.residual[h] = job->residual ? job->residual + at : NULL;
        end.offsets[h] = chunk->offsets + (halves[h].exists ? halves[h].group : chunk->groups) * MATRIX_HALF;
    }
    return end;
}

static int blocks_of(int planes, int groups) { return planes / 2 * groups + planes % 2 * ((groups + 1) / 2); }

/// The halves of block `i` of some planes: one group of two planes, whose taps share input, or two groups of the last plane.
static void set_halves(block_half halves[2], int i, int first, int planes, int groups) {
    const bool is_pair = i < planes / 2 * groups;
    const int plane = is_pair ? first + i / groups * 2 : first + planes - 1;
    const int group = is_pair ? i % groups : (i - planes / 2 * groups) * 2;
    halves[0] = (block_half){plane, group, true};
    halves[1] = is_pair ? (block_half){plane + 1, group, true} : (block_half){plane, group + 1, true};
    if (halves[1].group == groups) halves[1] = (block_half){plane, group, false};
}

/// Lines of input that `steps` steps of a block are to fetch, two each.
static const char *next_lines(matrix_chunk *chunk, int steps) {
    const conv_job *job = chunk->job;
    const conv_plan *plan = job->plan;
    input_ahead *ahead = &chunk->ahead;
    while (ahead->bytes <= 0) {
        // What is in the cache anyway.
        if (ahead->plane >= ahead->end) return (const char *)job->packed;
        const nk_conv_source *source = &job->sources[ahead->source];
        const int z = input_place(job, Z, ahead->plane), from = max_int(0, input_place(job, Y, 0));
        const int end = min_int(plan->layer.in[Y], input_place(job, Y, packed_extent(job, Y)));
        if (z >= 0 && z < plan->layer.in[Z]) {
            const ptrdiff_t row = (ptrdiff_t)plan->layer.in[X] * source->channels * (source->bfloat16 ? 2 : 4);
            ahead->lines = (const char *)source->data + ((ptrdiff_t)z * plan->layer.in[Y] + from) * row;
            ahead->bytes = (end - from) * row;
        }
        ahead->source = (ahead->source + 1) % job->source_count;
        ahead->plane += ahead->source == 0;
    }
    const char *lines = ahead->lines;
    ahead->lines += 128 * steps;
    ahead->bytes -= 128 * steps;
    return lines;
}

/// Computes block `i` of some planes of a unit's phase, if there is one.
static void run_block(matrix_chunk *chunk, const conv_unit *unit, int i, int first, int planes) {
    const conv_job *job = chunk->job;
    const conv_plan *plan = job->plan;
    const conv_phase *phase = &plan->phases[unit->phase];
    int size[3];
    if (!phase_size(job, phase, size)) return;
    planes = min_int(planes, size[Z] - first);
    const int groups = nk_conv_groups_of_plane(plan, size[Y], size[X]);
    if (i >= blocks_of(planes, groups)) return;
    block_half halves[2];
    set_halves(halves, i, first, planes, groups);
    set_offsets(chunk, size[Y], size[X]);
    for (int h = 0; h < 2; h++) {
        if (phase != chunk->phase || halves[h].plane != chunk->planes[h]) set_taps(chunk, phase, h, halves[h].plane);
    }
    chunk->phase = phase;
    conv_matrix work = {
        .next = next_tile(plan),
        .input_block = (ptrdiff_t)plan->block,
        .taps = {chunk->taps[0], chunk->taps[1]},
        .weight_taps = chunk->weight_taps,
        .tap_count = phase->tap_count * products_of(plan),
        .block_count = plan->block_count,
        .weight_block = (ptrdiff_t)phase->tap_count * parts_of(plan) * MATRIX_ROWS * CONV_BLOCK,
        .sums = chunk->sums,
    };
    for (int h = 0; h < 2; h++) {
        work.input[h] = job->packed + (size_t)first_of_group(plan, halves[h].group) * CONV_BLOCK;
    }
    for (int v = 0; v < unit->vectors; v++) {
        work.weights = job->weights + unit->weights + v * plan->block_count * work.weight_block;
        work.ahead = next_lines(chunk, work.tap_count * work.block_count);
        job->kernels->matrix(&work, chunk->is_pending ? &chunk->end : NULL);
        chunk->end = end_of(chunk, unit, v, halves);
        chunk->is_pending = true;
    }
}

/// Packs the planes `from ..< end` of the box into the ring.
static void pack_planes(const conv_job *job, int group, int from, int end) {
    const conv_plan *plan = job->plan;
    const int stride = plan->in_stride[Y];
    const conv_blocks packed = {
        .group = group,
        .count = plan->block_count,
        .target_block = plan->block,
        .rows = packed_extent(job, Y),
    };
    for (int z = from; z < end; z++) {
        if (!plan->reads[Z][z % plan->in_stride[Z]]) continue;
        float *plane = job->packed + z % plan->ring * plan->plane;
        for (int y = 0; y < packed.rows; y++) {
            if (!plan->reads[Y][y % stride]) continue;
            nk_conv_pack_row(job, &packed, z, y, plane + y % stride * plan->part_y + y / stride * plan->row);
        }
    }
}

/// Computes `count` units from `first` on, which are of one group.
static void run_group(matrix_chunk *chunk, const conv_unit *first, int count) {
    const conv_job *job = chunk->job;
    const conv_plan *plan = job->plan;
    const int groups = nk_conv_groups_of_plane(plan, job->size[Y], job->size[X]);
    for (int z = 0, packed = 0; z < job->size[Z]; z += plan->depth) {
        const int planes = min_int(plan->depth, job->size[Z] - z), begin = z * plan->in_stride[Z];
        const int need = begin + (planes - 1) * plan->in_stride[Z] + plan->span[Z];
        pack_planes(job, first->group, max_int(packed, begin), need);
        packed = need;
        // Other divisions read parts of rows.
        const int next = plan->boxes[X] == 1 ? min_int(plan->depth, job->size[Z] - z - planes) * plan->in_stride[Z] : 0;
        chunk->ahead = (input_ahead){.plane = need, .end = need + next};
        const int blocks = blocks_of(planes, groups);
        for (int i = 0; i < blocks * count; i++) {
            const int unit = plan->keeps_weights ? i % count : i / blocks;
            run_block(chunk, first + unit, plan->keeps_weights ? i / count : i % blocks, z, planes);
        }
    }
}

void nk_conv_run_matrix(const conv_job *job, int first, int end) {
    const conv_plan *plan = job->plan;
    matrix_chunk chunk = {.job = job, .sums = job->packed + plan->scratch.packed};
    chunk.halves = (uint16_t *)(chunk.sums + MATRIX_BLOCK * CONV_BLOCK);
    chunk.taps[0] = (ptrdiff_t *)(chunk.sums + plan->scratch.products);
    chunk.taps[1] = chunk.taps[0] + plan->scratch.taps;
    chunk.weight_taps = chunk.taps[1] + plan->scratch.taps;
    chunk.offsets = (int32_t *)(chunk.weight_taps + plan->scratch.taps);
    for (int u = first; u < end;) {
        int after = u;
        while (after < end && plan->units[after].group == plan->units[u].group) after++;
        run_group(&chunk, &plan->units[u], after - u);
        u = after;
    }
    end_pending(&chunk);
}
