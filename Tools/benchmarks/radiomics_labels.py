#!/usr/bin/env python3
"""Measures what the radiomic features and the surfaces of the 118 labels of one whole-body map take.

    python Tools/benchmarks/radiomics_labels.py NOCTURNE [--save]

The body is drawn: 320 × 220 × 560 voxels of 1.5 mm, with labels of 4 ml to 1.3 l whose borders are warped. Batches measure the
labels without either, with features (preset ct), and with surfaces in STL, reduced as by default and not. Prints seconds of wall
clock and of the processor, and the largest resident memory, on two threads. Needs SciPy.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy.ndimage import gaussian_filter, zoom
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results, machine_line

SHAPE = (320, 220, 560)
SPACING = 1.5
LABELS = 118


def seeds(chance: np.random.Generator) -> np.ndarray:
    """Centres of labels in an elliptic cylinder, at least 38 mm from each other."""
    found: list[np.ndarray] = []
    while len(found) < LABELS:
        place = chance.random(3) * np.array(SHAPE)
        inside = (((place[:2] / SHAPE[:2] - 0.5) / 0.46) ** 2).sum() < 0.8
        if inside and all(np.linalg.norm((place - other) * SPACING) > 38 for other in found):
            found.append(place)
    return np.array(found)


def draw(folder: Path) -> None:
    """An image with a texture, and warped Voronoi cells, each cut at a radius, as its labels."""
    chance = np.random.default_rng(51)
    tree = cKDTree(seeds(chance))
    radius = chance.choice([12, 18, 25, 35, 60, 80], size=LABELS, p=[0.15, 0.2, 0.2, 0.2, 0.15, 0.1]) / SPACING
    warp = [gaussian_filter(chance.standard_normal((80, 55, 140)), 3) for _ in range(3)]
    warp = [zoom(each / each.std() * 4, 4, order=1) for each in warp]
    labels = np.zeros(SHAPE, np.uint8)
    x, y = np.meshgrid(np.arange(SHAPE[0]), np.arange(SHAPE[1]), indexing="ij")
    for z in range(SHAPE[2]):
        points = np.stack([x + warp[0][:, :, z], y + warp[1][:, :, z], z + warp[2][:, :, z]], -1).reshape(-1, 3)
        distance, nearest = tree.query(points)
        labels[:, :, z] = np.where(distance < radius[nearest], nearest + 1, 0).reshape(SHAPE[:2])
    texture = gaussian_filter(chance.standard_normal(SHAPE).astype(np.float32), 1)
    texture /= texture.std()
    image = 40 + 30 * texture + (labels.astype(np.float32) * 7) % 160 - 60
    image = np.where(labels == 0, -100 + 20 * texture, image).round().astype(np.int16)
    affine = np.diag([SPACING, SPACING, SPACING, 1.0])
    nib.save(nib.Nifti1Image(image, affine), folder / "body.nii.gz")
    nib.save(nib.Nifti1Image(labels, affine), folder / "body_seg.nii.gz")


def measured(command: list[str]) -> tuple[float, float, float]:
    """Seconds of wall clock and processor, and MiB of the largest process."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    cases = {
        "neither": [],
        "features": ["--radiomics", "ct"],
        "surfaces, reduced": ["--meshes", "stl"],
        "surfaces": ["--meshes", "stl", "--mesh-detail", "0"],
    }
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "in"
        folder.mkdir()
        # In another process: the memory of this one would count as that of its children until they are loaded.
        drawing = multiprocessing.Process(target=draw, args=(folder,))
        drawing.start()
        drawing.join()
        for case, more in cases.items():
            command = [options.nocturne, "run", str(folder), "--existing-labels", "--output", f"{name}/{case}", "-j", "2"]
            meshes = [] if "--meshes" in more else ["--meshes", "none"]
            command += ["--quiet", "--preview", "none", "--review", "none", *meshes, *more]
            wall, used, memory = measured(command)
            rows.append(f"| {case} | {wall:.1f} | {used:.1f} | {memory:.0f} |")
            print(rows[-1], flush=True)
    text = [
        f"## {datetime.date.today()}: features and surfaces of {LABELS} labels", "", machine_line(), "",
        "| with | s | processor s | MiB |", "| --- | --- | --- | --- |", *rows, "",
    ]
    print("\n".join(text))
    if options.save:
        append_results("\n".join(text))


if __name__ == "__main__":
    main()
