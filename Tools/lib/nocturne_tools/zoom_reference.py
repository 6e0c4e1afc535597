"""A slow reference of `scipy.ndimage.zoom(..., mode="nearest")` of orders 0 and 1, in NumPy: the same bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def zoomed_shape(shape: Sequence[int], zoom: Sequence[float]) -> tuple[int, ...]:
    """The sizes of the result: products in double precision, rounded half to even."""
    return tuple(int(round(int(size) * float(factor))) for size, factor in zip(shape, zoom))


def coordinates(size: int, target: int) -> NDArray[np.float64]:
    """Where the voxels of an axis of the result lie between those of the input: first on first, last on last.

    The step is one quotient, and every coordinate one product. Rounding may take the last one above `size - 1`; it is
    not clamped.
    """
    step = (size - 1) / (target - 1) if target > 1 else 1.0
    return np.arange(target, dtype=np.float64) * step


def linear_zoom(values: NDArray, target: Sequence[int]) -> NDArray[np.float64]:
    """Order 1: the eight neighbours in the order of the array, each times its three weights, summed one by one."""
    places, weights = [], []
    for size, wanted in zip(values.shape, target):
        place = coordinates(size, wanted)
        start = np.floor(place).astype(np.int64)
        fraction = place - start
        first = 1.0 - fraction
        # Beyond the border there is the last voxel again. The second weight is what the first one leaves of 1.
        places.append((start, np.minimum(start + 1, size - 1)))
        weights.append((first, 1.0 - first))
    total = np.zeros(tuple(target), dtype=np.float64)
    for corner in np.ndindex(*[2] * values.ndim):
        part = values[np.ix_(*[place[side] for place, side in zip(places, corner)])].astype(np.float64)
        for axis, side in enumerate(corner):
            part *= weights[axis][side].reshape([-1 if a == axis else 1 for a in range(values.ndim)])
        total += part
    return total


def nearest_zoom(values: NDArray, target: Sequence[int]) -> NDArray:
    """Order 0: the voxel at `floor(coordinate + 0.5)`."""
    places = [
        np.minimum(np.floor(coordinates(size, wanted) + 0.5).astype(np.int64), size - 1)
        for size, wanted in zip(values.shape, target)
    ]
    return values[np.ix_(*places)]


def truncated(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """The cast of C and NumPy: towards zero."""
    return values.astype(np.int32)
