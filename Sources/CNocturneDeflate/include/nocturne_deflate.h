/* A deflate compressor (RFC 1951) for voxels: faster than a general one because it uses their width and their rows.
 *
 * Any deflate decompressor reads its output. The bytes depend only on the arguments, on every little-endian
 * processor. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The working memory of one compressor, about 520 KiB. Must not be used by two threads at once. */
typedef struct nocturne_deflater nocturne_deflater;

/* NULL if there is not enough memory. */
nocturne_deflater *nocturne_deflater_new(void);
void nocturne_deflater_free(nocturne_deflater *deflater);

/* The maximum number of bytes that nocturne_deflate writes for this number of input bytes. */
size_t nocturne_deflate_bound(size_t count);

/* The number of bytes that nocturne_deflater_new allocates. */
size_t nocturne_deflater_bytes(void);

/* How voxels lie in the bytes. `width`: bytes per voxel, 1, 2 or 4; repetitions are searched at whole voxels from the
 * beginning on. `row`: number of bytes from a voxel to its neighbour in the next row, or 0. */
typedef struct {
    int width;
    size_t row;
} nocturne_voxels;

/* Compresses `count` bytes (below 2^31) without reference to preceding bytes, and returns the number of bytes written.
 *
 * With `is_last` the deflate stream ends; without it, the output ends at a byte boundary (an empty stored block, as
 * after Z_SYNC_FLUSH) and more may follow. */
size_t nocturne_deflate(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t count,
    nocturne_voxels voxels,
    int is_last,
    uint8_t *target);
