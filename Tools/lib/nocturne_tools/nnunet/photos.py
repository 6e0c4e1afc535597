"""Drawn photos with labels: discs and ellipses in colours that a small network tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage import io

GROUND = (120, 104, 86)
# Of the labels 1, 2 and 3.
COLORS = [(196, 70, 60), (70, 130, 90), (236, 190, 80)]


@dataclass(frozen=True)
class PhotoSize:
    """Pixels across and down, and the width of a black border within them."""

    width: int
    height: int
    border: int = 0


def draw(seed: int, size: PhotoSize, channels: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A photo (rows, columns, red green blue), or grey (rows, columns) for one channel, and its labels 0...3."""
    rng = np.random.default_rng([0x9407, seed])
    inner = (size.height - 2 * size.border, size.width - 2 * size.border)
    rows, columns = np.mgrid[: inner[0], : inner[1]].astype(np.float64)
    image = np.full((*inner, 3), GROUND, dtype=np.float64)
    labels = np.zeros(inner, dtype=np.uint8)

    def paint(value: int, row: float, column: float, radii: NDArray[np.float64]) -> None:
        inside = ((rows - row) / radii[0]) ** 2 + ((columns - column) / radii[1]) ** 2 < 1
        image[inside], labels[inside] = COLORS[value - 1], value

    scale = min(60.0, *inner) / 2
    for _ in range(max(1, round(inner[0] * inner[1] / 4000))):
        row, column = rng.uniform(0, inner[0]), rng.uniform(0, inner[1])
        paint(1, row, column, rng.uniform(0.35, 0.7, 2) * scale)
        paint(3, row + rng.uniform(-2, 2), column + rng.uniform(-2, 2), rng.uniform(0.15, 0.25, 2) * scale)
        paint(2, rng.uniform(0, inner[0]), rng.uniform(0, inner[1]), rng.uniform(0.25, 0.5, 2) * scale)
    light = ndimage.gaussian_filter(rng.standard_normal(inner), 12)
    image *= 1 + 0.15 * (light / max(float(np.abs(light).max()), 1e-9))[..., None]
    image += 8 * ndimage.gaussian_filter(rng.standard_normal(image.shape), (0.6, 0.6, 0))
    frame = ((size.border, size.border), (size.border, size.border))
    # Nothing inside the border is black: what nnU-Net crops is the border.
    photo = np.pad(np.clip(np.round(image), 1, 255).astype(np.uint8), (*frame, (0, 0)))
    return photo if channels == 3 else photo[..., 1], np.pad(labels, frame)


def save(path: Path, image: NDArray[np.uint8]) -> None:
    """Writes a PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    io.imsave(path, image, check_contrast=False)
