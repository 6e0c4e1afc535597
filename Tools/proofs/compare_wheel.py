#!/usr/bin/env python3
"""Compares label maps of the package of a wheel with those of the wheel's own code, voxel by voxel.

    Tools/proofs/compare_wheel.py NOCTURNE WHEEL VOLUME [VOLUME ...]

WHEEL is that of deepbet 1.0.2 or of lavlab-taps 1.1.2, volumes are NIfTI files. Makes the package, segments each volume
with NOCTURNE and with the code of the wheel on the processor, and prints for both the seconds, the processor time and
the largest memory, and the voxels that differ. A volume on which the wheel finds nothing must have an empty map.

Needs the packages of the wheel, whose versions are printed: torch, pandas, connected-components-3d and fill-voids for
deepbet, torch, monai, onnxruntime and scipy for TAPS. Ends with 1 where more than --most voxels of a million differ.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOOLS / "lib"))

import nibabel
import numpy as np

from nocturne_tools.importing.recognition import recognize_wheel
from nocturne_tools.processes import Usage, measure

# Each writes the label map of a volume. Arguments are the volume and the map.
DEEPBET = """
import sys
from deepbet import run_bet
run_bet(sys.argv[1:2], mask_paths=sys.argv[2:3], no_gpu=True, skip_broken=False)
"""
TAPS = """
import sys
from taps.inference import BlankMaskError, segment
try:
    segment(sys.argv[1], sys.argv[2], None, device="cpu", exact=True)
except BlankMaskError:
    pass
"""
# By project: the code, and the Python packages on which its label maps depend.
PROJECTS = {
    "deepbet": (DEEPBET, ("torch", "connected-components-3d", "fill-voids")),
    "lavlab-taps": (TAPS, ("torch", "monai", "onnxruntime", "scipy")),
}


def described(usage: Usage) -> str:
    return f"{usage.wall:.1f} s, {usage.processor:.1f} s of processor time, {usage.peak / 2**20:.0f} MiB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("volumes", type=Path, nargs="+")
    parser.add_argument("--most", type=float, default=10, help="differing voxels of a million; default: 10")
    options = parser.parse_args()
    project = recognize_wheel(options.wheel).facts["name"]
    code, packages = PROJECTS[project]
    print(", ".join(f"{name} {version(name)}" for name in packages), flush=True)
    is_right = True
    with tempfile.TemporaryDirectory(prefix="compare-wheel-") as name:
        folder = Path(name)
        package, own_code, log = folder / "package", folder / "wheel", folder / "log"
        subprocess.run([sys.executable, TOOLS / "export" / "export_wheel.py", options.wheel, package], check=True)
        with zipfile.ZipFile(options.wheel) as archive:
            archive.extractall(own_code)
        for number, volume in enumerate(options.volumes):
            print(volume.name, flush=True)
            out, mask = folder / str(number), folder / f"{number}.nii.gz"
            command = [options.nocturne, "run", str(volume), "--model", str(package), "--output", str(out)]
            command += ["--meshes", "none", "--preview", "none", "--quiet"]
            print(f"  nocturne: {described(measure(command, {}, log))}", flush=True)
            command = [sys.executable, "-c", code, str(volume), str(mask)]
            print(f"  {project}: {described(measure(command, {'PYTHONPATH': str(own_code)}, log))}", flush=True)
            (own,) = [np.asarray(nibabel.load(file).dataobj) for file in out.glob("*/segmentation.nii.gz")]
            expected = np.zeros_like(own)
            if mask.exists():
                expected = np.asarray(nibabel.load(mask).dataobj).reshape(own.shape)
            differing = int((own != expected).sum())
            is_right &= differing <= options.most * own.size / 1e6
            print(f"  {differing} of {own.size} voxels differ, {int((expected > 0).sum())} are labelled")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
