/* A deflate compressor (RFC 1951) for voxels: faster than a general one because it knows their width and their rows.
 *
 * Any inflater reads what it writes. The bytes depend on the arguments alone, on every little-endian
 * processor. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The working memory of one compressor, about 520 KiB. Not to be used by two threads at once. */
typedef struct nocturne_deflater nocturne_deflater;

/* NULL when memory runs out. */
nocturne_deflater *nocturne_deflater_new(void);
void nocturne_deflater_free(nocturne_deflater *deflater);

/* The most bytes that nocturne_deflate writes for so many. */
size_t nocturne_deflate_bound(size_t count);

/* How many bytes nocturne_deflater_new takes. */
size_t nocturne_deflater_bytes(void);

/* Compresses `count` bytes (below 2^31) without reference to any before them, and returns how many it wrote.
 *
 * `width`: bytes of a voxel, 1, 2 or 4; repetitions are searched at whole voxels from `content` on. `row`: bytes from
 * a voxel to the one beside it in the next row, or 0. With `is_last` the deflate stream ends; without, the bytes end on
 * a whole byte (an empty stored block, as after Z_SYNC_FLUSH) and more may follow. */
size_t nocturne_deflate(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t count,
    int width,
    size_t row,
    int is_last,
    uint8_t *target);
