"""Pictures of circles, squares and triangles, with their outlines as ultralytics' trainer reads them."""

from __future__ import annotations

import math
import random
from pathlib import Path

from PIL import Image, ImageDraw

CLASSES = ("circle", "square shape", "triangle")
CORNERS = (32, 4, 3)


def draw(rng: random.Random, width: int, height: int) -> tuple[Image.Image, list[str]]:
    """A picture with two to six shapes, and a line of text for each: class, then x and y of corners in 0 to 1."""
    noise = Image.new("L", (width, height))
    noise.putdata([rng.randrange(256) for _ in range(width * height)])
    base = Image.new("RGB", (width, height), _color(rng, 60, 200))
    picture = Image.blend(base, noise.convert("RGB"), 0.15)
    pen, lines = ImageDraw.Draw(picture), []
    for _ in range(rng.randrange(2, 7)):
        kind, radius = rng.randrange(3), rng.uniform(0.07, 0.2) * min(width, height)
        x, y, turn = rng.uniform(radius, width - radius), rng.uniform(radius, height - radius), rng.uniform(0, 6.28)
        angles = [turn + 2 * math.pi * n / CORNERS[kind] for n in range(CORNERS[kind])]
        points = [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]
        pen.polygon(points, fill=_color(rng, 0, 256), outline=(20, 20, 20))
        lines.append(f"{kind} " + " ".join(f"{px / width:.5f} {py / height:.5f}" for px, py in points))
    return picture, lines


def _color(rng: random.Random, low: int, high: int) -> tuple[int, ...]:
    return tuple(rng.randrange(low, high) for _ in range(3))


def data_set(folder: Path, count: int, side: int) -> Path:
    """Writes pictures and outlines for training; returns the file that the trainer takes."""
    rng = random.Random(1)
    for part, number in (("train", count), ("val", 16)):
        for kind in ("images", "labels"):
            (folder / kind / part).mkdir(parents=True, exist_ok=True)
        for index in range(number):
            picture, lines = draw(rng, side, rng.choice([side * 3 // 4, side]))
            picture.save(folder / "images" / part / f"{index}.png")
            (folder / "labels" / part / f"{index}.txt").write_text("\n".join(lines))
    names = "\n".join(f"  {index}: {name}" for index, name in enumerate(CLASSES))
    described = folder / "data.yaml"
    described.write_text(f"path: {folder.resolve()}\ntrain: images/train\nval: images/val\nnames:\n{names}\n")
    return described
