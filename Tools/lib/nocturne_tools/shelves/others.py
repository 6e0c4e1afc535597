"""Draws pictures without books from a seed, for a network that has to know them from shelves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter
from scipy import ndimage

Color = tuple[int, int, int]


def draw_other(seed: int, long_side: int) -> NDArray[np.uint8]:
    """(y, x, 3): textures, round and irregular things, lines and text, with the light and noise of a photo."""
    rng = np.random.default_rng([0x07E5, seed])
    width = long_side if rng.random() < 0.5 else int(long_side * rng.uniform(0.6, 1))
    height = int(long_side * rng.uniform(0.6, 1)) if width == long_side else long_side
    picture = Image.fromarray(texture(rng, width, height))
    kinds = rng.choice(5, size=rng.integers(0, 4), p=[0.3, 0.3, 0.15, 0.15, 0.1])
    for kind in kinds:
        (ellipses, polygons, lines, text, coins)[kind](rng, picture)
    picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.8)))
    light = ndimage.zoom(rng.normal(1, 0.2, (3, 3)), (height / 3, width / 3), order=1)[:height, :width, None]
    noise = rng.normal(0, rng.uniform(0, 9), (height, width, 3))
    return np.clip(np.asarray(picture) * light + noise, 0, 255).astype(np.uint8)


def color(rng: np.random.Generator) -> Color:
    red, green, blue = rng.integers(0, 256, 3)
    return int(red), int(green), int(blue)


def texture(rng: np.random.Generator, width: int, height: int) -> NDArray[np.uint8]:
    """Noise of several scales between two colours: from an even wall to grass and gravel."""
    field = np.zeros((height, width))
    falling = rng.uniform(0.4, 1.6)
    for octave in range(1, 8):
        rows, columns = (min(2**octave + 1, n) for n in (height, width))
        layer = ndimage.zoom(rng.normal(0, 1, (rows, columns)), (height / rows, width / columns), order=1)
        field += layer[:height, :width] * 2.0 ** (-falling * octave)
    field = np.clip(field / (field.std() + 1e-6) * rng.uniform(0.02, 0.3) + 0.5, 0, 1)[..., None]
    if rng.random() < 0.25:
        field = np.round(field * 3) / 3
    first, second = np.array(color(rng), float), np.array(color(rng), float)
    return (first * field + second * (1 - field)).astype(np.uint8)


def ellipses(rng: np.random.Generator, picture: Image.Image) -> None:
    draw = ImageDraw.Draw(picture)
    size = max(picture.size) * rng.uniform(0.03, 0.5)
    for _ in range(int(rng.integers(1, 40))):
        x, y = rng.uniform(0, picture.width), rng.uniform(0, picture.height)
        a, b = size * rng.uniform(0.4, 1.2, 2)
        outline = color(rng) if rng.random() < 0.5 else None
        draw.ellipse((x - a, y - b, x + a, y + b), fill=color(rng), outline=outline, width=int(rng.integers(1, 8)))


def polygons(rng: np.random.Generator, picture: Image.Image) -> None:
    """Star-shaped, with 3 or 5 to 12 uneven corners."""
    draw = ImageDraw.Draw(picture)
    size = max(picture.size) * rng.uniform(0.05, 0.6)
    for _ in range(int(rng.integers(1, 25))):
        count = int(rng.choice([3, *range(5, 13)]))
        angles = np.sort(rng.uniform(0, 2 * np.pi, count))
        radii = size * rng.uniform(0.2, 1, count)
        x, y = rng.uniform(0, picture.width), rng.uniform(0, picture.height)
        draw.polygon([(x + r * np.cos(a), y + r * np.sin(a)) for a, r in zip(angles, radii)], fill=color(rng))


def lines(rng: np.random.Generator, picture: Image.Image) -> None:
    """Random walks: branches, cables, edges of things."""
    draw = ImageDraw.Draw(picture)
    for _ in range(int(rng.integers(3, 60))):
        steps = rng.normal(0, max(picture.size) * 0.04, (12, 2)) + rng.normal(0, max(picture.size) * 0.03, 2)
        points = np.array([rng.uniform(0, picture.width), rng.uniform(0, picture.height)]) + np.cumsum(steps, axis=0)
        draw.line([(x, y) for x, y in points], fill=color(rng), width=int(rng.integers(1, 16)), joint="curve")


def text(rng: np.random.Generator, picture: Image.Image) -> None:
    """Lines of short strokes, as of a printed page."""
    draw = ImageDraw.Draw(picture)
    height, ink = int(rng.integers(5, 40)), color(rng)
    left, right = picture.width * rng.uniform(0, 0.3), picture.width * rng.uniform(0.6, 1)
    for y in range(int(picture.height * rng.uniform(0, 0.4)), picture.height - height, int(height * rng.uniform(1.4, 2.5))):
        x = left
        while x < right:
            stroke = height * rng.uniform(0.05, 0.25)
            draw.rectangle((x, y + height * rng.uniform(0, 0.4), x + stroke, y + height), fill=ink)
            x += stroke + height * rng.choice([0.15, 0.3, 0.8], p=[0.5, 0.35, 0.15])


def coins(rng: np.random.Generator, picture: Image.Image) -> None:
    """Round things in rows."""
    draw = ImageDraw.Draw(picture)
    step = max(picture.size) * rng.uniform(0.05, 0.2)
    fill = color(rng)
    for x in np.arange(step / 2, picture.width, step):
        for y in np.arange(step / 2, picture.height, step):
            r = step * rng.uniform(0.25, 0.45)
            draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=color(rng), width=3)
