"""The maps that a network is trained to predict, from exact instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage


def target_maps(instances: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(3, height, width) in 0...1: foreground; boundary, within two pixels of a change of instance; centre, the depth
    inside the instance over its largest depth."""
    change = np.zeros(instances.shape, bool)
    for axis in (0, 1):
        differs = np.diff(instances, axis=axis) != 0
        first = [slice(None), slice(None)]
        second = [slice(None), slice(None)]
        first[axis], second[axis] = slice(None, -1), slice(1, None)
        change[tuple(first)] |= differs
        change[tuple(second)] |= differs
    depth = ndimage.distance_transform_edt(~change) if change.any() else np.full(instances.shape, 9.0)
    ids = np.arange(int(instances.max()) + 1)
    deepest = np.maximum(ndimage.maximum(depth, instances, ids), 1)
    inside = instances > 0
    centre = np.where(inside, depth / deepest[instances], 0)
    return np.stack([inside, depth <= 1, centre]).astype(np.float32)
