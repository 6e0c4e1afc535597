#!/usr/bin/env python3
"""Compares label maps with nnU-Net's over all 48 orders of a volume's axes, for the readers that nnU-Net has for NIfTI.

    python Tools/proofs/axis_orders.py NOCTURNE [--work DIR] [--precision float32] [--no-rounding]

One small network (two channels of MR, z-score within the mask, three folds, no mirroring, spacing 1.2 mm) segments a
volume of 60 x 50 x 44 voxels (1.0, 1.1, 1.3 mm) whose axes follow those of the patient in every order and direction:
straight, turned by 5 to 9 degrees, and turned so far that the nearest axes are not those with the largest sum of
cosines. The part that is not 0 ends where nnU-Net's size of the resampled grid lies half-way between two numbers, so
that the last bit of a spacing counts. NibabelIO reads as SimpleITKIO does, and is compared only if it is named.
Prints how many voxels differ from nnU-Net's own predictor, and exits with 1 if any does with reference rounding.
Volumes and nnU-Net's label maps remain in DIR and are reused.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.label_agreement import Agreement
from nocturne_tools.nnunet import shapes
from nocturne_tools.nnunet.make_folder import make_folder
from nocturne_tools.nnunet.package import Options, write
from nocturne_tools.nnunet.proof_cases import FULL

READERS = ["SimpleITKIO", "NibabelIO", "NibabelIOWithReorient", "SimpleITKIOWithReorient"]
TURNS = {"straight": (0, 0, 0), "oblique": (9, 5, 9), "steep": (-50, -40, 10)}  # degrees about three axes
CROPPED = (slice(4, 55), slice(4, 46), slice(6, 36))  # 51, 42 and 30 voxels: 42.5, 38.5 and 32.5 at 1.2 mm
SPEC = replace(
    FULL,
    spacing=[1.2, 1.2, 1.2],
    features=[4, 8, 16],
    contrasts=["t1", "t2"],
    schemes=["ZScoreNormalization"] * 2,
    masks=[True, True],
    mirroring=None,
    size=44,
)


def grids() -> dict[str, shapes.Grid]:
    """By name: the turn, and the letters of the directions in which the straight axes grow."""
    found = {}
    for turn, degrees in TURNS.items():
        for order in itertools.permutations(range(3)):
            for signs in itertools.product([False, True], repeat=3):
                flipped = tuple(axis for axis in range(3) if signs[axis])
                letters = "".join(("LPI" if signs[axis] else "RAS")[order[axis]] for axis in range(3))
                grid = shapes.Grid((60, 50, 44), (1.0, 1.1, 1.3), degrees, flipped, order)
                found[f"{turn}-{letters}"] = grid
    return found


def prepare(work: Path) -> Path:
    """The trained folder of each reader, with the same weights, and the volumes."""
    done = work / "prepared"
    if done.exists():
        return work
    first = work / "models" / READERS[0] / "nnUNetTrainer__nnUNetPlans__3d_fullres"
    shutil.rmtree(work / "models", ignore_errors=True)
    make_folder(first, SPEC)
    for reader in READERS[1:]:
        shutil.copytree(first.parent, work / "models" / reader)
    for reader in READERS:
        plans = work / "models" / reader / first.name / "plans.json"
        plans.write_text(json.dumps({**json.loads(plans.read_text()), "image_reader_writer": reader}))
    for name, grid in grids().items():
        images, _ = shapes.render(77, grid, SPEC.contrasts, SPEC.size)
        for channel, image in enumerate(images):
            inner = np.zeros_like(image)
            inner[CROPPED] = image[CROPPED]
            if channel == 0:  # single voxels of noise in two corners determine the crop
                inner[tuple(part.start for part in CROPPED)] = inner[tuple(part.stop - 1 for part in CROPPED)] = 7
            shapes.save(work / "volumes" / f"{name}_{channel:04}.nii.gz", inner, grid.affine())
    done.touch()
    return work


def model(work: Path, reader: str) -> Path:
    return work / "models" / reader / "nnUNetTrainer__nnUNetPlans__3d_fullres"


def predict(work: Path, reader: str, names: list[str]) -> Path:
    """nnU-Net's label maps, except those of an earlier call."""
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    out = work / "nnunet" / reader
    out.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not (out / f"{name}.nii.gz").exists()]
    if missing:
        with contextlib.redirect_stdout(io.StringIO()):
            predictor = nnUNetPredictor(use_mirroring=False, device=torch.device("cpu"), allow_tqdm=False)
            predictor.initialize_from_trained_model_folder(str(model(work, reader)), (0, 1, 2))
            predictor.predict_from_files_sequential(
                [[str(work / "volumes" / f"{name}_{channel:04}.nii.gz") for channel in (0, 1)] for name in missing],
                [str(out / name) for name in missing],
            )
    return out


def compare(work: Path, reader: str, expected: Path, command: list[str]) -> dict[str, Agreement]:
    """One batch over all volumes; the agreement for each turn."""
    package = work / "packages" / reader
    with contextlib.redirect_stdout(io.StringIO()):
        write(model(work, reader), package, Options(replace=True), lambda _: None)
    found = {turn: Agreement() for turn in TURNS}
    worst: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as out:
        run = [command[0], "run", str(work / "volumes"), "--model", str(package), "--output", out, *command[1:]]
        done = subprocess.run(run, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{reader}, exit {done.returncode}: {done.stderr[-2000:]}")
        for name in grids():
            reference = nib.load(expected / f"{name}.nii.gz")
            labels = np.asarray(reference.dataobj).astype(np.uint8)
            file = Path(out) / name / "segmentation.nii.gz"
            image = nib.load(file) if file.exists() else None
            same = image is not None and image.shape == labels.shape
            if not same or not np.allclose(image.affine, reference.affine, atol=1e-3):
                own = np.full(labels.shape, 255, dtype=np.uint8)  # no label map, or another grid
            else:
                own = np.asarray(image.dataobj).astype(np.uint8)
            different = found[name.split("-")[0]].add(own, labels)
            if different:
                worst[name] = different
    for name, different in sorted(worst.items(), key=lambda item: -item[1])[:10]:
        print(f"  {reader}, {name}: {different} of {60 * 50 * 44} voxels differ")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nocturne-axis-orders")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--no-rounding", action="store_true", help="without --reference-rounding")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--readers", nargs="+", default=READERS[:1] + READERS[2:], choices=READERS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    command = [options.nocturne, "--meshes", "none", "--preview", "none", "--quiet", "--threads", str(options.threads)]
    command += ["--precision", options.precision, *([] if options.no_rounding else ["--reference-rounding"])]
    work, rows, failures = prepare(options.work), [], 0
    for reader in options.readers:
        expected = predict(work, reader, list(grids()))
        for turn, agreement in compare(work, reader, expected, command).items():
            failures += agreement.different > 0
            dice = f"{agreement.dice:.6f}"
            rows.append(f"| {reader} | {turn} | 48 | {agreement.voxels} | {agreement.different} | {dice} |")
    rounding = "without reference rounding" if options.no_rounding else "reference rounding"
    print(f"\n{options.precision}, {rounding}\n")
    print("| reader | grids | axis orders | voxels | differ | lowest Dice |")
    print("| --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    return 1 if failures and not options.no_rounding else 0


if __name__ == "__main__":
    sys.exit(main())
