/* What is done with the tiles of a sliding window between the runs of a network: one source for C and for CUDA, so that a device
   and the processor compute the same bits. NVRTC compiles this file at run time, without contraction of products and sums;
   it therefore includes nothing.

   Axes are z, y, x with x fastest; a tile and its logits are [channel][z][y][x] of the patch. Each kernel does the work of one
   `index` below its count. Sums are made in the order of calls, product first, in float32, as
   `RollingAccumulator` and `MirrorPasses` of NocturneInference make them. */
#pragma once

typedef struct {
    int z, y, x;
} tile_size;

/* Bits of `flips`: the axes along which a tile is mirrored. */
#define TILE_FLIP_Z 1
#define TILE_FLIP_Y 2
#define TILE_FLIP_X 4

/* Copies a tile out of the image, mirrored. Count: channels × voxels of the patch. */
typedef struct {
    float *tile;
    const float *image;
    tile_size patch, shape;
    /* Of the tile's first voxel in the image; negative in the padding. */
    tile_size start;
    int flips;
    /* Beyond the image: 1 for its border, 0 for zeros. */
    int continues;
} tile_cut;

/* Adds the logits of a mirrored pass to the sum, mirrored back. Count: classes × voxels of the patch. */
typedef struct {
    float *sum;
    const float *logits;
    tile_size patch;
    int flips;
    int is_first;
    /* 0, or the number of passes, by which the sum is divided after the last one. */
    int divisor;
} tile_add;

/* The label of each voxel of a pass, as flipped as it is: of the largest logit, of the lowest class on a tie; for regions of the last
   class above a threshold, else 0. Count: voxels of the patch. */
typedef struct {
    unsigned short *labels;
    const float *logits;
    /* One for each class. */
    const unsigned short *values;
    int voxels, classes;
    int is_regions;
    float threshold;
} tile_label;

/* Adds a tile to the window, in which plane p of the image is in slot p % depth: sums [slot][class][y][x], weights [slot][y][x].
   Count: voxels of `part`. */
typedef struct {
    float *sums, *weights;
    const float *logits, *map;
    tile_size patch, shape;
    /* The part of the tile that is inside the image, from its first voxel there and in the tile. */
    tile_size part, in_image, in_tile;
    int depth, classes;
} tile_blend;

/* Divides planes of the window by their weights, and clears their slots. Count: planes × voxels of a plane. */
typedef struct {
    /* [plane][class][y][x], from plane `first` of the image on. */
    float *planes;
    float *sums, *weights;
    /* Pixels of a plane. */
    long long area;
    int first, depth, classes;
} tile_divide;

/* Counts values that are NaN or infinite: each index counts every stride-th value, and writes its number to `found`. Count:
   `stride`. */
typedef struct {
    unsigned int *found;
    const float *values;
    long long count;
    int stride;
} tile_odd;

#ifdef __CUDACC__
#define TILE_FUNCTION static __device__ __forceinline__
#else
#define TILE_FUNCTION static inline
#endif
#define TILE_BODY TILE_FUNCTION void

typedef struct {
    long long channel;
    int z, y, x;
} tile_voxel;

/* The voxel of a tile that takes the place of another one when the tile is mirrored. */
TILE_FUNCTION tile_voxel tile_mirrored(tile_size patch, int flips, long long index) {
    long long row = index / patch.x, plane = row / patch.y;
    tile_voxel at = {plane / patch.z, (int)(plane % patch.z), (int)(row % patch.y), (int)(index % patch.x)};
    if (flips & TILE_FLIP_Z) at.z = patch.z - 1 - at.z;
    if (flips & TILE_FLIP_Y) at.y = patch.y - 1 - at.y;
    if (flips & TILE_FLIP_X) at.x = patch.x - 1 - at.x;
    return at;
}

TILE_BODY tile_cut_body(const tile_cut *a, long long index) {
    tile_voxel at = tile_mirrored(a->patch, a->flips, index);
    int z = at.z + a->start.z, y = at.y + a->start.y, x = at.x + a->start.x;
    int inside_z = z < 0 ? 0 : z >= a->shape.z ? a->shape.z - 1 : z;
    int inside_y = y < 0 ? 0 : y >= a->shape.y ? a->shape.y - 1 : y;
    int inside_x = x < 0 ? 0 : x >= a->shape.x ? a->shape.x - 1 : x;
    int is_inside = z == inside_z && y == inside_y && x == inside_x;
    long long from = ((at.channel * a->shape.z + inside_z) * a->shape.y + inside_y) * a->shape.x + inside_x;
    a->tile[index] = is_inside || a->continues ? a->image[from] : 0.0f;
}

TILE_BODY tile_add_body(const tile_add *a, long long index) {
    tile_voxel at = tile_mirrored(a->patch, a->flips, index);
    float value = a->logits[((at.channel * a->patch.z + at.z) * a->patch.y + at.y) * a->patch.x + at.x];
    float sum = (a->is_first ? 0.0f : a->sum[index]) + value;
    a->sum[index] = a->divisor > 0 ? sum / (float)a->divisor : sum;
}

TILE_BODY tile_label_body(const tile_label *a, long long index) {
    int found = a->is_regions ? -1 : 0;
    float limit = a->is_regions ? a->threshold : a->logits[index];
    for (int c = a->is_regions ? 0 : 1; c < a->classes; c++) {
        float value = a->logits[(long long)c * a->voxels + index];
        if (value > limit) {
            found = c;
            if (!a->is_regions) limit = value;
        }
    }
    a->labels[index] = found < 0 ? 0 : a->values[found];
}

TILE_BODY tile_blend_body(const tile_blend *a, long long index) {
    int x = (int)(index % a->part.x);
    long long row = index / a->part.x;
    int y = (int)(row % a->part.y);
    int z = (int)(row / a->part.y);
    long long area = (long long)a->shape.y * a->shape.x, voxels = (long long)a->patch.z * a->patch.y * a->patch.x;
    long long from = ((long long)(z + a->in_tile.z) * a->patch.y + y + a->in_tile.y) * a->patch.x + x + a->in_tile.x;
    long long to = (long long)(y + a->in_image.y) * a->shape.x + x + a->in_image.x;
    int slot = (z + a->in_image.z) % a->depth;
    float weight = a->map[from];
    a->weights[slot * area + to] += weight;
    for (int c = 0; c < a->classes; c++) {
        long long place = ((long long)slot * a->classes + c) * area + to;
        float product = a->logits[c * voxels + from] * weight;
        a->sums[place] = a->sums[place] + product;
    }
}

TILE_BODY tile_divide_body(const tile_divide *a, long long index) {
    long long plane = index / a->area, pixel = index % a->area, slot = (a->first + plane) % a->depth;
    float weight = a->weights[slot * a->area + pixel];
    a->weights[slot * a->area + pixel] = 0.0f;
    for (int c = 0; c < a->classes; c++) {
        long long place = (slot * a->classes + c) * a->area + pixel;
        a->planes[(plane * a->classes + c) * a->area + pixel] = a->sums[place] / weight;
        a->sums[place] = 0.0f;
    }
}

TILE_BODY tile_odd_body(const tile_odd *a, long long index) {
    unsigned int found = 0;
    for (long long place = index; place < a->count; place += a->stride) {
        float value = a->values[place];
        /* The difference of two infinite values, or of NaN, is NaN. */
        found += value - value != 0.0f;
    }
    a->found[index] = found;
}

/* Every kernel, with its arguments. */
#define TILE_KERNELS(K) K(tile_cut) K(tile_add) K(tile_label) K(tile_blend) K(tile_divide) K(tile_odd)

#ifdef __CUDACC__
#define TILE_KERNEL(name) \
    extern "C" __global__ void name##_kernel(name arguments, long long count) { \
        long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x; \
        if (index < count) name##_body(&arguments, index); \
    }
TILE_KERNELS(TILE_KERNEL)
#endif
