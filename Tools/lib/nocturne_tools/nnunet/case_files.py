"""The files of drawn cases: volumes as NIfTI, photos as PNG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from skimage import io

from . import photos, shapes

if TYPE_CHECKING:
    from .make_folder import FolderSpec


def ending(grid: shapes.Grid | photos.PhotoSize) -> str:
    """How names of images and label maps end."""
    return ".png" if isinstance(grid, photos.PhotoSize) else ".nii.gz"


def write_case(
    images: Path, truth: Path, name: str, seed: int, spec: FolderSpec, grid: shapes.Grid | photos.PhotoSize | None = None
) -> tuple[list[Path], Path]:
    """Draws a case, on the grid of `spec` unless another one is given; the files of its channels and of its labels."""
    grid = grid or spec.grid
    label_file = truth / f"{name}{ending(grid)}"
    if isinstance(grid, photos.PhotoSize):
        photo, marked = photos.draw(seed, grid, len(spec.contrasts))
        photos.save(images / f"{name}_0000.png", photo)
        photos.save(label_file, marked)
        return [images / f"{name}_0000.png"], label_file
    files = [images / f"{name}_{channel:04}.nii.gz" for channel in range(len(spec.contrasts))]
    drawn, labels = shapes.render(seed, grid, spec.contrasts, spec.size)
    for file, image in zip(files, drawn):
        shapes.save(file, image, grid.affine())
    shapes.save(label_file, labels, grid.affine())
    return files, label_file


def read_labels(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The labels of a map and where it is: the affine, which of photos is always the same."""
    if path.suffix == ".png":
        return io.imread(path).astype(np.uint8), np.eye(4)
    image = nib.load(path)
    return np.asarray(image.dataobj).astype(np.uint8), image.affine
