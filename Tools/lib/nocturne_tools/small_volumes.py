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


def _element(group: int, number: int, kind: str, value: bytes) -> bytes:
    """A DICOM data element in explicit VR, little endian."""
    pad = b"\0" if kind in ("UI", "OB") else b" "
    value += pad * (len(value) % 2)
    if kind in ("OB", "OW"):
        return struct.pack("<HH2sHI", group, number, kind.encode(), 0, len(value)) + value
    return struct.pack("<HH2sH", group, number, kind.encode(), len(value)) + value


def write_series(folder: Path, seed: int, *, tilt: float = 0, size: int = 16) -> None:
    """A CT series of size slices in a folder; `tilt` is how far each slice is shifted along its columns, in mm."""
    folder.mkdir(parents=True)
    series = f"1.2.826.0.1.3680043.8.498.{1000 + seed}"
    voxels = tiny_volume(seed, size)[352:]
    for index in range(size):
        uid = f"{series}.{index + 1}"
        meta = _element(2, 2, "UI", b"1.2.840.10008.5.1.4.1.1.2") + _element(2, 3, "UI", uid.encode())
        meta += _element(2, 0x10, "UI", b"1.2.840.10008.1.2.1")
        meta = _element(2, 0, "UL", struct.pack("<I", len(meta))) + meta
        short = struct.Struct("<H").pack
        slice_voxels = voxels[index * size**2 : (index + 1) * size**2]
        body = [
            (8, 0x16, "UI", b"1.2.840.10008.5.1.4.1.1.2"),
            (8, 0x18, "UI", uid.encode()),
            (8, 0x60, "CS", b"CT"),
            (0x20, 0x0D, "UI", f"{series}.900".encode()),
            (0x20, 0x0E, "UI", series.encode()),
            (0x20, 0x13, "IS", str(index + 1).encode()),
            (0x20, 0x32, "DS", f"0\\{index * tilt}\\{index}".encode()),
            (0x20, 0x37, "DS", b"1\\0\\0\\0\\1\\0"),
            (0x20, 0x52, "UI", f"{series}.901".encode()),
            (0x28, 2, "US", short(1)),
            (0x28, 4, "CS", b"MONOCHROME2"),
            (0x28, 0x10, "US", short(size)),
            (0x28, 0x11, "US", short(size)),
            (0x28, 0x30, "DS", b"1\\1"),
            (0x28, 0x100, "US", short(16)),
            (0x28, 0x101, "US", short(16)),
            (0x28, 0x102, "US", short(15)),
            (0x28, 0x103, "US", short(1)),
            (0x28, 0x1052, "DS", b"0"),
            (0x28, 0x1053, "DS", b"1"),
            (0x7FE0, 0x10, "OW", b"".join(short(voxel) for voxel in slice_voxels)),
        ]
        data = b"".join(_element(*element) for element in body)
        (folder / f"{index:03}.dcm").write_bytes(b"\0" * 128 + b"DICM" + meta + data)
