"""How far label maps agree: equal voxels, and Dice of every label."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class Limits:
    """The least share of equal voxels and the least Dice of every label."""

    equal: float
    dice: float


@dataclass
class Agreement:
    """Counts over some label maps; `overlap` and `sizes` by label."""

    voxels: int = 0
    different: int = 0
    overlap: NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, dtype=np.int64))
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, dtype=np.int64))

    def add(self, found: NDArray[np.uint8], expected: NDArray[np.uint8]) -> int:
        """Adds a label map and the expected one; returns how many voxels differ."""
        different = int((found != expected).sum())
        self.voxels += expected.size
        self.different += different
        self.overlap += np.bincount(found[found == expected], minlength=256)
        self.sizes += np.bincount(found.ravel(), minlength=256) + np.bincount(expected.ravel(), minlength=256)
        return different

    @property
    def equal(self) -> float:
        return 1 - self.different / max(self.voxels, 1)

    @property
    def dice(self) -> float:
        """The lowest over the labels; 0 without any."""
        present = np.flatnonzero(self.sizes[1:]) + 1
        return float((2 * self.overlap[present] / self.sizes[present]).min()) if len(present) else 0.0
