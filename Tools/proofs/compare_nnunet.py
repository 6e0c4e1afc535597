#!/usr/bin/env python3
"""Compares Nocturne's label maps voxel by voxel with those of nnU-Net v2's own predictor on the same weights.

    python Tools/proofs/compare_nnunet.py NOCTURNE [--work DIR] [--reference-rounding] [--precision bfloat16] [--probabilities]

Makes small trained folders (nnU-Net's own networks, trained briefly on ellipsoids or drawn photos) and volumes or photos,
predicts with nnUNetPredictor on the CPU and with `nocturne run` on the exported packages, each with one and with three folds, with
and without mirroring. Prints the share of equal voxels and the lowest Dice over the labels, and exits with 1 below the limits:
99.99 % and 0.9995; 99.9999 % with --reference-rounding; 99.9 % and 0.998 with bfloat16, counted over all runs of a
case. With --probabilities, the maps of probabilities are compared with nnU-Net's arrays (`save_probabilities`), in steps of
1/255: at most 1 step in the mean of a case, and with --reference-rounding at most 1 step in any voxel; photos have none. Folders, volumes and
nnU-Net's predictions remain in DIR and are reused.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

warnings.filterwarnings("ignore")  # PyTorch's and nnU-Net's about themselves
os.environ.setdefault("nnUNet_def_n_proc", "2")

import nibabel as nib
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.label_agreement import Agreement, Limits
from nocturne_tools.nnunet.case_files import ending, read_labels, write_case
from nocturne_tools.nnunet.make_folder import make_folder
from nocturne_tools.nnunet.package import Options, write
from nocturne_tools.nnunet.proof_cases import CASES, ProofCase
from nocturne_tools.paths import TOOLS

NAME = "nnUNetTrainer__nnUNetPlans__"
CODE = TOOLS / "lib" / "nocturne_tools" / "nnunet"
VARIANTS = [(1, False), (1, True), (3, False), (3, True)]  # folds, mirroring


def fingerprint(case: ProofCase) -> str:
    """Changes with the case and with the code that makes it."""
    digest = hashlib.sha256(repr(case).encode())
    for file in ("make_folder.py", "shapes.py", "photos.py", "case_files.py"):
        digest.update((CODE / file).read_bytes())
    return digest.hexdigest()


def prepare(case: ProofCase, work: Path) -> Path:
    """The case's folder with trained models, packages and volumes, made again when case or code have changed."""
    folder = work / case.name
    stamp = folder / "made"
    if stamp.is_file() and stamp.read_text() == fingerprint(case):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    started = time.monotonic()
    specs = [case.spec] if case.before is None else [case.before, case.spec]
    for spec in specs:
        make_folder(folder / "models" / f"{NAME}{spec.configuration}", spec)
    for number, grid in enumerate(case.grids):
        write_case(folder / "volumes", folder / "truth", f"case{number}", 77 + number, case.spec, grid)
    stamp.write_text(fingerprint(case))
    print(f"{case.name}: trained in {time.monotonic() - started:.0f} s", flush=True)
    return folder


@dataclass
class Steps:
    """How far probabilities are apart, in steps of 1/255."""

    voxels: int = 0
    total: float = 0.0
    largest: float = 0.0

    def add(self, maps: Path, arrays: Path, channels: dict[str, int], reoriented: bool) -> None:
        """`reoriented`: the arrays are in the orientation that nnU-Net's reader turned the image to (RAS)."""
        expected = np.load(arrays)["probabilities"]
        for name, channel in channels.items():
            image = nib.load(maps / f"{name}.nii.gz")
            found = image.dataobj.get_unscaled()
            if reoriented:
                found = nib.orientations.apply_orientation(found, nib.io_orientation(image.affine))
            difference = np.abs(found - 255.0 * expected[channel].transpose(2, 1, 0).astype(np.float64))
            self.voxels += difference.size
            self.total += float(difference.sum())
            self.largest = max(self.largest, float(difference.max()))

    @property
    def mean(self) -> float:
        return self.total / max(self.voxels, 1)

    def are_fine(self, reference_rounding: bool) -> bool:
        """nnU-Net keeps logits in half precision: only sums that are rounded alike agree in every voxel."""
        return self.mean <= 1 and (self.largest <= 1 or not reference_rounding)


def predict(case: ProofCase, folder: Path, folds: int, mirroring: bool, probabilities: bool) -> Path:
    """nnU-Net's label maps and arrays of probabilities, from an earlier call if there was one."""
    out = folder / "nnunet" / f"{folds}-{mirroring}"
    arrays = [f"case{n}.npz" for n in range(len(case.grids))] if probabilities else []
    if (out / "done").exists() and all((out / array).exists() for array in arrays):
        return out
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    volumes = folder / "volumes"
    inputs = [[str(path) for path in sorted(volumes.glob(f"case{n}_*"))] for n in range(len(case.grids))]
    before = None
    for spec in [case.spec] if case.before is None else [case.before, case.spec]:
        stage = out / spec.configuration
        stage.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            predictor = nnUNetPredictor(use_mirroring=mirroring, device=torch.device("cpu"), allow_tqdm=False)
            model = folder / "models" / f"{NAME}{spec.configuration}"
            predictor.initialize_from_trained_model_folder(str(model), tuple(range(folds)))
            predictor.predict_from_files_sequential(
                inputs,
                [str(stage / f"case{n}") for n in range(len(inputs))],
                save_probabilities=probabilities,
                folder_with_segs_from_prev_stage=None if before is None else str(before),
            )
        before = stage
    spacings = [f"case{n}.json" for n in range(len(inputs))] if case.takes_tiff else []
    for name in [f"case{n}{ending(case.spec.grid)}" for n in range(len(inputs))] + spacings + arrays:
        shutil.copy(before / name, out)
    (out / "done").touch()
    return out


def package(case: ProofCase, folder: Path, folds: int) -> Path:
    """The exported package; with fewer folds the same one naming fewer networks."""
    out = folder / "packages" / str(folds)
    source = folder / "packages" / "source"
    if not source.exists():
        model = folder / "models" / f"{NAME}{case.spec.configuration}"
        with contextlib.redirect_stdout(io.StringIO()):
            write(model, source, Options(), lambda _: None)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source, out)
    manifest = json.loads((out / "model.json").read_text())
    section = manifest["photoSegmentation" if case.takes_photos else "volumeSegmentation"]
    for stage in (section, section.get("previousStage")):
        if stage is not None:
            stage["networks"] = stage["networks"][:folds]
    (out / "model.json").write_text(json.dumps(manifest))
    return out


def dice_of_truth(case: ProofCase, folder: Path, predicted: Path) -> float:
    """Dice of all labels as one against the truth, which shows that the network has learnt something."""
    scores = []
    for n in range(len(case.grids)):
        name = f"case{n}{ending(case.spec.grid)}"
        truth, found = (read_labels(place / name)[0] > 0 for place in (folder / "truth", predicted))
        scores.append(2 * (truth & found).sum() / max(truth.sum() + found.sum(), 1))
    return float(min(scores))


def tiff_differences(case: ProofCase, result: Path, expected: Path) -> list[str]:
    """What is wrong with the label map as TIFF: nnU-Net's reader must find the labels of the NIfTI file, and nnU-Net's spacing."""
    from nnunetv2.imageio.tif_reader_writer import Tiff3DIO

    found, facts = Tiff3DIO().read_seg(str(result / "segmentation.tif"))
    same = np.array_equal(found[0].transpose(2, 1, 0), read_labels(result / "segmentation.nii.gz")[0])
    spacing = json.loads(expected.with_suffix(".json").read_text())["spacing"]
    fine = same and list(facts["spacing"]) == list(spacing)
    return [] if fine else [f"{case.name}: segmentation.tif of {result.name} has other labels or another spacing"]


def label_channels(case: ProofCase, package: Path) -> dict[str, int]:
    """The channel of each label in nnU-Net's array of probabilities, by its name: its value, and for regions the place of
    its value in the order of classes."""
    labels = json.loads((package / "model.json").read_text())["labels"]
    order = case.spec.regions_class_order
    return {label["name"]: order.index(label["value"]) if order else label["value"] for label in labels}


def compare(
    case: ProofCase, folder: Path, command: list[str], extra: list[str]
) -> tuple[Agreement, Steps, list[str], float]:
    total, steps, notes, truth = Agreement(), Steps(), [], 1.0
    probabilities = "--probabilities" in extra
    for folds, mirroring in VARIANTS:
        expected = predict(case, folder, folds, mirroring, probabilities)
        truth = min(truth, dice_of_truth(case, folder, expected))
        with tempfile.TemporaryDirectory() as out:
            model = package(case, folder, folds)
            run = [*command, "run", str(folder / "volumes"), "--model", str(model)]
            run += ["--output", out, "--quiet", *extra, *([] if mirroring else ["--disable-tta"])]
            run += [] if case.takes_photos else ["--meshes", "none"]
            done = subprocess.run(run, capture_output=True, text=True)
            different: list[int] = []
            for n, grid in enumerate(case.grids):
                map_name = "labels.png" if case.takes_photos else "segmentation.nii.gz"
                files = list(Path(out).rglob(f"*case{n}*/{map_name}"))
                labels, affine = read_labels(expected / f"case{n}{ending(grid)}")
                found, place = read_labels(files[0]) if files else (np.full(labels.shape, 255, dtype=np.uint8), affine)
                if not files:
                    notes.append(f"{case.name}: no label map, exit {done.returncode}: {done.stderr[-500:]}")
                if found.shape != labels.shape or not np.allclose(place, affine, atol=1e-3):
                    notes.append(f"{case.name}: different grid")
                    found = np.full(labels.shape, 255, dtype=np.uint8)
                if files and case.takes_tiff:
                    notes += tiff_differences(case, files[0].parent, expected / f"case{n}.tif")
                different.append(total.add(found, labels))
                if probabilities and files:
                    maps = files[0].parent / "probabilities"
                    reoriented = case.spec.reader.endswith("WithReorient")
                    steps.add(maps, expected / f"case{n}.npz", label_channels(case, model), reoriented)
            mirrored = "mirrored" if mirroring else "plain"
            print(f"  {case.name}, {folds} folds, {mirrored}: {sum(different)} voxels differ", flush=True)
    return total, steps, notes, truth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nocturne-nnunet")
    parser.add_argument("--reference-rounding", action="store_true")
    parser.add_argument("--probabilities", action="store_true")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", nargs="+", help="only these")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    limits = Limits(0.999, 0.998) if options.precision == "bfloat16" else Limits(0.9999, 0.9995)
    extra = ["--precision", options.precision, "--engine", options.engine, "--threads", str(options.threads)]
    if options.reference_rounding:
        extra.append("--reference-rounding")
        if options.precision != "bfloat16":
            limits.equal = 0.999999
    if options.probabilities:
        extra.append("--probabilities")
    rows, failures = [], 0
    for case in CASES:
        if options.cases and case.name not in options.cases or case.takes_photos and options.probabilities:
            continue
        folder = prepare(case, options.work)
        found, steps, notes, truth = compare(case, folder, options.nocturne.split(), extra)
        fine = found.equal >= limits.equal and found.dice >= limits.dice and not notes
        fine = fine and steps.are_fine(options.reference_rounding)
        failures += not fine
        rows.append(
            f"| {case.name} | {found.voxels} | {found.different} | {100 * found.equal:.5f} |"
            f" {found.dice:.6f} | {truth:.2f} | {steps.mean:.3f} | {steps.largest:.3f} | {'yes' if fine else 'NO'} |"
        )
        print("\n".join(notes), end="\n" if notes else "")
    rounding = ", reference rounding" if options.reference_rounding else ""
    print(f"\n{options.precision}{rounding}: at least {100 * limits.equal:g} % and Dice {limits.dice}\n")
    print("| case | voxels | different | equal % | lowest Dice | Dice with the truth | mean step | largest step | within limits |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
