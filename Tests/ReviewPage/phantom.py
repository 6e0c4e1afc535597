"""A phantom whose right and left are known: volumes as NIfTI-1, surfaces as STL, pictures as PNG. Standard library only.

The body is an ellipsoid. The patient's right kidney has label 1 and lies at x = +22 mm in RAS+, the left one has label 2, lies
at x = -22 mm and 12 mm higher. The grid's first axis runs from right to left, so that a viewer that ignores the affine shows
the kidneys exchanged.
"""

import base64
import gzip
import math
import struct
import zlib

SHAPE = (48, 40, 36)
SPACING = (2.0, 2.0, 2.0)
# Voxel to RAS+: the first axis runs from the patient's right to the left, the others to the front and up.
AFFINE = [[-2.0, 0.0, 0.0, 47.0], [0.0, 2.0, 0.0, -39.0], [0.0, 0.0, 2.0, -35.0], [0.0, 0.0, 0.0, 1.0]]
WINDOW = {"lower": -160, "upper": 240, "unit": "HU"}
KIDNEYS = [
    {"value": 1, "name": "kidney_right", "color": "#d04040", "centre": (22.0, 0.0, -6.0), "radius": 10.0},
    {"value": 2, "name": "kidney_left", "color": "#40a0d0", "centre": (-22.0, 0.0, 6.0), "radius": 10.0},
]
# Stored values: air, body (about 40 HU), kidneys (about 130 HU).
AIR, BODY, KIDNEY = 0, 128, 185


def voxel_of(point):
    """The voxel nearest to a point in RAS+ millimetres."""
    return tuple(round((point[axis] - AFFINE[axis][3]) / AFFINE[axis][axis]) for axis in range(3))


def _voxels():
    nx, ny, nz = SHAPE
    image, labels = bytearray(nx * ny * nz), bytearray(nx * ny * nz)
    index = 0
    for k in range(nz):
        z = AFFINE[2][2] * k + AFFINE[2][3]
        for j in range(ny):
            y = AFFINE[1][1] * j + AFFINE[1][3]
            for i in range(nx):
                x = AFFINE[0][0] * i + AFFINE[0][3]
                value = BODY if (x / 42) ** 2 + (y / 34) ** 2 + (z / 32) ** 2 < 1 else AIR
                for kidney in KIDNEYS:
                    cx, cy, cz = kidney["centre"]
                    if (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2 < kidney["radius"] ** 2:
                        value, labels[index] = KIDNEY, kidney["value"]
                image[index] = value
                index += 1
    return bytes(image), bytes(labels)


def _nifti(voxels):
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *SHAPE, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)
    struct.pack_into("<8f", header, 76, 1, *SPACING, 1, 1, 1, 1)
    struct.pack_into("<3f", header, 108, 352, 1, 0)
    header[123] = 2
    struct.pack_into("<2h", header, 252, 0, 1)
    for row in range(3):
        struct.pack_into("<4f", header, 280 + 16 * row, *AFFINE[row])
    header[344:348] = b"n+1\0"
    return gzip.compress(bytes(header) + voxels, mtime=0)


def _sphere(centre, radius, rings=10, sectors=16):
    """Triangles of a sphere, counter-clockwise seen from outside."""
    def point(ring, sector):
        polar, azimuth = math.pi * ring / rings, 2 * math.pi * (sector % sectors) / sectors
        return (
            centre[0] + radius * math.sin(polar) * math.cos(azimuth),
            centre[1] + radius * math.sin(polar) * math.sin(azimuth),
            centre[2] + radius * math.cos(polar),
        )

    for ring in range(rings):
        for sector in range(sectors):
            a, b = point(ring, sector), point(ring + 1, sector)
            c, d = point(ring + 1, sector + 1), point(ring, sector + 1)
            if ring < rings - 1:
                yield a, b, c
            if ring > 0:
                yield a, c, d


def stl(kidney):
    """A kidney's surface as binary STL in LPS, as Nocturne writes it."""
    x, y, z = kidney["centre"]
    triangles = list(_sphere((-x, -y, z), kidney["radius"]))
    content = bytearray(b"nocturne SPACE=LPS".ljust(80, b" ")) + struct.pack("<I", len(triangles))
    for triangle in triangles:
        middle = [sum(corner[axis] for corner in triangle) / 3 for axis in range(3)]
        normal = [(middle[axis] - (-x, -y, z)[axis]) / kidney["radius"] for axis in range(3)]
        content += struct.pack("<12fH", *normal, *triangle[0], *triangle[1], *triangle[2], 0)
    return bytes(content)


def review_volume():
    """The argument of nocturneVolume."""
    image, labels = _voxels()

    def text(content):
        return base64.b64encode(content).decode()

    return {
        "shape": list(SHAPE), "affine": AFFINE, "image": text(_nifti(image)), "labels": text(_nifti(labels)),
        "window": WINDOW,
        "windows": [{"name": "soft tissue", "lower": -160, "upper": 240}, {"name": "narrow", "lower": 0, "upper": 150}],
        "meshes": [{"label": each["value"], "name": each["name"], "color": each["color"], "stl": text(stl(each))}
                   for each in KIDNEYS],
    }


def png(width, height, pixel):
    """A PNG whose pixels are `pixel(x, y)`, red, green and blue."""
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in pixel(x, y)) for y in range(height))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def preview(seed):
    """A small picture of the phantom's middle, in a colour that depends on the seed."""
    tint = (90 + seed * 37 % 80, 90 + seed * 53 % 80, 90 + seed * 71 % 80)

    def pixel(x, y):
        if (x - 30) ** 2 + (y - 36) ** 2 < 90:
            return 208, 64, 64
        if (x - 66) ** 2 + (y - 30) ** 2 < 90:
            return 64, 160, 208
        return tint if ((x - 48) / 40) ** 2 + ((y - 36) / 30) ** 2 < 1 else (0, 0, 0)

    return png(96, 72, pixel)
