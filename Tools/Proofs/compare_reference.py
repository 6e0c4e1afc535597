#!/usr/bin/env python3
"""Nocturne's label maps against the Python reference of the same pipeline (NumPy, SciPy, ONNX Runtime), voxel by voxel.

python Tools/Proofs/compare_reference.py NOCTURNE --model Samples/Models/urinary-tract-ct VOLUME.nii.gz...
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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluate_urinary_tract import dice, load_network
from reference_pipeline import segment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nocturne")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("volumes", type=Path, nargs="+")
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
            least = min(dice(found, expected, label["value"]) for label in manifest["labels"])
            print(f"{path.name}: {different} of {found.size} voxels differ ({100 * different / found.size:.4f} %), "
                  f"lowest Dice {least:.5f}", flush=True)


if __name__ == "__main__":
    main()
