"""A picture being drawn: coordinates, smooth noise, blending and the marks of which lesions consist."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Field = NDArray[np.float32]
Color = tuple[float, float, float]


class Canvas:
    """RGB of 0...1 as (height, width, 3). `u` goes right and `v` down; the shorter side spans -1...1."""

    def __init__(self, height: int, width: int, rng: np.random.Generator) -> None:
        self.height, self.width, self.rng = height, width, rng
        self.scale = min(height, width) / 2
        self.u = np.broadcast_to(
            ((np.arange(width) + 0.5 - width / 2) / self.scale).astype(np.float32), (height, width)
        )
        self.v = np.broadcast_to(
            ((np.arange(height) + 0.5 - height / 2) / self.scale).astype(np.float32)[:, None], (height, width)
        )
        self.rgb = np.zeros((height, width, 3), np.float32)

    def noise(self, cells: float) -> Field:
        """Smooth noise of about mean 0 and deviation 1 with `cells` waves across the shorter side."""
        rows = max(4, round(cells * self.height / (2 * self.scale)) + 3)
        columns = max(4, round(cells * self.width / (2 * self.scale)) + 3)
        grid = Image.fromarray(self.rng.standard_normal((rows, columns)).astype(np.float32))
        return np.asarray(grid.resize((self.width, self.height), Image.Resampling.BICUBIC)) * 1.4

    def blend(self, mask: Field, color: Color) -> None:
        """Paints `color` where `mask` (0...1) is."""
        self.rgb += np.clip(mask, 0, 1)[..., None] * (np.array(color, np.float32) - self.rgb)

    def shade(self, amount: Field) -> None:
        """Multiplies by 1 + amount."""
        self.rgb *= np.clip(1 + amount, 0, 2)[..., None]

    def warped(self, strength: float, cells: float) -> tuple[Field, Field]:
        """The coordinates, distorted."""
        return self.u + strength * self.noise(cells), self.v + strength * self.noise(cells)

    def honeycomb(self, cells: float, disorder: float) -> Field:
        """Lines (1) around holes (0): a pigment network with `cells` holes across the shorter side."""
        u, v = self.warped(disorder * 0.6 / cells, cells / 4)
        turn = self.rng.uniform(0, math.pi)
        total = np.zeros_like(u)
        for step in range(3):
            angle = turn + step * math.pi / 3
            total += np.cos(math.pi * cells * (math.cos(angle) * u + math.sin(angle) * v))
        return np.clip((0.25 - total) / 1.2, 0, 1)

    def spots(
        self, centers: list[tuple[float, float]], radii: list[float], softness: float = 0.35, stretch: float = 1.0
    ) -> Field:
        """Round marks at (u, v) with radii in the same unit, each drawn in its own small window."""
        mask = np.zeros((self.height, self.width), np.float32)
        for (u, v), radius in zip(centers, radii):
            reach = radius * max(stretch, 1) * (1 + softness)
            x0, x1 = self._pixels(u, reach, self.width)
            y0, y1 = self._pixels(v, reach, self.height)
            if x0 >= x1 or y0 >= y1:
                continue
            angle = self.rng.uniform(0, math.pi)
            du, dv = self.u[y0:y1, x0:x1] - u, self.v[y0:y1, x0:x1] - v
            along = (du * math.cos(angle) + dv * math.sin(angle)) / stretch
            across = -du * math.sin(angle) + dv * math.cos(angle)
            distance = np.sqrt(along**2 + across**2) / radius
            window = mask[y0:y1, x0:x1]
            np.maximum(window, np.clip((1 + softness / 2 - distance) / softness, 0, 1), out=window)
        return mask

    def curves(self, lines: list[list[tuple[float, float]]], widths: list[float], blur: float = 0.6) -> Field:
        """Polylines through (u, v) points, widths in the same unit."""
        picture = Image.new("L", (self.width, self.height))
        draw = ImageDraw.Draw(picture)
        for line, width in zip(lines, widths):
            points = [(u * self.scale + self.width / 2, v * self.scale + self.height / 2) for u, v in line]
            draw.line(points, fill=255, width=max(1, round(width * self.scale)), joint="curve")
        return np.asarray(picture.filter(ImageFilter.GaussianBlur(blur)), np.float32) / 255

    def _pixels(self, center: float, reach: float, extent: int) -> tuple[int, int]:
        first = math.floor((center - reach) * self.scale + extent / 2)
        last = math.ceil((center + reach) * self.scale + extent / 2)
        return max(0, first), min(extent, last + 1)
