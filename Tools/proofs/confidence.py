#!/usr/bin/env python3
"""Whether the confidence in result.json says how right labels are: phantoms of unseen seeds, with more and more noise.

    Tools/proofs/confidence.py NOCTURNE [--count 6]

For each label of each volume, the mean probability is compared with the share of the label's voxels that are right, by the
known labels of the phantom: a calibrated network has equal figures. Prints a row for each noise, the mean of the differences,
and the rank correlation of probability and Dice coefficient. Needs numpy, scipy, nibabel. The result is a table.
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
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import SAMPLE_MODELS
from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import make_grid, render, save_nifti

FIRST_SEED = 950
NOISES = (0, 60, 120, 240)  # HU, standard deviation


def make(folder: Path, count: int) -> None:
    """Writes volumes and their labels; noise is added to the same bodies."""
    (folder / "in").mkdir()
    (folder / "truth").mkdir()
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        shape, affine = make_grid((3.0, 3.0, 4.0))
        hu, truth = render(draw(seed), shape, affine)
        random = np.random.default_rng(seed)
        for noise in NOISES:
            noisy = np.clip(hu + random.normal(0, noise, hu.shape), -1024, 3000).astype(np.int16)
            save_nifti(folder / f"in/{seed}-{noise}.nii.gz", noisy, affine)
        save_nifti(folder / f"truth/{seed}.nii.gz", truth, affine)


def rows(folder: Path) -> list[tuple[int, str, float, float, float, float]]:
    """Noise, label, mean probability, uncertain share of the boundary, share of right voxels, Dice coefficient."""
    found = []
    for path in sorted((folder / "out").glob("*/result.json")):
        seed, noise = path.parent.name.split("-")
        labels = np.asarray(nibabel.load(path.parent / "segmentation.nii.gz").dataobj)
        truth = np.asarray(nibabel.load(folder / f"truth/{seed}.nii.gz").dataobj)
        for label in json.loads(path.read_text())["labels"]:
            if "confidence" not in label:
                continue
            own, right = labels == label["value"], truth == label["value"]
            both = np.count_nonzero(own & right)
            confidence = label["confidence"]
            found.append(
                (
                    int(noise),
                    label["name"],
                    confidence["meanProbability"],
                    confidence.get("uncertainBoundaryShare", np.nan),
                    both / np.count_nonzero(own),
                    2 * both / (np.count_nonzero(own) + np.count_nonzero(right)),
                )
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--count", type=int, default=6)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, arguments.count)
        subprocess.run(
            [arguments.nocturne, "run", str(folder / "in"), "--output", str(folder / "out"), "--quiet"]
            + ["--model", str(SAMPLE_MODELS / "urinary-tract-ct"), "--meshes", "none", "--preview", "none"],
            check=True,
        )
        found = rows(folder)
    print("| noise (HU) | labels | mean probability | uncertain boundary | right voxels | Dice |")
    print("| --- | --- | --- | --- | --- | --- |")
    for noise in NOISES:
        own = np.array([row[2:] for row in found if row[0] == noise])
        print(f"| {noise} | {len(own)} | " + " | ".join(f"{value:.3f}" for value in np.nanmean(own, axis=0)) + " |")
    table = np.array([row[2:] for row in found])
    print(f"mean difference of probability and right voxels: {np.mean(np.abs(table[:, 0] - table[:, 2])):.3f}")
    print(f"rank correlation with the Dice coefficient: probability {spearmanr(table[:, 0], table[:, 3])[0]:.2f},")
    print(f"uncertain share of the boundary {spearmanr(table[:, 1], table[:, 3], nan_policy='omit')[0]:.2f}")


if __name__ == "__main__":
    main()
