#!/usr/bin/env python3
"""Times a program whose networks work in the region that a coarse network finds, and the same over the whole volume.

    python Tools/benchmarks/region.py NOCTURNE [--threads 2] [--save]
    python Tools/benchmarks/region.py NOCTURNE --voxels 140 140 160 --patch 64 --features 8      # small

The volume is a made CT of 410 x 410 x 600 mm with voxels of 1.5 mm: a body in air with an organ, a lesion in it, and a
vessel far from both. A network at 3 mm finds the organ; in the box around it, 20 mm larger on each side, one at 1.5 mm
labels organ, lesion and vessel (plain U-Nets of six stages from 32 features, patch 128x128x128, tile step 0.8). Without
the region, the same network at 1.5 mm labels the whole volume. Then the coarse network runs alone, which tells the box.

Prints wall time, processor time, time of inference, tiles (of the volume with the coarse network and of the box with
the other one, as `nocturne plan` counts them) and peak memory, summed over the process tree (PSS); then how many labels
differ inside the box, which must be 0, and outside it, where the region leaves the vessel without a label.

When equality can be expected: the tiles of a box lie elsewhere than those of the volume, and the U-Nets' normalisation
depends on all voxels of a tile, so that a network with trained or random weights alone gives similar labels, but not
the same. Here the logits of a voxel are those of its own intensity (nearest class) and, added to them, the U-Net's
between 0 and 0.1, too small to change a label: all of the U-Net is computed, and the labels are the same wherever tiles
lie. For the same reason the volume has the spacing of the network's grid: resampled, a box would have its voxels at
other places than the volume. So equality shows that the box is cut, labelled and put back at its place, and that
finding the region changes nothing in it; it does not say how trained networks agree with and without a region.

Exits with 1 if a label inside the box differs. Needs torch, onnx and nibabel.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results, machine_line
from nocturne_tools.benchmark_programs import facts, grid, package, run_command, stages, tiled
from nocturne_tools.model_package import write_program
from nocturne_tools.onnx_fixtures.networks import PlainUNet
from nocturne_tools.processes import Usage, measure

SPACING, COARSE, STEP, MARGIN = 1.5, 3.0, 0.8, 20.0
LABELS = ["vessel", "organ", "lesion"]
# Of tissue and labels; the noise is at most NOISE, so that the nearest class leads by more than the U-Net adds. Between
# tissue and vessel there is no intensity of the organ, which resampling would make at the vessel's border.
INTENSITIES, NOISE, SHARE = [40, 150, 300, 450], 12, 0.1
COARSE_LABELS = LABELS[:2]
CHANNEL = {"scheme": "ct", "lowerBound": -1000, "upperBound": 1000, "mean": 0, "standardDeviation": 100}


class NearestClass(nn.Module):
    """The logits of the nearest of some intensities c for the intensity f, f·c − c·c/2, and a share of a U-Net."""

    def __init__(self, classes: int, features: int) -> None:
        super().__init__()
        self.unet = PlainUNet(3, 1, classes, stages(features))
        self.nearest = nn.Conv3d(1, classes, 1)
        centres = torch.tensor(INTENSITIES[:classes]) / CHANNEL["standardDeviation"]
        self.nearest.weight.data = centres[:, None, None, None, None].clone()
        self.nearest.bias.data = -(centres**2) / 2

    def forward(self, x: Tensor) -> Tensor:
        return self.nearest(x) + SHARE * torch.sigmoid(self.unet(x))


def made_volume(shape: tuple[int, int, int]) -> NDArray[np.int16]:
    """The CT (i, j, k); sizes and places are shares of the volume's."""
    rng = np.random.default_rng(8)
    place = np.meshgrid(*[np.linspace(-1, 1, n, dtype=np.float32) for n in shape], indexing="ij", sparse=True)

    def ellipsoid(centre: tuple[float, float, float], radii: tuple[float, float, float]) -> NDArray[np.bool_]:
        return sum(((axis - c) / r) ** 2 for axis, c, r in zip(place, centre, radii)) < 1

    volume = np.full(shape, -1000, dtype=np.int16)
    parts = [((0, 0, 0), (0.9, 0.65, 10.0)), ((0, 0, -0.75), (0.12, 0.12, 0.2))]
    parts += [((0.3, 0, 0.1), (0.45, 0.38, 0.3)), ((0.35, 0, 0.1), (0.1, 0.1, 0.08))]
    for (centre, radii), value in zip(parts, INTENSITIES):
        inside = ellipsoid(centre, radii)
        volume[inside] = value + rng.integers(-NOISE, NOISE + 1, int(inside.sum()), dtype=np.int16)
    return volume


def save(path: Path, voxels: NDArray[np.int16]) -> None:
    nib.save(nib.Nifti1Image(voxels, np.diag([SPACING] * 3 + [1.0])), path)


def write_programs(work: Path, patch: int, features: int) -> None:
    """The programs `with`, `without` and `coarse`, of the same two networks."""
    torch.manual_seed(1)
    fine, coarse = NearestClass(4, features), NearestClass(3, features)
    part = {"packages": ["parts/fine"]}
    region = {"package": "parts/region", "grid": grid(COARSE), "labels": ["organ"], "marginMm": MARGIN}
    programs: dict[str, dict[str, Any]] = {
        "with": {"grid": grid(SPACING), "region": region, "parts": [part]},
        "without": {"grid": grid(SPACING), "parts": [part]},
        "coarse": {"grid": grid(COARSE), "parts": [{"packages": ["parts/region"]}]},
    }
    for name, program in programs.items():
        if name != "coarse":
            package(work / name / "parts" / "fine", "Fine", fine, LABELS, tiled(SPACING, patch, STEP), CHANNEL)
        if name != "without":
            settings = tiled(COARSE, patch, STEP)
            package(work / name / "parts" / "region", "Region", coarse, COARSE_LABELS, settings, CHANNEL)
        labels = COARSE_LABELS if name == "coarse" else LABELS
        manifest = {**facts(f"Program {name}", labels, {"scheme": "none"}), "volumeProgram": program}
        write_program(work / name, manifest)


@dataclass(frozen=True)
class Run:
    """What a program took, and its label map (i, j, k)."""

    usage: Usage
    inference: float
    labels: NDArray[np.uint8]
    notes: list[str]


class Programs:
    """Runs the programs in one folder."""

    def __init__(self, nocturne: str, work: Path, threads: int) -> None:
        self.nocturne, self.work, self.threads = nocturne, work, threads

    def run(self, name: str) -> Run:
        out = self.work / f"out-{name}"
        command = run_command(self.nocturne, self.work / "volume.nii.gz", self.work / name, out, self.threads)
        usage = measure(command, {}, self.work / f"{name}.log")
        labels = np.asarray(nib.load(next(out.rglob("segmentation.nii.gz"))).dataobj).astype(np.uint8)
        inference = json.loads(next(out.glob("*/run.json")).read_text())["seconds"]["infer"]
        notes = json.loads(next(out.glob("*/result.json")).read_text()).get("notes", [])
        return Run(usage, inference, labels, [str(note) for note in notes])

    def tiles(self, name: str, volume: str) -> int:
        command = [self.nocturne, "plan", str(self.work / volume), "--model", str(self.work / name), "--json"]
        plan = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(plan.stdout)["items"][0]["tiles"]


def box_around(labels: NDArray[np.uint8]) -> tuple[slice, ...]:
    """The box around the organ with its margin in whole voxels."""
    places = np.nonzero(labels == COARSE_LABELS.index("organ") + 1)
    if not len(places[0]):
        raise SystemExit("the coarse network has found no organ")
    margin = int(MARGIN / SPACING)
    sides = [(max(0, int(p.min()) - margin), int(p.max()) + 1 + margin) for p in places]
    return tuple(slice(low, min(size, high)) for (low, high), size in zip(sides, labels.shape))


def row(title: str, run: Run, tiles: str) -> str:
    used = run.usage
    figures = f"{used.wall:.1f} | {used.processor:.1f} | {run.inference:.1f} | {tiles} | {used.peak / 2**20:.0f}"
    return f"| {title} | {figures} |"


def compared(found: NDArray[np.uint8], whole: NDArray[np.uint8], box: tuple[slice, ...]) -> tuple[int, int, int]:
    """Voxels that differ inside the box and outside it, and labels inside the box."""
    inside = int(np.count_nonzero(found[box] != whole[box]))
    labels = np.count_nonzero(np.bincount(whole[box].ravel(), minlength=2)[1:])
    return inside, int(np.count_nonzero(found != whole)) - inside, labels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--voxels", type=int, nargs=3, default=[273, 273, 400], help="of the volume, 1.5 mm each")
    parser.add_argument("--patch", type=int, default=128, help="voxels a side, a multiple of 32")
    parser.add_argument("--features", type=int, default=32, help="of the first stage")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as temporary, torch.inference_mode():
        work = Path(temporary)
        write_programs(work, options.patch, options.features)
        volume = made_volume(tuple(options.voxels))
        save(work / "volume.nii.gz", volume)
        programs = Programs(options.nocturne, work, options.threads)
        load = os.getloadavg()[0]
        runs = {name: programs.run(name) for name in ("with", "without", "coarse")}
        box = box_around(runs["coarse"].labels)
        save(work / "box.nii.gz", volume[box])
        tiles = [programs.tiles(*one) for one in (("coarse", "volume.nii.gz"), ("without", "box.nii.gz"))]
        all_tiles = programs.tiles("without", "volume.nii.gz")
    inside, outside, labels = compared(runs["with"].labels, runs["without"].labels, box)
    size = [one.stop - one.start for one in box]
    lines = [
        f"## {datetime.date.today()}: a region of {' x '.join(map(str, size))} voxels in"
        f" {' x '.join(map(str, options.voxels))}, {options.threads} threads",
        "",
        f"{machine_line()}. Plain U-Nets of six stages from {options.features} features, patch {options.patch}³,"
        f" {COARSE} mm for the region and {SPACING} mm in it. Load average {load:.1f} before and {os.getloadavg()[0]:.1f} after.",
        "",
        "| program | wall s | processor s | inference s | tiles | peak MiB |",
        "| --- | --- | --- | --- | --- | --- |",
        row("with the region", runs["with"], f"{tiles[0]} + {tiles[1]}"),
        row("without it", runs["without"], str(all_tiles)),
        row("its coarse network alone", runs["coarse"], str(tiles[0])),
        "",
        f"With the region {runs['without'].usage.wall / runs['with'].usage.wall:.2f} times as fast. Inside the box"
        f" {inside} of {np.prod(size)} voxels differ, with {labels} labels; outside {outside}, which the region leaves"
        " out.",
    ]
    lines += [f"Note of the program with the region: {note}" for note in runs["with"].notes]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.save:
        append_results(text)
    return 1 if inside or not labels else 0


if __name__ == "__main__":
    sys.exit(main())
