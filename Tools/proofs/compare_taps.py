#!/usr/bin/env python3
"""Compares label maps of the prostate package with those of TAPS itself, voxel by voxel.

    Tools/proofs/compare_taps.py NOCTURNE WHEEL VOLUME [VOLUME ...]      lavlab_taps-1.1.2-py3-none-any.whl, and NIfTI files

Makes the package of the wheel, segments the volumes with NOCTURNE and with the code of the wheel, on the processor, and prints the
voxels that differ. A volume on which TAPS finds nothing must have an empty map. Needs the packages of the wheel: torch, monai,
onnxruntime, nibabel, scipy; their versions are printed. Ends with 1 where more than --most voxels of a million differ.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.metadata import version
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("lib", "export")]

import export_wheel
import nibabel
import numpy as np


def of_taps(wheel: Path, folder: Path, volumes: list[Path]) -> dict[str, tuple[np.ndarray | None, float]]:
    """Label maps of the wheel's own code by the names of the volumes, None where it finds nothing; and seconds."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "wheel")
    sys.path.insert(0, str(folder / "wheel"))
    from taps.inference import BlankMaskError, segment

    found: dict[str, tuple[np.ndarray | None, float]] = {}
    for volume in volumes:
        start = time.monotonic()
        try:
            written = segment(volume, folder / f"taps-{volume.name}", None, device="cpu", exact=True)
            labels = np.asarray(nibabel.load(written).dataobj)
        except BlankMaskError:
            labels = None
        found[volume.name] = (labels, time.monotonic() - start)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("volumes", type=Path, nargs="+")
    parser.add_argument("--most", type=float, default=10, help="differing voxels of a million; default: 10")
    options = parser.parse_args()
    print(", ".join(f"{name} {version(name)}" for name in ("torch", "monai", "onnxruntime", "scipy")))
    is_right = True
    with tempfile.TemporaryDirectory(prefix="compare-taps-") as name:
        folder = Path(name)
        export_wheel.main([str(options.wheel), str(folder / "package")])
        command = [
            options.nocturne.resolve(),
            "run",
            *options.volumes,
            "--model",
            folder / "package",
            "--output",
            folder / "results",
        ]
        start = time.monotonic()
        subprocess.run([*command, "--meshes", "none", "--quiet"], check=True)
        print(f"nocturne: {time.monotonic() - start:.1f} s for {len(options.volumes)} volumes")
        for name, (expected, seconds) in of_taps(options.wheel, folder, options.volumes).items():
            item = folder / "results" / name.removesuffix(".gz").removesuffix(".nii")
            own = np.asarray(nibabel.load(item / "segmentation.nii.gz").dataobj)
            expected = np.zeros_like(own) if expected is None else expected
            differing = int((own != expected).sum())
            is_right &= differing <= options.most * own.size / 1e6
            print(
                f"{name}: {differing} of {own.size} voxels differ, {int(expected.sum())} are prostate; TAPS {seconds:.1f} s"
            )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
