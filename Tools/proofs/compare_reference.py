#!/usr/bin/env python3
"""Compares Nocturne's label maps voxel by voxel with those of the Python reference (NumPy, SciPy, ONNX Runtime).

    Tools/proofs/compare_reference.py NOCTURNE --model Samples/Models/urinary-tract-ct VOLUME.nii.gz...
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.reference_pipeline import dice, load_network, segment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", type=Path, required=True, help="a model package")
    parser.add_argument("volumes", type=Path, nargs="+", help="NIfTI files")
    arguments = parser.parse_args()
    manifest = json.loads((arguments.model / "model.json").read_text())
    network = load_network(arguments.model / "network.onnx", 2)
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.nocturne, "run", *map(str, arguments.volumes), "--model", str(arguments.model)]
        subprocess.run([*command, "--output", folder, "--quiet", "--meshes", "none"], check=True)
        for path in arguments.volumes:
            image = nibabel.load(path)
            expected = segment(np.asarray(image.dataobj), image.affine, manifest, network)
            name = path.name.removesuffix(".gz").removesuffix(".nii")
            found = np.asarray(nibabel.load(Path(folder) / name / "segmentation.nii.gz").dataobj)
            different = int((found != expected).sum())
            lowest = min(dice(found, expected, label["value"]) for label in manifest["labels"])
            share = 100 * different / found.size
            print(f"{path.name}: {different} of {found.size} voxels differ ({share:.4f} %), lowest Dice {lowest:.5f}", flush=True)


if __name__ == "__main__":
    main()
