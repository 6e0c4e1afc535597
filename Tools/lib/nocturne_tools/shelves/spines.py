"""The appearance of a spine: colour, cloth, bands, labels and text-like marks, drawn upright."""

from __future__ import annotations

import colorsys
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

LETTERS = np.array(list("aabcdeeefghiijklmnooprstuvwyzABCDEFGHIKLMNOPRSTUVWZ&0123456789"))
Color = tuple[int, int, int]


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own scalable font."""
    return ImageFont.load_default(size)


def title(rng: np.random.Generator, longest: int) -> str:
    """Random letters in the form of a title."""
    count = int(rng.integers(1, 5))
    parts = ["".join(rng.choice(LETTERS, int(rng.integers(2, 9)))) for _ in range(count)]
    text = " ".join(parts)[:longest]
    return text.upper() if rng.random() < 0.4 else text


def color(rng: np.random.Generator) -> Color:
    """A cover's colour: mostly muted, often nearly grey, black, white or brown."""
    kind = rng.random()
    if kind < 0.15:
        value = rng.uniform(0.75, 1.0)
        shade = colorsys.hsv_to_rgb(rng.uniform(0.05, 0.17), rng.uniform(0, 0.2), value)
    elif kind < 0.32:
        shade = colorsys.hsv_to_rgb(rng.random(), rng.uniform(0, 0.35), rng.uniform(0.05, 0.25))
    elif kind < 0.45:
        shade = colorsys.hsv_to_rgb(rng.uniform(0.02, 0.12), rng.uniform(0.3, 0.8), rng.uniform(0.2, 0.6))
    else:
        shade = colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.25, 1.0), rng.uniform(0.25, 0.95))
    return tuple(int(255 * part) for part in shade)  # type: ignore[return-value]


def contrast(rng: np.random.Generator, ground: Color) -> Color:
    """Ink that can be read on the ground."""
    if rng.random() < 0.3:
        return color(rng)
    bright = sum(ground) < 360
    level = rng.uniform(200, 255) if bright else rng.uniform(0, 70)
    gold = rng.random() < 0.3
    return (int(level), int(level * (0.85 if gold else 1)), int(level * (0.5 if gold else 1)))


def grain(rng: np.random.Generator, width: int, height: int, coarse: int) -> NDArray[np.float32]:
    """Smooth noise of mean 0 and deviation about 1; `coarse` pixels a lump."""
    small = rng.standard_normal((max(2, height // coarse), max(2, width // coarse))).astype(np.float32)
    picture = Image.fromarray(small, mode="F").resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture)


def text_strip(rng: np.random.Generator, width: int, height: int, ink: Color) -> Image.Image:
    """A title along the spine, reading downwards or upwards, on transparency."""
    size = max(5, int(width * rng.uniform(0.35, 0.75)))
    strip = Image.new("RGBA", (height, width), (0, 0, 0, 0))
    pen = ImageDraw.Draw(strip)
    text = title(rng, max(2, int(height / (size * 0.55))))
    lines = 2 if size < width * 0.42 and rng.random() < 0.3 else 1
    for line in range(lines):
        top = (width - lines * size * 1.1) / 2 + line * size * 1.1
        left = rng.uniform(0, 0.2) * height if rng.random() < 0.5 else 0
        pen.text((left, top), text, font=font(size), fill=ink + (255,))
    return strip.transpose(Image.Transpose.ROTATE_270 if rng.random() < 0.75 else Image.Transpose.ROTATE_90)


def spine(style: int, seed: int, width: int, height: int) -> Image.Image:
    """The picture of one spine, `width` by `height`. Equal styles give volumes of one set."""
    rng, own = np.random.default_rng([0x57E1, style]), np.random.default_rng([0x0B00, seed])
    width, height = max(width, 4), max(height, 8)
    if rng.random() < 0.05:
        return pages(own, width, height)
    ground = color(rng)
    ink = contrast(rng, ground)
    picture = Image.new("RGB", (width, height), ground)
    pen = ImageDraw.Draw(picture)
    if rng.random() < 0.08:  # two parts
        cut = int(height * rng.uniform(0.15, 0.85))
        pen.rectangle((0, cut, width, height), fill=color(rng))
    for _ in range(int(rng.integers(0, 5)) if rng.random() < 0.6 else 0):
        at, thick = rng.uniform(0.02, 0.97) * height, rng.uniform(0.003, 0.03) * height
        pen.rectangle((0, at, width, at + thick), fill=contrast(rng, ground))
    if rng.random() < 0.2:  # lines along the spine that are not edges
        inset = width * rng.uniform(0.06, 0.2)
        for x in (inset, width - inset):
            pen.line((x, 0, x, height), fill=ink, width=max(1, int(width * 0.02)))
    if rng.random() < 0.3:  # a label
        low, high = sorted(rng.uniform(0.03, 0.95, 2))
        side = width * rng.uniform(0, 0.15)
        pen.rectangle((side, low * height, width - side, high * height), fill=color(rng))
    if rng.random() < 0.35:  # a publisher's sign
        size, at = width * rng.uniform(0.2, 0.7), rng.uniform(0.82, 0.95) * height
        box = ((width - size) / 2, at - size / 2, (width + size) / 2, at + size / 2)
        (pen.ellipse if rng.random() < 0.5 else pen.rectangle)(box, fill=ink if rng.random() < 0.6 else color(rng))
    if rng.random() < 0.92:
        start, end = rng.uniform(0.03, 0.25), rng.uniform(0.55, 0.95)
        strip = text_strip(own, width, int((end - start) * height), ink)
        picture.paste(strip, (0, int(start * height)), strip)
    if rng.random() < 0.4 and width > 12:  # across: an author, a number
        size = max(5, int(width * rng.uniform(0.2, 0.5)))
        pen.text((width * 0.1, rng.uniform(0.02, 0.9) * height), title(own, max(1, int(width / size * 1.5))), font=font(size), fill=ink)
    return shaded(rng, own, picture)


def pages(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """A book that shows its pages instead of its spine."""
    lines = rng.normal(0, 1, (1, width)) * rng.uniform(4, 14) + grain(rng, width, height, 30) * 4
    cover = np.array(color(rng))
    value = np.array([232, 222, 198]) * rng.uniform(0.75, 1.05) + lines[..., None]
    edge = max(1, int(width * rng.uniform(0.02, 0.08)))
    value[:, :edge] = cover
    value[:, -edge:] = cover
    return Image.fromarray(np.clip(value, 0, 255).astype(np.uint8))


def shaded(style: np.random.Generator, own: np.random.Generator, picture: Image.Image) -> Image.Image:
    """Round backs, worn edges, cloth."""
    width, height = picture.size
    across = np.abs(np.linspace(-1, 1, width, dtype=np.float32))[None, :]
    light = 1 - style.uniform(0, 0.45) * across ** style.uniform(1.5, 8)
    if style.random() < 0.3:
        hinge = style.uniform(0.75, 0.92)
        light = light * (1 - style.uniform(0, 0.4) * np.exp(-(((across - hinge) / 0.05) ** 2)))
    if style.random() < 0.2:  # glossy: a streak of light
        light = light + style.uniform(0, 0.35) * np.exp(-(((np.linspace(-1, 1, width)[None] - style.uniform(-0.6, 0.6)) / 0.15) ** 2))
    value = np.asarray(picture, dtype=np.float32) * light[..., None]
    noise = grain(own, width, height, 24) * own.uniform(0, 9) + grain(own, width, height, 2) * style.uniform(0, 7)
    value = value + noise[..., None]
    if own.random() < 0.25:  # rubbed head and tail
        rows = np.linspace(0, 1, height)[:, None, None]
        worn = np.exp(-np.minimum(rows, 1 - rows) / 0.015) * own.uniform(0, 60)
        value = value + worn
    return Image.fromarray(np.clip(value, 0, 255).astype(np.uint8))
