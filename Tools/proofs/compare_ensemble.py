#!/usr/bin/env python3
"""Compares Nocturne's label maps of ensembles voxel by voxel with those of nnU-Net's own ensembling tool.

    python Tools/proofs/compare_ensemble.py NOCTURNE [--work DIR]

Trains small nnU-Net folders of several configurations on ellipsoids, predicts volumes with nnUNetPredictor, which stores
probabilities, averages them with nnunetv2's `ensemble_folders`, and runs `nocturne run` on the exported ensemble. Exits
with 1 where fewer than 99.99 % of the voxels are equal. Prints the peak memory of each run beside that of its members.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import compare_nnunet as single  # sets PyTorch's and nnU-Net's environment first
import nibabel as nib
import numpy as np
import torch
from nnunetv2.ensembling.ensemble import ensemble_folders
from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "export"))

import export_ensemble
from nocturne_tools.label_agreement import Agreement
from nocturne_tools.nnunet import shapes
from nocturne_tools.nnunet.make_folder import FolderSpec, make_folder
from nocturne_tools.nnunet.package import Options, write
from nocturne_tools.nnunet.proof_cases import FULL, LOW, REGIONS, SLABS
from nocturne_tools.nnunet.shapes import Grid

PLANAR = replace(FULL, configuration="2d", spacing=[1.25, 1.25], patch=[40, 40], mirroring=(0, 1), grid=SLABS, steps=300)
REGION = {"labels": REGIONS, "regions_class_order": [2, 1, 3], "steps": 200}
CASES: dict[str, list[FolderSpec]] = {
    "3d_fullres and 3d_lowres": [FULL, LOW],
    "2d, 3d_lowres and 3d_fullres": [PLANAR, LOW, FULL],
    "regions": [replace(FULL, **REGION), replace(LOW, **REGION)],
}
VOLUMES = [Grid((66, 62, 58), (1.0, 1.0, 1.0)), Grid((60, 64, 40), (1.05, 1.1, 1.6), (6, 4, -5), flipped=(1,))]


def expected(members: list[Path], work: Path, count: int) -> Path:
    """Label maps of nnU-Net's ensemble."""
    folders = []
    for member in members:
        out = work / "nnunet" / member.name
        out.mkdir(parents=True)
        with contextlib.redirect_stdout(io.StringIO()):
            predictor = nnUNetPredictor(use_mirroring=False, device=torch.device("cpu"), allow_tqdm=False)
            predictor.initialize_from_trained_model_folder(str(member), (0, 1, 2))
            predictor.predict_from_files_sequential(
                [[str(work / "volumes" / f"case{n}_0000.nii.gz")] for n in range(count)],
                [str(out / f"case{n}") for n in range(count)],
                save_probabilities=True,
            )
        folders.append(str(out))
    merged = work / "nnunet" / "ensemble"
    plans, dataset = members[0] / "plans.json", members[0] / "dataset.json"
    ensemble_folders(
        folders,
        str(merged),
        num_processes=1,
        dataset_json_file_or_dict=json.loads(dataset.read_text()),
        plans_json_file_or_dict=json.loads(plans.read_text()),
    )
    return merged


def run(program: str, model: Path, volumes: Path, out: Path) -> int:
    """Runs a package; the largest peak of an item in MiB."""
    command = [program, "run", str(volumes), "--model", str(model), "--output", str(out), "--disable-tta"]
    subprocess.run([*command, "--meshes", "none", "--preview", "none", "--quiet"], check=True)
    return max(json.loads(path.read_text())["predictedItemPeakBytes"] for path in out.glob("*/run.json")) >> 20


def compare(name: str, specs: list[FolderSpec], program: str, work: Path) -> float:
    """Prints the agreement of one ensemble; the share of equal voxels."""
    members = [work / "models" / f"{single.NAME}{spec.configuration}" for spec in specs]
    for spec, member in zip(specs, members):
        make_folder(member, spec)
    for number, grid in enumerate(VOLUMES):
        images, _ = shapes.render(77 + number, grid, specs[0].contrasts, specs[0].size)
        shapes.save(work / "volumes" / f"case{number}_0000.nii.gz", images[0], grid.affine())
    packages = []
    for member, spec in zip(members, specs):
        packages.append(work / "packages" / spec.configuration)
        with contextlib.redirect_stdout(io.StringIO()):
            write(member, packages[-1], Options(identifier=f"made-{spec.configuration}"), lambda _: None)
    reference = expected(members, work, len(VOLUMES))
    export_ensemble.main([str(work / "ensemble"), *map(str, packages)])
    peaks = [run(program, package, work / "volumes", work / "out" / package.name) for package in packages]
    peak = run(program, work / "ensemble", work / "volumes", work / "out" / "ensemble")
    total, alone = Agreement(), Agreement()
    for number in range(len(VOLUMES)):
        labels = np.asarray(nib.load(reference / f"case{number}.nii.gz").dataobj).astype(np.uint8)
        for agreement, folder in ((total, "ensemble"), (alone, packages[0].name)):
            (file,) = (work / "out" / folder).glob(f"*case{number}*/segmentation.nii.gz")
            agreement.add(np.asarray(nib.load(file).dataobj).astype(np.uint8), labels)
    print(
        f"{name}: {100 * total.equal:.4f} % of the voxels equal, lowest Dice {total.dice:.5f}; the first member alone "
        f"{100 * alone.equal:.4f} %; predicted peak {peak} MiB, members {peaks}",
        flush=True,
    )
    return total.equal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--work", type=Path, help="a folder that is kept")
    options = parser.parse_args()
    shares = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, (name, specs) in enumerate(CASES.items()):
            work = (options.work or Path(temporary)) / str(number)
            shutil.rmtree(work, ignore_errors=True)
            (work / "volumes").mkdir(parents=True)
            shares.append(compare(name, specs, options.nocturne, work))
    return 0 if min(shares) >= 0.9999 else 1


if __name__ == "__main__":
    sys.exit(main())
