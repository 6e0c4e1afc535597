#!/usr/bin/env python3
"""Compares Nocturne with nnU-Net v2 on the processor: the same weights, the same cohort, in turns in one call.

    python Tools/benchmarks/against_nnunet.py NOCTURNE [--rounds 3] [--work DIR] [--save]

Makes a cohort of CT-like phantoms (160 to 220 voxels a side, about 1 mm) and a trained 3d_fullres folder: nnU-Net's
plain U-Net of five stages from 32 features, patch 96x96x96, spacing 1.5 mm. Then runs, in turn in every round,
`nnUNetv2_predict_from_modelfolder -device cpu --disable_tta` with its default workers, and `nocturne run` in float32
and in bfloat16. Prints wall time, processor time, the peak of memory summed over the process tree (PSS, sampled four
times a second at most) and the agreement of the labels; medians over the rounds. --save appends to RESULTS.md beside
this file.
The cohort and the folder remain in --work for the next call.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import io
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")  # PyTorch's and nnU-Net's about themselves

import nibabel as nib
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results
from nocturne_tools.machine import memory_gib, processor
from nocturne_tools.nnunet import shapes
from nocturne_tools.nnunet.make_folder import FolderSpec, make_folder
from nocturne_tools.nnunet.package import Options, write
from nocturne_tools.processes import CommandFailed, Usage, measure

MODEL = "nnUNetTrainer__nnUNetPlans__3d_fullres"
PROGRAM = "nnUNetv2_predict_from_modelfolder"
BODY = 150.0  # mm


def prepare(work: Path, cases: int, patch: int, features: int) -> None:
    """Makes volumes, trained folder and package where they are missing."""
    for number in range(cases):
        path = work / "volumes" / f"case{number}_0000.nii.gz"
        if path.exists():
            continue
        rng = np.random.default_rng([0xC0, number])
        shape = tuple(int(n) for n in rng.integers(160, 221, 3))
        spacing = tuple(float(step) for step in rng.uniform(0.85, 1.15, 3).round(3))
        grid = shapes.Grid(shape, spacing)
        shapes.save(path, shapes.render(500 + number, grid, ["ct"], BODY)[0][0], grid.affine())
    stages = [min(features * 2**n, 320) for n in range(5)]
    if not (work / MODEL / "fold_0" / "checkpoint_final.pth").exists():
        spec = FolderSpec(
            "3d_fullres",
            [1.5] * 3,
            [patch] * 3,
            shapes.Grid((96, 96, 96), (1.7, 1.7, 1.7)),
            features=stages,
            training_patch=[48] * 3,
            folds=1,
            steps=60,
            volumes=2,
            size=BODY,
        )
        started = time.monotonic()
        make_folder(work / MODEL, spec)
        print(f"trained in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if not (work / "package").exists():
        with contextlib.redirect_stdout(io.StringIO()):
            write(work / MODEL, work / "package", Options(), lambda text: print(text, file=sys.stderr))


def agreement(work: Path, found: str, cases: int) -> tuple[float, dict[int, float]]:
    """Share of voxels equal to nnU-Net's, and Dice of each label, over the whole cohort."""
    voxels = equal = 0
    overlap, sizes = np.zeros(256), np.zeros(256)
    for number in range(cases):
        expected = np.asarray(nib.load(work / "nnunet" / f"case{number}.nii.gz").dataobj).astype(np.uint8)
        files = list((work / found).rglob(f"*case{number}*/segmentation.nii.gz"))
        if len(files) != 1:
            raise SystemExit(f"{found}: case{number} has {len(files)} label maps")
        labels = np.asarray(nib.load(files[0]).dataobj).astype(np.uint8)
        voxels += labels.size
        equal += int((labels == expected).sum())
        overlap += np.bincount(labels[labels == expected], minlength=256)
        sizes += np.bincount(labels.ravel(), minlength=256) + np.bincount(expected.ravel(), minlength=256)
    return equal / voxels, {value: 2 * overlap[value] / sizes[value] for value in range(1, 256) if sizes[value]}


class Comparison:
    """The programs' commands, and their usage in every round."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        beside = Path(sys.executable).parent / PROGRAM
        program = str(beside) if beside.exists() else PROGRAM
        self.commands = {
            "nnunet": [program, "-i", str(work / "volumes"), "-o", str(work / "nnunet"), "-m", str(work / MODEL)]
            + ["-f", "0", "-device", "cpu", "--disable_tta"]
        }
        for precision in options.precisions:
            run = [*options.nocturne.split(), "run", str(work / "volumes"), "--model", str(work / "package")]
            run += ["--output", str(work / precision), "--meshes", "none", "--quiet", "--disable-tta"]
            run += ["--precision", precision, "--engine", options.engine, "-j", str(options.threads)]
            self.commands[precision] = run
        self.usages: dict[str, list[Usage]] = {name: [] for name in self.commands}
        self.failed: set[str] = set()

    def round(self, number: int) -> None:
        """Runs every program once; one that failed is left out afterwards."""
        threads = str(self.options.threads)
        for name, command in self.commands.items():
            if name in self.failed:
                continue
            shutil.rmtree(self.work / name, ignore_errors=True)
            try:
                environment = {"nnUNet_def_n_proc": threads, "OMP_NUM_THREADS": threads}
                used = measure(command, environment, self.work / f"{name}.log")
            except CommandFailed as failure:
                print(failure, file=sys.stderr, flush=True)
                self.failed.add(name)
                continue
            self.usages[name].append(used)
            figures = f"{used.wall:.1f} s, processor {used.processor:.1f} s, {used.peak / 2**20:.0f} MiB"
            print(f"round {number + 1} {name}: {figures}", file=sys.stderr, flush=True)

    def median(self, name: str, key: str) -> float:
        return statistics.median(getattr(used, key) for used in self.usages[name])

    def row(self, name: str) -> str:
        cells = ["nnU-Net" if name == "nnunet" else f"Nocturne {name}"]
        for key, unit, digits in (("wall", 1, 1), ("processor", 1, 1), ("peak", 2**20, 0)):
            ratio = self.median("nnunet", key) / self.median(name, key)
            cells += [f"{self.median(name, key) / unit:.{digits}f}", "1" if name == "nnunet" else f"{ratio:.2f}"]
        if name == "nnunet":
            cells += ["", ""]
        else:
            equal, dice = agreement(self.work, name, self.options.cases)
            cells += [f"{100 * equal:.4f}", ", ".join(f"{value}: {score:.5f}" for value, score in dice.items())]
        return "| " + " | ".join(cells) + " |"

    def report(self, load: float) -> str:
        options = self.options
        version = subprocess.run([*options.nocturne.split(), "--version"], capture_output=True, text=True).stdout.strip()
        rounds = "one round" if options.rounds == 1 else f"medians of {options.rounds} rounds"
        lines = [
            f"## {datetime.date.today()}: a cohort of {options.cases} against nnU-Net, {options.threads} threads",
            "",
            f"{processor()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB, {platform.system()}; nnunetv2"
            f" {importlib.metadata.version('nnunetv2')}, PyTorch {torch.__version__}; Nocturne {version or 'unknown'}.",
            f"Plain U-Net, five stages from {options.features} features, patch {options.patch}³, 1.5 mm, one fold,"
            f" mirroring off; CT-like volumes of 160 to 220 voxels a side. {rounds.capitalize()}, in turn. Load average"
            f" {load:.1f} before and {os.getloadavg()[0]:.1f} after.",
            "",
            "| program | wall s | times as fast | processor s | times less | peak MiB | times less | equal % | Dice |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(self.row(name) for name in self.commands if name not in self.failed),
            "",
        ]
        return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cases", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patch", type=int, default=96)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nocturne-against-nnunet")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    torch.set_num_threads(options.threads)
    # Each network and each cohort has its own folder.
    work = options.work / f"{options.cases}-cases-{options.features}-features-patch-{options.patch}"
    prepare(work, options.cases, options.patch, options.features)
    comparison = Comparison(options, work)
    for number in range(options.rounds):
        comparison.round(number)
    if "nnunet" in comparison.failed:
        return 1
    text = comparison.report(load)
    print(text)
    if options.save:
        append_results(text)
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
