"""The files of drawn cases: volumes as NIfTI or TIFF, photos as PNG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nibabel as nib
import numpy as np
import tifffile
from numpy.typing import NDArray
from skimage import io

from . import photos, shapes

if TYPE_CHECKING:
    from .make_folder import FolderSpec


def ending(grid: shapes.Grid | photos.PhotoSize) -> str:
    """How names of images and label maps end."""
    if isinstance(grid, shapes.Stack):
        return ".tif"
    return ".png" if isinstance(grid, photos.PhotoSize) else ".nii.gz"


# How the files of TIFF cases are written, in turns.
TIFF_KINDS: list[dict[str, Any]] = [
    {"dtype": "<i2"},
    {"dtype": ">i2", "compression": "zlib", "predictor": True},
    {"dtype": "<f4", "tile": (32, 48), "compression": "zlib"},
    {"dtype": ">i4", "bigtiff": True, "rowsperstrip": 5},
]


def save_stack(path: Path, array: NDArray[Any], spacing: tuple[float, float, float], dtype: str, **options: Any) -> None:
    """Writes an array (i, j, k) as the pages of a TIFF, and the spacing (mm along i, j, k) beside it as nnU-Net reads it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pages = array.transpose(2, 1, 0).astype(dtype)
    tifffile.imwrite(path, pages, photometric="minisblack", byteorder=dtype[0], **options)
    case = path.stem[:-5] if path.stem[-5:-4] == "_" and path.stem[-4:].isdecimal() else path.stem
    (path.parent / f"{case}.json").write_text(json.dumps({"spacing": list(reversed(spacing))}))


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
    files = [images / f"{name}_{channel:04}{ending(grid)}" for channel in range(len(spec.contrasts))]
    drawn, labels = shapes.render(seed, grid, spec.contrasts, spec.size)
    if isinstance(grid, shapes.Stack):
        for file, image in zip(files, drawn):
            save_stack(file, image, grid.spacing, **TIFF_KINDS[seed % len(TIFF_KINDS)])
        save_stack(label_file, labels, grid.spacing, "<u1")
        return files, label_file
    for file, image in zip(files, drawn):
        shapes.save(file, image, grid.affine())
    shapes.save(label_file, labels, grid.affine())
    return files, label_file


def read_labels(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The labels of a map and where it is: the affine, which of photos is always the same."""
    if path.suffix == ".png":
        return io.imread(path).astype(np.uint8), np.eye(4)
    if path.suffix == ".tif":
        spacing = json.loads(path.with_suffix(".json").read_text())["spacing"]
        labels = tifffile.imread(path).transpose(2, 1, 0).astype(np.uint8)
        return labels, shapes.Stack(labels.shape, tuple(reversed(spacing))).affine()
    image = nib.load(path)
    return np.asarray(image.dataobj).astype(np.uint8), image.affine
