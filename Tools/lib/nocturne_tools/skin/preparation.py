"""Nocturne's preparation of a photo for a classifier, for drawings that are square already.

For photographs see `photo_reference.py`, whose colour constancy is used here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nocturne_tools.photo_reference import DEVIATION, MEAN, shades_of_gray


def corrected(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Colours after Shades of Gray, 0...255."""
    gains, _ = shades_of_gray(picture)
    return np.clip(picture * gains, 0, 255).astype(np.float32)


def normalised(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(height, width, 3) of 0...255 -> (3, height, width) by ImageNet's mean and deviation."""
    scaled = (values / np.float32(255) - MEAN.astype(np.float32)) / DEVIATION.astype(np.float32)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1), np.float32)
