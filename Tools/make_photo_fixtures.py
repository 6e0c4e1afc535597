"""Writes the photo cases of the tests: small invented pictures of every kind, and what photo_reference.py makes of
them.

    python Tools/make_photo_fixtures.py [--one FILE.jpg WIDTH HEIGHT]

Into Tests/Fixtures/Photos: the pictures, expected/NAME.png (the resized square before colours are touched) and
cases.json (the rest). With the same versions of the libraries the same bytes come out. With --one, a single large JPEG
instead, to measure times with.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from photo_reference import load, prepare

FOLDER = Path(__file__).resolve().parent.parent / "Tests/Fixtures/Photos"
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
# The bytes of the expected pictures at the side of each case; all but a few are small.
SIDE = 64


def lesion(width: int, height: int, seed: int) -> np.ndarray:
    """Skin with a dark blob, a few hairs, uneven light and a little noise: [height, width, 3] in 0…1."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    u, v = x / width - 0.5, y / height - 0.5
    skin = np.array([0.86, 0.68, 0.58]) * (1 + 0.25 * u[..., None] - 0.15 * v[..., None])
    angle = np.arctan2(v - 0.05, u + 0.04)
    edge = 0.22 + 0.05 * np.sin(3 * angle + seed) + 0.02 * np.sin(7 * angle)
    inside = 1 / (1 + np.exp((np.hypot(u + 0.04, v - 0.05) - edge) * 40))
    picture = skin * (1 - inside[..., None]) + np.array([0.33, 0.18, 0.13]) * inside[..., None]
    for _ in range(4):
        a, b, c = random.uniform(-1, 1, 3)
        picture[np.abs(a * u + b * v + c * 0.3) < 0.004] *= 0.4
    return np.clip(picture + random.normal(0, 0.008, picture.shape), 0, 1)


def bytes_of(picture: np.ndarray) -> np.ndarray:
    return np.round(picture * 255).astype(np.uint8)


def words_of(picture: np.ndarray) -> np.ndarray:
    return np.round(picture * 65535).astype(np.uint16)


def soft_alpha(height: int, width: int) -> np.ndarray:
    """Opaque in the middle, clear at the rim: [height, width, 1] in 0…1."""
    y, x = np.mgrid[0:height, 0:width]
    return np.clip(3 * (0.55 - np.hypot(x / width - 0.5, y / height - 0.5)), 0, 1)[..., None]


def jpeg(picture: Image.Image, orientation: int | None = None, **options: object) -> bytes:
    target = io.BytesIO()
    if orientation:
        exif = Image.Exif()
        exif[274] = orientation
        options["exif"] = exif.tobytes()
    picture.save(target, "JPEG", **{"quality": 88, **options})
    return target.getvalue()


def ycck(picture: np.ndarray) -> bytes:
    """Pillow writes CMYK only: its four planes are filled with YCCK here, and Adobe's marker is told so."""
    key = picture.max(axis=2)
    inks = 255 - picture
    planes = np.asarray(Image.fromarray(inks).convert("YCbCr"))
    stored = np.dstack([255 - planes, ((255 - key) // 3)[..., None]])
    file = bytearray(jpeg(Image.fromarray(stored, mode="CMYK")))
    file[file.index(b"Adobe") + 11] = 2
    return bytes(file)


def packed_rows(samples: np.ndarray, depth: int) -> bytes:
    """Rows of PNG with filter 0: [height, width × channels]."""
    if depth == 16:
        rows = samples.astype(">u2").view(np.uint8)
    elif depth == 8:
        rows = samples.astype(np.uint8)
    else:
        bits = (samples[..., None] >> np.arange(depth - 1, -1, -1)) & 1
        rows = np.packbits(bits.reshape(samples.shape[0], -1).astype(np.uint8), axis=1)
    return b"".join(b"\0" + row.tobytes() for row in rows)


def png(samples: np.ndarray, depth: int, colour: int, interlaced: bool = False, **chunks: bytes) -> bytes:
    """A PNG of any colour type and depth: [height, width, channels]."""
    height, width = samples.shape[:2]

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7] if interlaced else [samples]
    rows = b"".join(packed_rows(part.reshape(part.shape[0], -1), depth) for part in parts if part.size)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    extra = b"".join(chunk(name.encode(), content) for name, content in chunks.items())
    body = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def palette_of(picture: np.ndarray, colours: int) -> tuple[np.ndarray, bytes]:
    image = Image.fromarray(picture).quantize(colours, dither=Image.Dither.NONE)
    table = image.getpalette()
    assert table is not None
    return np.asarray(image)[..., None], bytes(table[: colours * 3])


def tiff(samples: np.ndarray, **options: object) -> bytes:
    target = io.BytesIO()
    tifffile.imwrite(target, samples, metadata=None, software=False, **options)
    return target.getvalue()


def pillow_tiff(picture: Image.Image, **options: object) -> bytes:
    target = io.BytesIO()
    picture.save(target, "TIFF", **options)
    return target.getvalue()


def jpegs() -> Iterator[tuple[str, bytes]]:
    colour = Image.fromarray(bytes_of(lesion(130, 97, 1)))
    for number, name in enumerate(["444", "422", "420"]):
        yield f"jpeg-{name}.jpg", jpeg(colour, subsampling=number)
    yield "jpeg-progressive.jpg", jpeg(colour, progressive=True)
    yield "jpeg-restarts.jpg", jpeg(colour, restart_marker_rows=1)
    yield "jpeg-rgb.jpg", jpeg(colour, keep_rgb=True)
    yield "jpeg-coarse.jpg", jpeg(colour, quality=20)
    yield "jpeg-grey.jpg", jpeg(colour.convert("L"))
    yield "jpeg-grey-progressive.jpg", jpeg(colour.convert("L"), progressive=True)
    inks = bytes_of(np.dstack([1 - lesion(120, 101, 2), 0.3 * lesion(120, 101, 3)[..., :1]]))
    yield "jpeg-cmyk.jpg", jpeg(Image.fromarray(inks, mode="CMYK"))
    yield "jpeg-ycck.jpg", ycck(bytes_of(lesion(120, 101, 4)))
    turned = Image.fromarray(bytes_of(lesion(140, 93, 5)))
    for orientation in range(1, 9):
        yield f"jpeg-orientation-{orientation}.jpg", jpeg(turned, orientation)
    yield "jpeg-progressive-turned.jpg", jpeg(turned, 6, progressive=True)
    yield "jpeg-named-wrongly.png", jpeg(Image.fromarray(bytes_of(lesion(101, 150, 6))))


def pngs() -> Iterator[tuple[str, bytes]]:
    picture = lesion(113, 104, 7)
    grey = picture.mean(axis=2, keepdims=True)
    alpha = soft_alpha(*picture.shape[:2])
    for depth in (1, 2, 4):
        levels = np.round(grey * ((1 << depth) - 1)).astype(np.uint8)
        yield f"png-grey-{depth}.png", png(levels, depth, 0)
    yield "png-grey-8.png", png(bytes_of(grey), 8, 0)
    yield "png-grey-16.png", png(words_of(grey), 16, 0)
    yield "png-grey-alpha-8.png", png(bytes_of(np.dstack([grey, alpha])), 8, 4)
    yield "png-rgb-8.png", png(bytes_of(picture), 8, 2)
    yield "png-rgb-16.png", png(words_of(picture[:70, :80]), 16, 2)
    yield "png-rgba-8.png", png(bytes_of(np.dstack([picture, alpha])), 8, 6)
    yield "png-rgba-16.png", png(words_of(np.dstack([picture, alpha])[20:90, 20:80]), 16, 6)
    for depth in (1, 2, 4, 8):
        indices, table = palette_of(bytes_of(picture), 1 << depth)
        yield f"png-palette-{depth}.png", png(indices, depth, 3, PLTE=table)
    indices, table = palette_of(bytes_of(picture), 16)
    yield "png-palette-clear.png", png(indices, 4, 3, PLTE=table, tRNS=bytes(range(0, 240, 30)))
    yield "png-interlaced.png", png(bytes_of(picture), 8, 2, interlaced=True)
    yield "png-interlaced-alpha.png", png(bytes_of(np.dstack([picture, alpha]))[:61, :77], 8, 6, interlaced=True)
    exif = Image.Exif()
    exif[274] = 8
    yield "png-turned.png", png(bytes_of(picture[:80]), 8, 2, eXIf=exif.tobytes()[6:])


def tiffs() -> Iterator[tuple[str, bytes]]:
    picture = lesion(109, 101, 8)
    image = Image.fromarray(bytes_of(picture))
    yield "tiff-lzw.tif", pillow_tiff(image, compression="tiff_lzw")
    yield "tiff-deflate-grey-16.tif", tiff(words_of(picture[..., 0]), compression="zlib", byteorder=">")
    yield "tiff-packbits-palette.tif", pillow_tiff(image.quantize(32), compression="packbits")
    yield "tiff-jpeg.tif", pillow_tiff(image, compression="jpeg", quality=85)
    yield "tiff-fax4.tif", pillow_tiff(image.convert("1"), compression="group4")
    tiled = {"tile": (32, 48), "photometric": "rgb", "compression": "zlib"}
    yield "tiff-tiled.tif", tiff(bytes_of(picture), **tiled)
    yield "tiff-tiled-planes-big.tif", tiff(
        bytes_of(picture).transpose(2, 0, 1), planarconfig="separate", bigtiff=True, **tiled
    )
    yield "tiff-planes.tif", tiff(
        bytes_of(picture).transpose(2, 0, 1),
        planarconfig="separate",
        photometric="rgb",
        rowsperstrip=20,
        compression="zlib",
    )
    yield "tiff-rgb-16.tif", tiff(words_of(picture[:64, :70]), photometric="rgb", compression="zlib")
    inks = bytes_of(np.dstack([1 - picture, 0.2 * picture[..., :1]]))
    yield "tiff-cmyk.tif", pillow_tiff(Image.fromarray(inks, mode="CMYK"), compression="tiff_lzw")
    pages = [image.transpose(Image.Transpose.ROTATE_90), image.resize((40, 30))]
    yield "tiff-pages.tif", pillow_tiff(image, compression="tiff_lzw", save_all=True, append_images=pages)
    yield "tiff-turned.tif", pillow_tiff(image, compression="tiff_lzw", tiffinfo={274: 5})


def odd_ones() -> Iterator[tuple[str, bytes]]:
    yield "flat.png", png(np.full((110, 120, 3), (200, 150, 140), np.uint8), 8, 2)
    yield "near-black.png", png(bytes_of(lesion(120, 110, 9) * 0.02), 8, 2)
    yield "one-colour-missing.png", png(bytes_of(lesion(120, 110, 10) * np.array([1, 0.6, 0])), 8, 2)
    yield "tiny.png", png(bytes_of(lesion(3, 2, 11)), 8, 2)
    yield "portrait.jpg", jpeg(Image.fromarray(bytes_of(lesion(101, 200, 12) * np.array([1, 0.8, 0.6]))))


def describe(name: str, size: int, constancy: bool = True) -> dict[str, object]:
    """Writes the expected picture of a case and gives the rest."""
    prepared = prepare(load(FOLDER / name), size, constancy)
    expected = f"expected/{Path(name).stem}-{size}{'' if constancy else '-plain'}.png"
    Image.fromarray(prepared.picture).save(FOLDER / expected, optimize=True)
    flat = prepared.values.reshape(-1)
    places = np.linspace(0, flat.size - 1, 48).astype(int)
    return {
        "file": name,
        "size": size,
        "constancy": constancy,
        "expected": expected,
        "gains": prepared.gains.tolist(),
        "exemption": prepared.exemption,
        "means": prepared.values.astype(np.float64).mean(axis=(1, 2)).tolist(),
        "places": places.tolist(),
        "values": [round(float(value), 7) for value in flat[places]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=3, metavar=("FILE", "WIDTH", "HEIGHT"))
    arguments = parser.parse_args()
    if arguments.one:
        name, width, height = arguments.one
        Path(name).write_bytes(jpeg(Image.fromarray(bytes_of(lesion(int(width), int(height), 1)))))
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "expected").mkdir(parents=True)
    cases = []
    for kind in (jpegs, pngs, tiffs, odd_ones):
        for name, content in kind():
            (FOLDER / name).write_bytes(content)
            cases.append(describe(name, SIDE))
    cases += [describe("jpeg-420.jpg", 380), describe("portrait.jpg", 380), describe("png-rgb-8.png", SIDE, False)]
    (FOLDER / "cases.json").write_text(json.dumps(cases, indent=1) + "\n")
    count = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    print(f"{len(cases)} cases, {count} bytes")


if __name__ == "__main__":
    main()
