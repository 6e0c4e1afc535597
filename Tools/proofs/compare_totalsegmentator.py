#!/usr/bin/env python3
"""Compares Nocturne's label maps voxel by voxel with those of TotalSegmentator's own code on the same weights.

    python Tools/proofs/compare_totalsegmentator.py                  # only TotalSegmentator's side, which takes minutes
    python Tools/proofs/compare_totalsegmentator.py --interpreter    # a slow interpreter of the packages, in Python
    python Tools/proofs/compare_totalsegmentator.py NOCTURNE [--work DIR] [--no-rounding] [--tasks total body]

Makes small weights with TotalSegmentator's structure of folders (untrained, with connected labels) and volumes in
several orientations, exports every task, and runs TotalSegmentator 2.18 on the CPU without network, and Nocturne.
Prints how many voxels differ for each task and volume, and exits with 1 where the share of equal voxels is below
99.9999 % (99.99 % with --no-rounding). Weights, volumes, packages and TotalSegmentator's label maps remain in DIR and
are reused. Needs the Python package TotalSegmentator.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import io
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

warnings.filterwarnings("ignore")  # PyTorch's and nnU-Net's about themselves

import nibabel as nib
import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.label_agreement import Agreement
from nocturne_tools.nnunet.shapes import Grid, save
from nocturne_tools.paths import TOOLS
from nocturne_tools.totalsegmentator import made_weights, reference, tasks
from nocturne_tools.totalsegmentator.interpreter import Interpreter
from nocturne_tools.totalsegmentator.program import Export

CODE = TOOLS / "lib" / "nocturne_tools"
# Several parts; one part; rules after the networks; a region, removed labels, and a region of 6 mm; a region and no
# grid of its own; a region that is empty.
TASKS = ["total", "total-fast", "body", "kidney_cysts", "pleural_pericard_effusion", "liver_segments"]


@dataclass(frozen=True)
class Volume:
    """A made volume; `whole` rounds its intensities to whole numbers."""

    name: str
    grid: Grid
    whole: bool = True


VOLUMES = [
    Volume("straight", Grid((70, 62, 40), (1.3, 1.1, 2.0), flipped=(0, 1))),
    Volume("oblique", Grid((52, 66, 58), (2.1, 1.2, 1.4), (9, -6, 4), flipped=(0,), order=(1, 2, 0)), whole=False),
    Volume("same-spacing", Grid((57, 53, 49), (1.5, 1.5, 1.5)), whole=False),
]


def fingerprint() -> str:
    """Changes with the code that makes weights and volumes, and with TotalSegmentator's version."""
    digest = hashlib.sha256(importlib.metadata.version("TotalSegmentator").encode() + repr(VOLUMES).encode())
    for file in ("totalsegmentator/made_weights.py", "nnunet/make_folder.py", "nnunet/shapes.py"):
        digest.update((CODE / file).read_bytes())
    return digest.hexdigest()


def prepare(names: list[str], work: Path) -> None:
    """Weights and volumes, and the packages made again."""
    stamp = work / "made"
    if not stamp.is_file() or stamp.read_text() != fingerprint():
        for part in ("weights", "volumes", "totalsegmentator"):
            shutil.rmtree(work / part, ignore_errors=True)
        for number, volume in enumerate(VOLUMES):
            image = made_weights.made_volume(50 + number, volume.grid)
            voxels = np.round(image).astype(np.int16) if volume.whole else image
            save(work / "volumes" / f"{volume.name}.nii.gz", voxels, volume.grid.affine())
        stamp.write_text(fingerprint())
    wanted = [tasks.of_text(name) for name in names]
    made_weights.make(wanted, work / "weights")
    for name, task in zip(names, wanted):
        shutil.rmtree(work / "packages" / name, ignore_errors=True)
        with contextlib.redirect_stdout(io.StringIO()):
            Export(task, work / "weights", say=lambda _: None).write(work / "packages" / name)


def label_map(file: Path) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Labels and affine of a file."""
    image = nib.load(file)
    return np.asarray(image.dataobj).astype(np.uint8), image.affine


def expected(name: str, volume: Volume, work: Path) -> Path:
    """TotalSegmentator's label map, from an earlier call if there was one."""
    out = work / "totalsegmentator" / name / f"{volume.name}.nii.gz"
    if not out.exists():
        started = time.monotonic()
        reference.predict(name, work / "weights", work / "volumes" / f"{volume.name}.nii.gz", out)
        labels = label_map(out)[0]
        share = 100 * np.count_nonzero(labels) / labels.size
        found = len(np.unique(labels)) - (labels == 0).any()
        print(
            f"  TotalSegmentator, {name}, {volume.name}: {found} labels in {share:.0f} % of the voxels,"
            f" {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return out


def agreement(found: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Agreement:
    counts = Agreement()
    counts.add(found, labels)
    return counts


def by_interpreter(name: str, work: Path) -> list[tuple[str, Agreement]]:
    """Interprets the package with Python; the agreement of each volume."""
    interpreter = Interpreter(work / "packages" / name, work / "weights")
    rows = []
    for volume in VOLUMES:
        found = interpreter.predict(work / "volumes" / f"{volume.name}.nii.gz")
        rows.append((volume.name, agreement(found, label_map(expected(name, volume, work))[0])))
    return rows


def by_nocturne(name: str, command: list[str], work: Path) -> list[tuple[str, Agreement]]:
    """Runs Nocturne on all volumes; the agreement of each."""
    rows = []
    with tempfile.TemporaryDirectory() as out:
        run = [command[0], "run", str(work / "volumes"), "--model", str(work / "packages" / name), "--output", out]
        done = subprocess.run([*run, "--meshes", "none", "--quiet", *command[1:]], capture_output=True, text=True)
        for volume in VOLUMES:
            labels, affine = label_map(expected(name, volume, work))
            files = list(Path(out).rglob(f"*{volume.name}*/segmentation.nii.gz"))
            found, place = label_map(files[0]) if files else (np.full(labels.shape, 255, dtype=np.uint8), affine)
            if not files:
                print(f"  {name}, {volume.name}: no label map, exit {done.returncode}: {done.stderr[-500:]}")
            elif found.shape != labels.shape or not np.allclose(place, affine, atol=1e-3):
                print(f"  {name}, {volume.name}: different grid, {found.shape} instead of {labels.shape}")
                found = np.full(labels.shape, 255, dtype=np.uint8)
            rows.append((volume.name, agreement(found, labels)))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", nargs="?", help="the built program; without it only TotalSegmentator runs")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nocturne-totalsegmentator")
    parser.add_argument("--interpreter", action="store_true", help="compare the interpreter in Python, not the program")
    parser.add_argument("--no-rounding", action="store_true", help="without --reference-rounding")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    prepare(options.tasks, options.work)
    for name in options.tasks:
        for volume in VOLUMES:
            expected(name, volume, options.work)
    if options.nocturne is None and not options.interpreter:
        print(f"label maps of TotalSegmentator are in {options.work / 'totalsegmentator'}")
        return 0
    limit = 0.9999 if options.no_rounding else 0.999999
    command = [options.nocturne, "--threads", str(options.threads)]
    command += [] if options.no_rounding else ["--reference-rounding"]
    torch.set_num_threads(options.threads)
    failures = 0
    print("| task | volume | voxels | labels | different | equal % | lowest Dice | within limits |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.tasks:
        rows = by_interpreter(name, options.work) if options.interpreter else by_nocturne(name, command, options.work)
        for volume, found in rows:
            fine = found.equal >= limit
            failures += not fine
            labels = int(np.count_nonzero(found.sizes[1:]))
            figures = f"{found.voxels} | {labels} | {found.different} | {100 * found.equal:.5f} | {found.dice:.6f}"
            print(f"| {name} | {volume} | {figures} | {'yes' if fine else 'NO'} |", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
