"""The positions of the books of a synthetic shelf: rows, gaps, leaning books, stacks. Lengths are pixels of the canvas."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]


@dataclass
class Book:
    """One spine: its corners on the shelf (top left, top right, bottom right, bottom left of the upright spine)."""

    corners: NDArray[np.float64]
    thickness: float
    height: float
    style: int  # books of one style resemble volumes of one set
    seed: int
    depth: float = 0.0  # 0 stands at the front edge, 1 is pushed far back and darker


@dataclass
class Row:
    """One shelf board: its extent, the bottom of its books, and the lower edge of the board above."""

    left: float
    right: float
    top: float
    bottom: float
    board: float  # thickness of the board below
    books: list[Book] = field(default_factory=list)


def rectangle(left: float, bottom: float, width: float, height: float, angle: float = 0.0) -> NDArray[np.float64]:
    """Corners of an upright spine whose lower left corner is given, turned by `angle` (to the left if positive)."""
    along = np.array([np.cos(angle), -np.sin(angle)])
    up = np.array([-np.sin(angle), -np.cos(angle)])
    low = np.array([left, bottom])
    return np.array([low + height * up, low + height * up + width * along, low + width * along, low])


def lying(left: float, bottom: float, length: float, thickness: float, flipped: bool) -> NDArray[np.float64]:
    """Corners of a horizontal spine; its head points right, or left when flipped."""
    a, b = (left, bottom - thickness), (left + length, bottom - thickness)
    c, d = (left + length, bottom), (left, bottom)
    return np.array([d, a, b, c] if flipped else [b, c, d, a], dtype=np.float64)


def split(rng: np.random.Generator, count: int, parts: int) -> list[int]:
    """`count` divided into `parts` numbers of at least one each."""
    return list(1 + rng.multinomial(count - parts, rng.dirichlet([4.0] * parts))) if count >= parts else [count]


def row_count(rng: np.random.Generator, books: int, portrait: bool) -> int:
    """The number of rows for a number of books."""
    if books < 4:
        return 1
    most = 4 if books > 14 else 3 if books > 8 else 2
    weights = np.array([0.5, 0.28, 0.14, 0.08][:most])
    if portrait:
        weights = weights[::-1]
    return int(rng.choice(np.arange(1, most + 1), p=weights / weights.sum()))


def draw_layout(rng: np.random.Generator, books: int, width: float, height: float) -> list[Row]:
    """`books` books in rows that fill a canvas of `width` by `height`."""
    rows = row_count(rng, books, height > width)
    margin = rng.uniform(0.0, 0.06, 2) * width
    top, bottom = rng.uniform(0.0, 0.08) * height, rng.uniform(0.01, 0.08) * height
    board = rng.uniform(0.015, 0.05) * height / np.sqrt(rows)
    pitch = (height - top - bottom) / rows
    shelf = []
    for index, count in enumerate(split(rng, books, rows) if books else [0]):
        start = top + index * pitch
        shelf.append(Row(margin[0], width - margin[1], start, start + pitch - board, board))
        fill_row(rng, shelf[-1], count)
    return shelf


def fill_row(rng: np.random.Generator, row: Row, count: int) -> None:
    """Puts `count` books into the row, from left to right."""
    width, tall = row.right - row.left, row.bottom - row.top
    stacked = int(rng.integers(2, min(count, 5) + 1)) if count >= 2 and rng.random() < 0.25 else 0
    standing = count - stacked
    base = rng.uniform(0.55, 0.95)
    style, left_in_style = int(rng.integers(1 << 30)), 0
    sizes: list[tuple[float, float, int]] = []
    for _ in range(count):
        if left_in_style == 0:
            style = int(rng.integers(1 << 30))
            left_in_style = int(rng.integers(2, 7)) if rng.random() < 0.2 else 1
            high = float(np.clip(base * rng.normal(1, 0.12), 0.35, 0.98)) * tall
            thick = high * float(np.clip(rng.lognormal(np.log(0.15), 0.45), 0.05, 0.42))
        left_in_style -= 1
        sizes.append((thick * rng.uniform(0.9, 1.1), min(high * rng.uniform(0.99, 1.01), 0.985 * tall), style))
    leaning = int(rng.integers(1, min(standing, 4) + 1)) if standing and rng.random() < 0.3 else 0
    gaps = np.where(rng.random(count + 1) < 0.14, rng.uniform(0.2, 2.5, count + 1), rng.uniform(0, 0.05, count + 1))
    crack = float(np.mean([s[0] for s in sizes])) if sizes else 0.0
    x, blocks = 0.0, []
    stack_first = stacked > 0 and rng.random() < 0.5
    if stack_first:
        x = stack(rng, row, sizes[:stacked], x, blocks) + crack * gaps[count]
    for index, (thick, high, kind) in enumerate(sizes[stacked : count - leaning]):
        bottom = row.bottom - (rng.uniform(0, 0.01) * tall if rng.random() < 0.1 else 0)
        corners = rectangle(x, bottom, thick, high, rng.normal(0, 0.004))
        blocks.append(Book(corners, thick, high, kind, int(rng.integers(1 << 30))))
        x += thick + crack * gaps[index]
    x = lean(rng, row, sizes[count - leaning :], x, blocks)
    if stacked and not stack_first:
        x = stack(rng, row, sizes[:stacked], x + crack * gaps[count], blocks)
    if not blocks:
        return
    extent = max(b.corners[:, 0].max() for b in blocks)
    narrow = min(1.0, 0.985 * width / extent)
    if standing == count and extent < width and rng.random() < 0.6:
        narrow = min(width / extent * 0.985, 1.5)  # a full row, of thicker books
    start = row.left + rng.uniform(0, width - extent * narrow)
    for book in blocks:
        book.corners[:, 0] = start + book.corners[:, 0] * narrow
        book.thickness *= narrow if book.corners[0, 1] != book.corners[3, 1] else 1
        book.depth = float(rng.uniform(0, 1)) if rng.random() < 0.3 else 0.0
    row.books = blocks


def lean(
    rng: np.random.Generator, row: Row, sizes: list[tuple[float, float, int]], x: float, blocks: list[Book]
) -> float:
    """Appends books that lean to the left against the ones before them; returns the position after them."""
    angle = float(rng.uniform(0.05, 0.38))
    if not sizes:
        return x
    support = blocks[-1].height if blocks else 1e9
    contact = min(sizes[0][1], support / np.cos(angle))
    x += contact * np.sin(angle) if blocks else sizes[0][1] * np.sin(angle)
    for thick, high, kind in sizes:
        # Rotated to the left it stands on its lower left corner; the right one is raised.
        high = min(high, (row.bottom - row.top) * 0.97 - thick * np.sin(angle))
        corners = rectangle(x, row.bottom, thick, high, angle)
        blocks.append(Book(corners, thick, high, kind, int(rng.integers(1 << 30))))
        x += thick / np.cos(angle) + rng.uniform(0, 0.02) * thick
    return x


def stack(
    rng: np.random.Generator, row: Row, sizes: list[tuple[float, float, int]], x: float, blocks: list[Book]
) -> float:
    """Appends a stack of horizontal books; returns the position after them."""
    tall = row.bottom - row.top
    total = sum(s[0] for s in sizes)
    flat = min(1.0, 0.9 * tall / total)
    longest = max(s[1] for s in sizes)
    bottom = row.bottom
    for thick, high, kind in sizes:
        length = high * rng.uniform(0.92, 1.0)
        offset = rng.uniform(0, longest - length)
        corners = lying(x + offset, bottom, length, thick * flat, bool(rng.random() < 0.5))
        blocks.append(Book(corners, thick * flat, length, kind, int(rng.integers(1 << 30))))
        bottom -= thick * flat
    return x + longest
