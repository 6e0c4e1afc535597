#!/usr/bin/env python3
"""Compares label maps of the brain package with the masks of deepbet itself, voxel by voxel.

    Tools/proofs/compare_deepbet.py NOCTURNE PACKAGE WHEEL VOLUME [VOLUME ...]     deepbet-1.0.2-py3-none-any.whl, and NIfTI files

PACKAGE is what `nocturne models import pip:deepbet==1.0.2` writes. Segments the volumes with NOCTURNE and with the code of the wheel on
the processor, and prints for both the seconds, the processor time and the largest resident memory, and the voxels that
differ. Needs the packages of the wheel: torch, pandas, connected-components-3d, fill-voids. Ends with 1 where more than --most
voxels of a million differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import nibabel
import numpy as np

DEEPBET = """
import sys
sys.path.insert(0, sys.argv[1])
from deepbet import run_bet
run_bet(sys.argv[2:3], mask_paths=sys.argv[3:4], no_gpu=True, skip_broken=False)
"""


def measured(title: str, command: list[str]) -> None:
    """Runs a command, and prints what it took."""
    start = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{title} ended with {process.returncode}")
    print(
        f"  {title}: {time.monotonic() - start:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of processor time,"
        f" {usage.ru_maxrss / 1024:.0f} MiB",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("package")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("volumes", type=Path, nargs="+")
    parser.add_argument("--most", type=float, default=10, help="differing voxels of a million; default: 10")
    options = parser.parse_args()
    is_right = True
    with tempfile.TemporaryDirectory(prefix="compare-deepbet-") as name:
        folder = Path(name)
        with zipfile.ZipFile(options.wheel) as archive:
            archive.extractall(folder / "wheel")
        for number, volume in enumerate(options.volumes):
            print(volume.name, flush=True)
            out, mask = folder / str(number), folder / f"{number}.nii.gz"
            command = [options.nocturne, "run", str(volume), "--model", options.package, "--output", str(out)]
            measured("nocturne", [*command, "--meshes", "none", "--preview", "none", "--quiet"])
            measured("deepbet", [sys.executable, "-c", DEEPBET, str(folder / "wheel"), str(volume), str(mask)])
            (own,) = [np.asarray(nibabel.load(file).dataobj) for file in out.glob("*/segmentation.nii.gz")]
            expected = np.asarray(nibabel.load(mask).dataobj).reshape(own.shape)
            differing, both = int((own != expected).sum()), int(((own > 0) & (expected > 0)).sum())
            dice = 2 * both / max(int((own > 0).sum()) + int((expected > 0).sum()), 1)
            is_right &= differing <= options.most * own.size / 1e6
            print(f"  {differing} of {own.size} voxels differ, {int((expected > 0).sum())} are brain, Dice {dice:.6f}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
