"""Bodies of ellipsoids as images and labels on any grid: quick to make, and quick for a small network to learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

# Values inside body, organ 1, organ 2 and core of organ 1 (label 3), for each kind of image; outside: the last.
CONTRASTS = {"ct": (30.0, 110.0, 190.0, 260.0, -1000.0), "t1": (300.0, 520.0, 420.0, 760.0, 0.0)}
CONTRASTS |= {"t2": (350.0, 260.0, 640.0, 500.0, 0.0)}


@dataclass(frozen=True)
class Grid:
    """Voxels (i, j, k), spacing (mm), rotation about three axes (degrees), and the axes that run backwards."""

    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]
    rotation: tuple[float, float, float] = (0, 0, 0)
    flipped: tuple[int, ...] = ()
    order: tuple[int, int, int] = (0, 1, 2)  # which direction of the body each axis follows

    def affine(self) -> NDArray[np.float64]:
        """Voxel to RAS+ mm, the volume's centre at (5, -7, 11)."""
        turn = np.eye(3)
        for axis, degrees in enumerate(self.rotation):
            a, b = (n for n in range(3) if n != axis)
            part = np.eye(3)
            part[[a, a, b, b], [a, b, a, b]] = np.cos(np.radians(degrees)) * np.array([1, 0, 0, 1]) + np.sin(
                np.radians(degrees)
            ) * np.array([0, -1, 1, 0])
            turn = turn @ part
        signs = [-1 if axis in self.flipped else 1 for axis in range(3)]
        linear = (turn @ np.eye(3)[:, list(self.order)]) * signs * np.array(self.spacing)
        affine = np.eye(4)
        affine[:3, :3] = linear
        affine[:3, 3] = np.array([5, -7, 11]) - linear @ ((np.array(self.shape) - 1) / 2)
        return affine

    def center(self) -> NDArray[np.float64]:
        """Where the middle of the volume is, in RAS+ mm."""
        return np.array([5, -7, 11])


@dataclass(frozen=True)
class Stack(Grid):
    """A volume in a TIFF: it has no place but a spacing, beside the file. Columns, rows and pages are (i, j, k)."""

    def affine(self) -> NDArray[np.float64]:
        """Voxel to RAS+ mm, as ITK places an array of which it knows the spacing alone."""
        return np.diag([-self.spacing[0], -self.spacing[1], self.spacing[2], 1.0])

    def center(self) -> NDArray[np.float64]:
        return self.affine()[:3, :3] @ ((np.array(self.shape) - 1) / 2)


def render(
    seed: int, grid: Grid, contrasts: list[str], size: float = 60
) -> tuple[list[NDArray[np.int16]], NDArray[np.uint8]]:
    """One image (i, j, k) for each contrast and the labels 0...3; the body is about `size` mm across."""
    rng = np.random.default_rng([0x5A9E, seed])
    affine = grid.affine()
    index = np.stack(np.meshgrid(*[np.arange(n) for n in grid.shape], indexing="ij"))
    place = np.tensordot(affine[:3, :3], index, 1) + affine[:3, 3][:, None, None, None]
    place -= grid.center()[:, None, None, None]
    place /= size / 2

    def inside(center: NDArray, radii: NDArray) -> NDArray[np.float64]:
        """About the signed distance to an ellipsoid's surface in mm, positive inside."""
        scaled = np.sqrt((((place - center[:, None, None, None]) / radii[:, None, None, None]) ** 2).sum(axis=0))
        return (1 - scaled) * radii.min() * size / 2

    body = inside(rng.uniform(-0.05, 0.05, 3), rng.uniform(0.8, 0.95, 3))
    center = np.array([-0.35, 0.05, 0.1]) + rng.uniform(-0.08, 0.08, 3)
    parts = [
        inside(center, rng.uniform(0.36, 0.46, 3)),
        inside(np.array([0.4, -0.05, -0.1]) + rng.uniform(-0.06, 0.06, 3), rng.uniform(0.28, 0.38, 3)),
        inside(center + rng.uniform(-0.05, 0.05, 3), rng.uniform(0.22, 0.28, 3)),
    ]
    labels = np.zeros(grid.shape, dtype=np.uint8)
    for value, part in enumerate(parts, start=1):
        labels[part > 0] = value
    images = []
    for contrast in contrasts:
        *values, outside = CONTRASTS[contrast]
        image = np.full(grid.shape, values[0])
        for value, part in zip(values[1:], parts):
            image += (value - image) / (1 + np.exp(-np.clip(2 * part, -30, 30)))
        noise = ndimage.gaussian_filter(rng.standard_normal(grid.shape), 0.6)
        image += noise * 0.02 * (max(values) - min(values)) / noise.std()
        image[body <= 0] = outside
        images.append(np.round(image).astype(np.int16))
    return images, labels


def save(path: Path, array: NDArray, affine: NDArray[np.float64]) -> None:
    """Writes a NIfTI whose qform and sform agree."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = nib.Nifti1Image(array, affine)
    image.set_qform(affine, 1)
    image.set_sform(affine, 1)
    image.header.set_xyzt_units("mm")
    nib.save(image, path)
