"""What Nocturne does to a photo before a classifier sees it: square, size, colour constancy, normalisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MEAN = [0.485, 0.456, 0.406]
DEVIATION = [0.229, 0.224, 0.225]
POWER = 6.0


def square(picture: Image.Image, size: int) -> NDArray[np.uint8]:
    """The middle square of an upright RGB picture, brought to `size` as Pillow's bilinear does."""
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    cut = picture.crop((left, top, left + side, top + side))
    return np.asarray(cut.resize((size, size), Image.Resampling.BILINEAR))


def shades_of_gray(picture: NDArray[np.uint8], power: float = POWER) -> NDArray[np.float32]:
    """Every channel times (mean of the norms / its norm), the norms being Minkowski means; 0...255."""
    values = picture.astype(np.float64)
    norms = np.mean(values**power, axis=(0, 1)) ** (1 / power)
    if norms.min() < 1e-6:
        return values.astype(np.float32)
    return np.clip(values * (norms.mean() / norms), 0, 255).astype(np.float32)


def normalised(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(height, width, 3) of 0...255 -> (3, height, width) by ImageNet's mean and deviation."""
    scaled = (values / np.float32(255) - np.array(MEAN, np.float32)) / np.array(DEVIATION, np.float32)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1), np.float32)
