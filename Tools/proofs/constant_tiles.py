#!/usr/bin/env python3
"""Counts tiles whose prepared input is one constant, which Nocturne runs through a network only once.

    python Tools/proofs/constant_tiles.py [--ct VOLUME...] [--mr VOLUME...] [--made]

A VOLUME is a NIfTI file or a folder with one DICOM series; --made adds the CT of the benchmark five_networks.py, a body
of 410 x 410 x 600 mm in air of exactly -1000 HU. Each is prepared with nnU-Net's own functions: cropped to the voxels
that are not 0 (not with --no-crop), normalised and resampled by splines of order 3 to --spacing (1.5 mm). CT is clipped
to each of --windows (HU) first, whose lower bound decides which air is constant; MR gets the mean 0 and the standard
deviation 1 (z-score). Tiles have nnU-Net's positions for each of --patches and --steps, in the volume padded with zeros
to the patch. The program itself does not say how many tiles it did not run.

Prints for every volume the tiles, those whose voxels all have the same bits (what Nocturne looks for), and those whose
voxels differ by less than 0.0001 standard deviations: were these many more, rounding in the resampling would be what
keeps tiles from being constant. Nocturne's resampling rounds elsewhere, so that for Nocturne the number of constant
tiles may be anywhere up to that of the nearly constant ones. Needs nnunetv2 and SimpleITK.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import SimpleITK as sitk
from nnunetv2.inference.sliding_window_prediction import compute_steps_for_sliding_window
from nnunetv2.preprocessing.cropping.cropping import crop_to_nonzero
from nnunetv2.preprocessing.resampling.default_resampling import compute_new_shape, resample_data_or_seg_to_shape
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark_programs import body

NEARLY = 1e-4  # standard deviations


@dataclass(frozen=True)
class Volume:
    """Intensities (z, y, x) with their spacing (mm)."""

    name: str
    voxels: NDArray[np.float32]
    spacing: tuple[float, ...]


@dataclass(frozen=True)
class Count:
    """Tiles, those of one value, and those of nearly one value."""

    tiles: int
    constant: int
    nearly: int


def read(path: Path) -> Volume:
    """A NIfTI file, or the series in a folder."""
    if path.is_dir():
        files = sitk.ImageSeriesReader.GetGDCMSeriesFileNames(str(path))
        image = sitk.ReadImage(files)
        name = "/".join(path.parts[-3:])
    else:
        image = sitk.ReadImage(str(path))
        name = path.name
    voxels = sitk.GetArrayFromImage(image).astype(np.float32)
    return Volume(name, voxels, tuple(float(step) for step in image.GetSpacing()[::-1]))


def made() -> Volume:
    with tempfile.TemporaryDirectory() as folder:
        body(Path(folder) / "body.nii.gz")
        found = read(Path(folder) / "body.nii.gz")
    return Volume("made body in air", found.voxels, found.spacing)


def prepared(volume: Volume, window: tuple[float, float] | None, spacing: float, crops: bool) -> NDArray[np.float32]:
    """What networks take (z, y, x): cropped, normalised and resampled as in nnU-Net; a window is for CT."""
    data = (crop_to_nonzero(volume.voxels[None])[0] if crops else volume.voxels[None]).astype(np.float32)
    if window is not None:
        data = np.clip(data, *window)
    data = (data - data.mean()) / max(float(data.std()), 1e-8)
    shape = compute_new_shape(data.shape[1:], volume.spacing, [spacing] * 3)
    same = tuple(shape) == data.shape[1:]
    if not same:
        data = resample_data_or_seg_to_shape(data, shape, volume.spacing, [spacing] * 3, order=3, order_z=0)
    return np.asarray(data[0], dtype=np.float32)


def padded(image: NDArray[np.float32], patch: int) -> NDArray[np.float32]:
    """At least as large as the patch, with zeros on both sides."""
    missing = [max(0, patch - size) for size in image.shape]
    return np.pad(image, [(n // 2, n - n // 2) for n in missing])


def counted(image: NDArray[np.float32], patch: int, step: float) -> Count:
    """The tiles of a padded image."""
    steps = compute_steps_for_sliding_window(image.shape, (patch,) * 3, step)
    tiles = constant = nearly = 0
    for start in product(*steps):
        tile = image[tuple(slice(n, n + patch) for n in start)]
        low, high = float(tile.min()), float(tile.max())
        tiles += 1
        constant += bool((tile.view(np.uint32) == tile.view(np.uint32)[0, 0, 0]).all())
        nearly += high - low < NEARLY
    return Count(tiles, constant, nearly)


def rows(volume: Volume, window: tuple[float, float] | None, options: argparse.Namespace) -> Iterator[str]:
    image = prepared(volume, window, options.spacing, not options.no_crop)
    title = "z-score" if window is None else f"{window[0]:.0f} to {window[1]:.0f} HU"
    size = " x ".join(map(str, image.shape[::-1]))
    for patch in options.patches:
        large = padded(image, patch)
        for step in options.steps:
            found = counted(large, patch, step)
            share = 100 * found.constant / found.tiles
            figures = f"{found.tiles} | {found.constant} | {share:.0f} | {found.nearly}"
            yield f"| {volume.name} | {title} | {size} | {patch} | {step} | {figures} |"


def windows_of(text: str) -> list[tuple[float, float] | None]:
    """Such as -1000:1000,-160:240."""
    pairs = [part.split(":") for part in text.split(",")]
    return [(float(low), float(high)) for low, high in pairs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ct", type=Path, nargs="+", default=[], metavar="VOLUME")
    parser.add_argument("--mr", type=Path, nargs="+", default=[], metavar="VOLUME")
    parser.add_argument("--made", action="store_true", help="the volume of the benchmark five_networks.py as well")
    parser.add_argument("--windows", type=windows_of, default="-1000:1000,-160:240", help="HU, such as --windows=-160:240")
    parser.add_argument("--patches", type=int, nargs="+", default=[96, 128], help="voxels a side")
    parser.add_argument("--steps", type=float, nargs="+", default=[0.5, 0.8], help="shares of the patch")
    parser.add_argument("--spacing", type=float, default=1.5, help="mm")
    parser.add_argument("--no-crop", action="store_true", help="keep the zeros around a volume, as MONAI bundles do")
    options = parser.parse_args()
    if not (options.ct or options.mr or options.made):
        parser.error("no volume")
    print("| volume | values | voxels | patch | step | tiles | constant | share % | nearly constant |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    found: list[tuple[Volume, list[tuple[float, float] | None]]]
    found = [(read(path), options.windows) for path in options.ct] + [(read(path), [None]) for path in options.mr]
    if options.made:
        found.append((made(), options.windows))
    for volume, windows in found:
        for one in windows:
            for line in rows(volume, one, options):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
