"""How the instances of one program agree with those of another on the same photo."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
LOWEST = 0.5


@dataclass(frozen=True)
class Instance:
    """`mask` has the photo's extents (y, x). `box`: left, top, right, bottom by the network, in pixels, where known."""

    kind: str
    score: float
    mask: Mask
    box: tuple[float, float, float, float] | None = None


def overlap(one: Mask, other: Mask) -> float:
    """Intersection over union."""
    union = int((one | other).sum())
    return int((one & other).sum()) / union if union else 1.0


def edges(mask: Mask) -> NDArray[np.int64]:
    """Left, top, right and bottom of the pixels of a mask, in pixels."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])


@dataclass
class Agreement:
    """Counts over photos. Two instances are a pair when class and place agree: masks with at least ``LOWEST``."""

    photos: int = 0
    expected: int = 0
    found: int = 0
    overlaps: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    inner: int = 0
    pixels: int = 0

    def add(self, expected: list[Instance], found: list[Instance]) -> None:
        """Counts one photo; pairs are made in the order of the expected scores."""
        self.photos += 1
        self.expected += len(expected)
        self.found += len(found)
        left = list(found)
        for one in sorted(expected, key=lambda instance: -instance.score):
            same = [other for other in left if other.kind == one.kind]
            best = max(same, key=lambda other: overlap(one.mask, other.mask), default=None)
            if best is None or overlap(one.mask, best.mask) < LOWEST:
                continue
            left = [other for other in left if other is not best]
            self._pair(one, best)

    def _pair(self, one: Instance, other: Instance) -> None:
        self.overlaps.append(overlap(one.mask, other.mask))
        self.scores.append(abs(one.score - other.score))
        self.places.append(int(np.abs(edges(one.mask) - edges(other.mask)).max()))
        different = one.mask ^ other.mask
        self.pixels += int(one.mask.sum())
        if one.box is not None:
            # The row and column of pixels that the box's upper left corner divides.
            different[max(int(np.floor(one.box[1])), 0) :][:1] = False
            different[:, max(int(np.floor(one.box[0])), 0) :][:, :1] = False
        self.inner += int(different.sum())

    def row(self) -> str:
        """Cells of a table, as ``HEADER`` names them."""
        if not self.overlaps:
            return f"{self.photos} | {self.expected} | {self.found} | 0 | | | | | |"
        return (
            f"{self.photos} | {self.expected} | {self.found} | {len(self.overlaps)} | {min(self.overlaps):.3f} | "
            f"{np.mean(self.overlaps):.4f} | {max(self.scores):.1e} | {max(self.places)} | "
            f"{self.inner} of {self.pixels}"
        )

    @property
    def share(self) -> float:
        """Pairs among all instances of either program."""
        return 2 * len(self.overlaps) / max(self.expected + self.found, 1)


HEADER = (
    "photos | expected | found | pairs | lowest IoU | mean IoU | largest difference of a score | of an edge, pixels | "
    "pixels that differ, but for the box's first row and column"
)
