"""Pictures in HEIC and WebP, written by pillow-heif and Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pillow_heif
from PIL import Image, ImageOps

Tasks = Iterator[tuple[str, Image.Image, dict[str, object]]]


def drawn(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Slopes, bands and noise without symmetry; transparency that changes along the picture."""
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.default_rng([width, height]).integers(0, 40, (height, width))
    channels = [x * 200 // width + noise, y * 215 // height + noise, 60 + 100 * (x // 7 % 2) + noise]
    if mode.endswith("A"):
        channels.append(np.clip(300 * (x + y) // (width + height), 0, 255))
    picture = Image.fromarray(np.stack(channels, -1).astype(np.uint8), "RGBA" if mode.endswith("A") else "RGB")
    return picture.convert(mode)


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def _heic_tasks() -> Tasks:
    for width, height in [(1, 1), (2, 2), (7, 5), (16, 16), (33, 17), (64, 65), (65, 64), (200, 3), (3, 90), (641, 427)]:
        yield f"size-{width}x{height}", drawn(width, height), {"quality": 80}
    for quality in (1, 50, 100):
        yield f"quality-{quality}", drawn(121, 99), {"quality": quality}
    for chroma in (420, 422, 444):
        yield f"chroma-{chroma}", drawn(75, 51), {"quality": 70, "chroma": chroma}
    yield "lossless-444", drawn(75, 51), {"quality": -1, "chroma": 444, "matrix_coefficients": 0}
    yield "lossless-420", drawn(75, 51), {"quality": -1, "chroma": 420}
    for mode in ("L", "LA", "RGBA"):
        yield f"mode-{mode}", drawn(75, 51, mode), {"quality": 70}
    yield "lossless-alpha", drawn(75, 51, "RGBA"), {"quality": -1, "chroma": 444, "matrix_coefficients": 0}
    for orientation in range(2, 9):
        yield f"turned-{orientation}", drawn(75, 51), {"quality": 70, "exif": turned(orientation)}


def write_heic(folder: Path) -> list[Path]:
    """Made pictures of every kind that the encoder makes."""
    pillow_heif.register_heif_opener()
    for name, picture, options in _heic_tasks():
        picture.save(folder / f"{name}.heic", **options)
    for bits, is_long in [(10, False), (12, True)]:
        pillow_heif.options.SAVE_HDR_TO_12_BIT = is_long
        deep = pillow_heif.from_bytes("RGB;16", (75, 51), (np.asarray(drawn(75, 51)).astype(np.uint16) * 257).tobytes())
        deep.save(folder / f"bits-{bits}.heic", quality=70)
    pillow_heif.from_pillow(drawn(600, 400)).save(folder / "thumbnails.heic", quality=70, thumbnails=[64, 128])
    several = pillow_heif.from_pillow(drawn(90, 70))
    several.add_from_pillow(drawn(75, 51))
    several.save(folder / "second-is-primary.heic", quality=70, primary_index=1)
    pillow_heif.options.GRID_TILE_SIZE = 128
    drawn(300, 260).save(folder / "grid.heic", quality=70)
    drawn(301, 259).save(folder / "grid-turned.heic", quality=70, exif=turned(6))
    pillow_heif.options.GRID_TILE_SIZE = 0
    return sorted(folder.glob("*.heic"))


def _webp_tasks() -> Tasks:
    for width, height in [(1, 1), (1, 9), (9, 1), (2, 2), (3, 5), (16, 16), (17, 31), (255, 257), (641, 427)]:
        yield f"size-{width}x{height}", drawn(width, height), {"quality": 80}
    for width, height in [(1, 1), (1, 300), (33, 17)]:
        yield f"lossless-{width}x{height}", drawn(width, height), {"lossless": True}
    for quality, method in [(0, 0), (50, 4), (100, 6)]:
        yield f"quality-{quality}", drawn(121, 99), {"quality": quality, "method": method}
    yield "grey", drawn(75, 51, "L"), {"quality": 80}
    yield "lossless-grey", drawn(75, 51, "L"), {"lossless": True}
    yield "alpha", drawn(75, 51, "RGBA"), {"quality": 80}
    yield "alpha-lossy", drawn(75, 51, "RGBA"), {"quality": 60, "alpha_quality": 30}
    yield "alpha-lossless", drawn(75, 51, "RGBA"), {"lossless": True, "exact": True}
    yield "palette", drawn(75, 51).quantize(12).convert("RGB"), {"lossless": True}
    yield "profile", drawn(75, 51), {"quality": 80, "icc_profile": b"\0" * 200, "xmp": b"<x/>"}
    for orientation in range(2, 9):
        yield f"turned-{orientation}", drawn(75, 51), {"quality": 80, "exif": turned(orientation)}
    yield "turned-lossless-alpha", drawn(75, 51, "RGBA"), {"lossless": True, "exif": turned(6)}
    for name, mode, options in [("", "RGB", {"lossless": True}), ("-lossy", "RGB", {}), ("-alpha", "RGBA", {"lossless": True})]:
        others = [ImageOps.invert(drawn(75, 51)).convert(mode), drawn(75, 51, mode).rotate(180)]
        yield f"animated{name}", drawn(75, 51, mode), {"save_all": True, "append_images": others, "duration": 90, **options}


def write_webp(folder: Path) -> list[Path]:
    """Made pictures of every kind that the encoder makes."""
    for name, picture, options in _webp_tasks():
        picture.save(folder / f"{name}.webp", **options)
    return sorted(folder.glob("*.webp"))


def write_real(sources: list[Path], folder: Path, ending: str) -> list[Path]:
    """Real photos with a longer side of at most 1,200 pixels, with and without loss."""
    pillow_heif.register_heif_opener()
    for number, source in enumerate(sources):
        with Image.open(source) as image:
            picture = ImageOps.exif_transpose(image).convert("RGB")
        picture.thumbnail((1200, 1200))
        loss = {"lossless": True} if ending == "webp" else {"quality": -1, "chroma": 444, "matrix_coefficients": 0}
        picture.save(folder / f"real-{number}.{ending}", **({"quality": 85} if number % 2 == 0 else loss))
    return sorted(folder.glob(f"real-*.{ending}"))
