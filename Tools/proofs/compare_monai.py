#!/usr/bin/env python3
"""Compares Nocturne's label maps voxel by voxel with those of MONAI's own code on the same bundles.

    python Tools/proofs/compare_monai.py NOCTURNE [--work DIR] [--cases unet swinunetr] [--steps 60]

Makes bundles of UNet, DynUNet, SegResNet and SwinUNETR with briefly trained weights, and volumes with anisotropic,
turned and oblique grids. Runs MONAI's transforms, sliding window and post-processing on the CPU, and Nocturne on the
exported packages. Prints how many voxels differ, also after values below 1e-6 became 0 in MONAI's resampled image, and how
many are not background; exits with 1 where the share of equal voxels is below --limit, after that clearing. The last volume,
whose voxels often lie half-way between two others, is only shown. Bundles remain in DIR and are reused. Needs monai==1.6.1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")  # MONAI's and PyTorch's about themselves

import nibabel as nib
import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.monai import made_bundles
from nocturne_tools.monai.package import Export, Options
from nocturne_tools.monai.reference import Reference
from nocturne_tools.reference_pipeline import dice

Labels = NDArray[np.uint16]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="NOCTURNE")
    parser.add_argument("--work", type=Path, metavar="DIR", help="default: a temporary folder")
    parser.add_argument("--cases", nargs="+", choices=list(made_bundles.CASES), default=list(made_bundles.CASES))
    parser.add_argument("--steps", type=int, default=60, help="of training")
    parser.add_argument(
        "--option", action="append", default=[], help="of nocturne run, such as --option=--precision=exact"
    )
    parser.add_argument("--limit", type=float, default=0.9999, help="share of equal voxels")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def labels_of_program(program: str, package: Path, source: Path, options: list[str]) -> Labels:
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", str(source), "--model", str(package), "--output", out, "--quiet"]
        command += ["--meshes", "none", "--preview", "none", *options]
        subprocess.run(command, check=True)
        (file,) = Path(out).rglob("segmentation.nii.gz")
        return np.asarray(nib.load(file).dataobj).astype(np.uint16)


def compare(case: made_bundles.Case, arguments: argparse.Namespace) -> float:
    """Prints a line for each volume; the lowest share of equal voxels."""
    bundle = arguments.work / f"bundle-{case.name}-{arguments.steps}"
    if not bundle.exists():
        made_bundles.write(case, bundle, arguments.steps)
    package = arguments.work / f"package-{case.name}"
    with contextlib.redirect_stdout(io.StringIO()):
        Export(bundle, Options(replace=True), print).write(package)
    reference, lowest = Reference(bundle), 1.0
    for volume in made_bundles.VOLUMES:
        folder = arguments.work / f"volumes-{case.name}" / volume.name
        paths = made_bundles.write_volume(volume, case, folder)
        expected = reference.labels(paths)
        found = labels_of_program(arguments.program, package, folder, arguments.option)
        if found.shape != expected.shape:
            raise SystemExit(f"{case.name}, {volume.name}: shape {found.shape}, MONAI's {expected.shape}")
        different = int((found != expected).sum())
        cleared = int((found != reference.labels(paths, clears=True)).sum())
        labelled = int(((found > 0) | (expected > 0)).sum())
        values = np.unique(expected[expected > 0])
        score = min((dice(found, expected, value) for value in values), default=1.0)
        print(
            f"{case.name:10} {volume.name:9} {different:6} of {found.size} voxels differ ({cleared} after clearing), "
            f"{labelled} labelled, {len(values)} labels, lowest Dice {score:.6f}",
            flush=True,
        )
        if volume.name != "multiples":
            lowest = min(lowest, 1 - cleared / found.size)
    return lowest


def main() -> int:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    with contextlib.ExitStack() as stack:
        if arguments.work is None:
            arguments.work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        arguments.work.mkdir(parents=True, exist_ok=True)
        shares = [compare(made_bundles.CASES[name], arguments) for name in arguments.cases]
    return 1 if min(shares) < arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
