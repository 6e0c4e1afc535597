#!/usr/bin/env python3
"""Compares Nocturne with TotalSegmentator on the processor: the task `total` with made weights of the real size.

    python Tools/benchmarks/against_totalsegmentator.py NOCTURNE [--work DIR] [--threads 2] [--limit SECONDS] [--save]
    python Tools/benchmarks/against_totalsegmentator.py NOCTURNE --side 128 --slices 60 --patch 64 --features 8  # small

Makes the five trained folders of `total` without training: plain U-Nets of six stages from 32 features, patch
128x128x128, 1.5 mm, as in TotalSegmentator's plans; exports them with the exporter for TotalSegmentator; and makes a CT
of 410 x 410 x 600 mm (512 x 512 x 400 voxels), that of five_networks.py with intensities that change slowly. Then runs,
one after the other and once each in a process of its own, TotalSegmentator's own code (`device="cpu"`, one file with all
labels, no network) and `nocturne run` without surfaces and previews: in float32, and again with --reference-rounding,
which rounds where nnU-Net does (--variants takes exact, float32, bfloat16 and rounding). TotalSegmentator takes a
thread for every core of the machine, whatever --threads says.

Prints wall time and processor time, the peak of memory summed over the process tree (PSS, sampled four times a second
at most), and the agreement of Nocturne's label map with TotalSegmentator's: share of equal voxels of the volume and of
those that have a label in either map, and the lowest Dice of the labels with 1,000 voxels or more in TotalSegmentator's
map. The weights are random, so that more voxels than with trained networks have nearly the same logits for two labels:
without the rounding many of these differ.

A program that ends with an error, such as no memory, or is not done after --limit seconds, has a row that says so.
Weights, package and volume remain in --work for the next call. Needs TotalSegmentator, nnunetv2, PyTorch, onnx,
onnxruntime and nibabel.
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
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

warnings.filterwarnings("ignore")  # PyTorch's and nnU-Net's about themselves

import nibabel as nib
import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results
from nocturne_tools.benchmark_programs import body, run_command, varied_patch
from nocturne_tools.label_agreement import Agreement
from nocturne_tools.machine import memory_gib, processor
from nocturne_tools.processes import CommandFailed, Usage, measure
from nocturne_tools.totalsegmentator import made_weights, reference, tasks
from nocturne_tools.totalsegmentator.program import Export

TASK = "total"
LARGE = 1000  # voxels of a label whose Dice counts
VARIANTS = {name: ["--precision", name] for name in ("exact", "float32", "bfloat16")}
VARIANTS["rounding"] = ["--reference-rounding"]


@dataclass(frozen=True)
class Row:
    """One program's run: what it took, why it has no label map, and what the map agrees with."""

    name: str
    usage: Usage
    failure: str | None = None
    agreement: Agreement | None = None
    labelled: float = 1  # the share of equal voxels among those that have a label in either map
    dice: float = 1  # the lowest of the labels with LARGE voxels

    def text(self) -> str:
        cells = [f"{self.usage.wall:.0f}", f"{self.usage.processor:.0f}", f"{self.usage.peak / 2**20:.0f}"]
        if self.agreement is None:
            cells += ["", "", "", self.failure or ""]
        else:
            found = self.agreement
            cells += [f"{100 * found.equal:.4f}", f"{100 * self.labelled:.4f}", f"{self.dice:.5f}", self.failure or ""]
        return f"| {self.name} | {' | '.join(cells)} |"


def prepare(work: Path, options: argparse.Namespace) -> None:
    """Makes weights, package and volume where they are missing."""
    started = time.monotonic()
    task = tasks.of_text(TASK)
    if not (work / "package").exists():
        size = made_weights.real(varied_patch(options.patch), options.patch, options.features)
        made_weights.make([task], work / "weights", size)
        with contextlib.redirect_stdout(io.StringIO()):
            Export(task, work / "weights", say=lambda _: None).write(work / "package")
    volume = work / f"body-{options.side}-{options.slices}.nii.gz"
    if not volume.exists():
        partial = volume.with_name(f"partial-{volume.name}")
        body(partial, options.slices, options.side, varied=True)
        partial.rename(volume)
    print(f"prepared in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def label_map(file: Path) -> NDArray[np.uint8]:
    return np.asarray(nib.load(file).dataobj).astype(np.uint8)


def cause(failure: CommandFailed, program: str, name: str, log: Path) -> str:
    """Why a program failed and what it said at last, with its name instead of its path, as a cell of a table."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = f": {lines[-1][:120].replace('|', '/')}" if lines else ""
    return failure.reason.replace(program, name) + said


def by_totalsegmentator(work: Path, volume: Path, out: Path, limit: float | None) -> Row:
    name, log = "TotalSegmentator", work / "totalsegmentator.log"
    out.unlink(missing_ok=True)
    with reference.call(TASK, work / "weights", volume, out) as (command, environment):
        try:
            return Row(name, measure(command, environment, log, limit))
        except CommandFailed as failure:
            out.unlink(missing_ok=True)
            return Row(name, failure.usage, cause(failure, sys.executable, "Python", log))


def by_nocturne(work: Path, variant: str, command: list[str], expected: Path, limit: float | None) -> Row:
    """Runs Nocturne, and compares its label map with the expected one if that exists."""
    name, log = f"Nocturne {variant}", work / f"nocturne-{variant}.log"
    try:
        usage = measure([*command, *VARIANTS[variant]], {}, log, limit)
    except CommandFailed as failure:
        return Row(name, failure.usage, cause(failure, command[0], "nocturne", log))
    files = list((work / variant).rglob("segmentation.nii.gz"))
    if len(files) != 1:
        return Row(name, usage, f"{len(files)} label maps")
    if not expected.exists():
        return Row(name, usage)
    found, labels = label_map(files[0]), label_map(expected)
    if found.shape != labels.shape:
        return Row(name, usage, f"the label map has {found.shape} voxels instead of {labels.shape}")
    counts = Agreement()
    different = counts.add(found, labels)
    either = int(np.count_nonzero((found != 0) | (labels != 0)))
    large = np.flatnonzero(np.bincount(labels.ravel(), minlength=256)[1:] >= LARGE) + 1
    dice = float((2 * counts.overlap[large] / counts.sizes[large]).min(initial=1))
    return Row(name, usage, None, counts, 1 - different / max(either, 1), dice)


def report(options: argparse.Namespace, rows: list[Row], load: float, labels: str) -> str:
    shown = subprocess.run([options.nocturne, "--version"], capture_output=True, text=True)
    lines = [
        f"## {datetime.date.today()}: TotalSegmentator's task {TASK} over 410 x 410 x {1.5 * options.slices:.0f} mm,"
        f" {options.threads} threads",
        "",
        f"{processor()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB, {platform.system()}; TotalSegmentator"
        f" {importlib.metadata.version('TotalSegmentator')}, nnunetv2 {importlib.metadata.version('nnunetv2')}, PyTorch"
        f" {torch.__version__}; Nocturne {shown.stdout.strip() or 'unknown'}.",
        f"Five plain U-Nets of six stages from {options.features} features with made weights, patch {options.patch}³,"
        f" 1.5 mm; {options.side} x {options.side} x {options.slices} voxels. One run each. {labels} Load average"
        f" {load:.1f} before and {os.getloadavg()[0]:.1f} after.",
        "",
        "| program | wall s | processor s | peak MiB | equal % | of labelled voxels % | lowest Dice | failure |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(row.text() for row in rows),
        "",
    ]
    first = rows[0].usage
    for row in rows[1:]:
        if rows[0].failure is None and row.failure is None:
            lines.append(
                f"{row.name}: {first.wall / row.usage.wall:.2f} times as fast,"
                f" {first.processor / row.usage.processor:.2f} times less processor time,"
                f" {first.peak / row.usage.peak:.2f} times less memory."
            )
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", type=int, default=512, help="voxels of a row and a column, of 410 mm in any case")
    parser.add_argument("--slices", type=int, default=400, help="slices of 1.5 mm")
    parser.add_argument("--patch", type=int, default=128, help="voxels a side, a multiple of 32 from 64 on")
    parser.add_argument("--features", type=int, default=32, help="of the first stage")
    parser.add_argument("--variants", nargs="+", default=["float32", "rounding"], choices=VARIANTS)
    parser.add_argument("--limit", type=float, help="seconds after which a program is stopped")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "nocturne-against-totalsegmentator")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    # Each size of networks has its own folder.
    work = (options.work / f"patch-{options.patch}-features-{options.features}").absolute()
    work.mkdir(parents=True, exist_ok=True)
    prepare(work, options)
    load = os.getloadavg()[0]
    size = f"{options.side}-{options.slices}"
    volume, expected = work / f"body-{size}.nii.gz", work / f"totalsegmentator-{size}.nii.gz"
    rows = [by_totalsegmentator(work, volume, expected, options.limit)]
    print(rows[0].text(), file=sys.stderr, flush=True)
    labels = "Without TotalSegmentator's label map there is nothing to compare."
    if expected.exists():
        found = label_map(expected)
        share = 100 * np.count_nonzero(found) / found.size
        count = np.count_nonzero(np.bincount(found.ravel())[1:])
        labels = f"TotalSegmentator finds {count} labels in {share:.0f} % of it."
    for variant in options.variants:
        shutil.rmtree(work / variant, ignore_errors=True)
        command = run_command(options.nocturne, volume, work / "package", work / variant, options.threads)
        rows.append(by_nocturne(work, variant, command, expected, options.limit))
        print(rows[-1].text(), file=sys.stderr, flush=True)
    text = report(options, rows, load, labels)
    print(text)
    if options.save:
        append_results(text)
    return 1 if any(row.failure for row in rows[1:]) else 0


if __name__ == "__main__":
    sys.exit(main())
