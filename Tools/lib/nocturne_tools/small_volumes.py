"""Small uncompressed NIfTI-1 volumes of uint8 voxels, written without any library."""

from __future__ import annotations

import struct
from pathlib import Path


def write_volume(path: Path, size: int, value: int) -> None:
    """A volume of size³ voxels with a box of one value in the middle."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, size, size, size, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)
    struct.pack_into("<4f", header, 76, 1, 1, 1, 1)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<2h", header, 252, 0, 1)
    struct.pack_into("<12f", header, 280, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
    header[344:348] = b"n+1\0"
    voxels = bytearray(size**3)
    for k in range(size // 4, 3 * size // 4):
        for j in range(size // 4, 3 * size // 4):
            start = (k * size + j) * size + size // 4
            voxels[start : start + size // 2] = bytes([value]) * (size // 2)
    path.write_bytes(bytes(header) + bytes(voxels))


def tiny_volume(seed: int, size: int = 16) -> bytes:
    """The bytes of a volume of size³ voxels with a box of ones whose position depends on the seed."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, size, size, size, 1, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 2, 8)
    struct.pack_into("<8f", header, 76, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<f", header, 112, 1)
    struct.pack_into("<h", header, 254, 1)
    for row in range(3):
        values = [0.0, 0.0, 0.0, 0.0]
        values[row] = 1.0
        struct.pack_into("<4f", header, 280 + 16 * row, *values)
    header[344:348] = b"n+1\0"
    voxels = bytearray(size**3)
    a, b, c = seed % 7, seed // 7 % 7, seed // 49 % 7
    for z in range(c + 2, c + 8):
        for y in range(b + 2, b + 8):
            for x in range(a + 2, a + 8):
                voxels[x + size * (y + size * z)] = 1
    return bytes(header) + bytes(voxels)
