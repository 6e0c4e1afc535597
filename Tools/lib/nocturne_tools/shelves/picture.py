"""Draws a synthetic shelf: a picture like a camera's, and the exact mask of every book."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from .layout import Book, Row, draw_layout
from .spines import color, grain, spine

SHAPES = ((640, 480), (640, 480), (480, 640), (640, 400), (560, 560), (640, 360))


@dataclass
class Shelf:
    """A picture (height, width, 3) and its instances (height, width): 0 is background, books count from 1."""

    image: NDArray[np.uint8]
    instances: NDArray[np.uint8]

    @property
    def count(self) -> int:
        return int(self.instances.max())


def homography(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 3x3 map that takes the four source points to the four target points."""
    rows = []
    for (x, y), (u, v) in zip(source, target):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    solution = np.linalg.solve(np.array(rows), target.reshape(-1))
    return np.append(solution, 1).reshape(3, 3)


def mapped(points: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.c_[points, np.ones(len(points))] @ matrix.T
    return result[:, :2] / result[:, 2:]


def camera(rng: np.random.Generator, rows: list[Row], width: float, height: float) -> NDArray[np.float64]:
    """A perspective from slightly beside the shelf, with every book in the picture."""
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float64)
    strength = rng.uniform(0, 0.07) if rng.random() < 0.7 else 0.005
    moved = corners + rng.uniform(-strength, strength, (4, 2)) * [width, height]
    angle = rng.normal(0, 0.025)
    center = np.array([width / 2, height / 2])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = (moved - center) @ turn.T + center
    books = [book.corners for row in rows for book in row.books]
    if books:
        seen = mapped(np.concatenate(books), homography(corners, moved))
        low, high = seen.min(0), seen.max(0)
        inner = np.array([width, height]) * (1 - 2 * rng.uniform(0.005, 0.05))
        scale = float(min(1.0, *(inner / np.maximum(high - low, 1))))
        if rng.random() < 0.25:
            scale *= rng.uniform(0.6, 1.0)  # from further away
        slack = np.maximum(np.array([width, height]) - (high - low) * scale, 0)
        start = np.clip(low * scale + center * (1 - scale), slack * 0.05, slack * 0.95)
        moved = (moved - low) * scale + start
    return homography(corners, moved)


def background(rng: np.random.Generator, rows: list[Row], width: int, height: int, scale: float) -> Image.Image:
    """Wall, boards, posts and other objects, from the front."""
    wall = np.array(color(rng), dtype=np.float32)
    wall = (wall.mean() + (wall - wall.mean()) * rng.uniform(0, 0.6)) * rng.uniform(0.4, 1.1)  # walls are muted
    value = np.broadcast_to(wall, (height, width, 3)).copy()
    value += (grain(rng, width, height, 60) * rng.uniform(0, 14) + grain(rng, width, height, 3) * rng.uniform(0, 5))[..., None]
    if rng.random() < 0.08:  # boards or wallpaper behind
        period = rng.uniform(12, 90) * scale
        stripe = (np.arange(width) % period < rng.uniform(0.02, 0.5) * period) * rng.uniform(-30, 30)
        value += stripe[None, :, None]
    picture = Image.fromarray(np.clip(value, 0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(picture)
    wood = np.array(color(rng), dtype=np.float32) * rng.uniform(0.5, 1.0)
    plain = tuple(int(v) for v in wood)
    for row in rows:
        box = (0, row.bottom * scale, width, (row.bottom + row.board) * scale)
        pen.rectangle(box, fill=plain)
        pen.line((0, box[1], width, box[1]), fill=tuple(int(v * 0.6) for v in wood), width=max(1, int(scale)))
    if rng.random() < 0.5:
        pen.rectangle((-2, 0, rows[0].left * scale - 2, height), fill=plain)
    if rng.random() < 0.5:
        pen.rectangle((rows[0].right * scale + 2, 0, width + 4, height), fill=plain)
    for row in rows:
        if rng.random() < 0.35:  # a vase, a ball, a plate: round, so not a book
            size = rng.uniform(0.15, 0.6) * (row.bottom - row.top) * scale
            x = rng.uniform(row.left, row.right) * scale
            slim = size * rng.uniform(0.5, 1.2)
            pen.ellipse((x, row.bottom * scale - size, x + slim, row.bottom * scale), fill=color(rng))
    return picture


def paste_book(
    canvas: Image.Image, ids: Image.Image, book: Book, number: int, view: NDArray[np.float64], scale: float, dark: float
) -> None:
    """Draws one book with its shadow in the crack, and writes its number into `ids`."""
    quad = mapped(book.corners, view) * scale
    low = np.floor(quad.min(0)).astype(int) - 2
    high = np.ceil(quad.max(0)).astype(int) + 3
    low, high = np.maximum(low, 0), np.minimum(high, canvas.size)
    if (high <= low).any():
        return
    texture = spine(book.style, book.seed, int(book.thickness * scale), int(book.height * scale))
    w, h = texture.size
    source = np.array([[0, 0], [w, 0], [w, h], [0, h]], dtype=np.float64)
    back = homography(quad - low, source)
    size = tuple(int(v) for v in high - low)
    warped = texture.transform(size, Image.Transform.PERSPECTIVE, tuple((back / back[2, 2]).reshape(-1)[:8]), Image.Resampling.BILINEAR)
    if book.depth:
        warped = warped.point(lambda v: int(v * (1 - 0.35 * book.depth)))
    mask = Image.new("L", size, 0)
    polygon = [tuple(p) for p in quad - low]
    ImageDraw.Draw(mask).polygon(polygon, fill=255)
    crack = Image.new("L", size, 0)
    line = max(1, int(round(scale * 1.2)))
    ImageDraw.Draw(crack).line(polygon + polygon[:1], fill=int(255 * dark), width=line)
    box = (int(low[0]), int(low[1]))
    canvas.paste(warped, box, mask)
    canvas.paste((8, 6, 5), box, ImageChops.multiply(crack, mask))
    ids.paste(number, (*box, int(high[0]), int(high[1])), mask)


def cast_shadows(rng: np.random.Generator, canvas: Image.Image, ids: Image.Image, scale: float) -> None:
    """Books throw a soft shadow on what is behind them."""
    silhouette = ids.point(lambda v: 255 if v else 0)
    moved = ImageChops.offset(silhouette, int(rng.uniform(-8, 8) * scale), int(rng.uniform(-2, 6) * scale))
    soft = moved.filter(ImageFilter.GaussianBlur(rng.uniform(1, 6) * scale))
    behind = ImageChops.multiply(soft, ImageChops.invert(silhouette)).point(lambda v, s=rng.uniform(0.1, 0.7): int(v * s))
    canvas.paste((0, 0, 0), (0, 0), behind)


def exposed(rng: np.random.Generator, picture: Image.Image) -> NDArray[np.uint8]:
    """Light, colour balance, lens and sensor."""
    value = np.asarray(picture, dtype=np.float32)
    height, width = value.shape[:2]
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j].astype(np.float32)
    light = 1 + rng.uniform(-0.25, 0.25) * x + rng.uniform(-0.25, 0.25) * y
    light -= rng.uniform(0, 0.25) * (x**2 + y**2)
    if rng.random() < 0.4:  # a shadow that falls over the shelf
        angle, at, soft = rng.uniform(0, 6.28), rng.uniform(-0.7, 0.7), rng.uniform(0.01, 0.2)
        side = np.cos(angle) * x + np.sin(angle) * y - at
        light *= 1 - rng.uniform(0.15, 0.5) / (1 + np.exp(np.clip(-side / soft, -60, 60)))
    value = value * light[..., None] * rng.uniform(0.85, 1.15, 3).astype(np.float32) * rng.uniform(0.85, 1.4)
    value = 255 * np.clip(value / 255, 0, 1) ** rng.uniform(0.8, 1.25)
    lens = Image.fromarray(value.astype(np.uint8)).filter(ImageFilter.GaussianBlur(rng.uniform(0, 1.0)))
    value = np.asarray(lens, dtype=np.float32)
    value = value + rng.standard_normal(value.shape, dtype=np.float32) * rng.uniform(0.5, 8)
    taken = Image.fromarray(np.clip(value, 0, 255).astype(np.uint8))
    if rng.random() < 0.6:
        store = io.BytesIO()
        taken.save(store, "JPEG", quality=int(rng.integers(45, 95)))
        taken = Image.open(store)
    return np.asarray(taken.convert("RGB"))


def draw_shelf(seed: int, books: int, scale: float = 1.0) -> Shelf:
    """The shelf of a seed with that many books; about 640 * scale pixels on its long side.

    A book that ends up nearly hidden is left out, so the count may be a little lower than asked for.
    """
    rng = np.random.default_rng([0x5E1F, seed, books])
    width, height = SHAPES[int(rng.integers(len(SHAPES)))]
    fine = 2 * scale  # drawn at twice the size
    rows = draw_layout(rng, books, width, height)
    view = camera(rng, rows, width, height)
    w, h = int(width * fine), int(height * fine)
    front = background(rng, rows, w, h, fine)
    shift = np.diag([fine, fine, 1.0])
    back = np.linalg.inv(shift @ view @ np.linalg.inv(shift))
    # Beyond the drawn wall its edge colour is repeated.
    edge = tuple(int(v) for v in np.asarray(front)[2, 2])
    canvas = front.transform((w, h), Image.Transform.PERSPECTIVE, tuple((back / back[2, 2]).reshape(-1)[:8]), Image.Resampling.BILINEAR, fillcolor=edge)
    ids = Image.new("L", (w, h), 0)
    number, dark = 0, rng.uniform(0.3, 0.95)
    order = [book for row in rows for book in row.books]
    layers = Image.new("RGB", (w, h))
    layers.paste(canvas)
    for book in order:
        number += 1
        paste_book(layers, ids, book, number, view, fine, float(np.clip(dark + rng.normal(0, 0.1), 0, 1)))
    cast_shadows(rng, layers, ids, fine)
    small = layers.reduce(2)
    truth = np.asarray(ids)[1::2, 1::2][: small.size[1], : small.size[0]]
    image = exposed(rng, small)
    sizes = np.bincount(truth.ravel(), minlength=number + 1)
    table = np.zeros(256, np.uint8)
    kept = [n for n in range(1, number + 1) if sizes[n] >= 40 * scale * scale]
    for place, n in enumerate(kept, 1):
        table[n] = place
    return Shelf(image, table[truth])
