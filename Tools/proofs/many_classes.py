#!/usr/bin/env python3
"""A volume of 512 x 512 x 800 voxels with a model of 118 classes, under a memory limit that the kernel enforces.

    Tools/proofs/many_classes.py NOCTURNE WORK [--memory 4G] [--patch 96] [--classes 118] [--shape 512 512 800]

Makes the volume (0.8 x 0.8 x 1.0 mm) and a package for 1.5 mm whose network is small and has random weights: the memory
of a batch does not depend on what the classes mean. Runs it inside a memory cgroup with that limit and without swap where
one can be made, otherwise under a limit of the address space, and prints the plan, the time and the peaks.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.cgroups import forbid_swap, limited_group
from nocturne_tools.memory_inputs import CT, class_labels, write_network_package
from nocturne_tools.model_package import recipe, spline
from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import render, save_nifti
from nocturne_tools.processes import PeakSampler

SPACING = (0.8, 0.8, 1.0)


def make_volume(path: Path, shape: tuple[int, int, int]) -> None:
    """A phantom drawn on a quarter of the grid and repeated, with noise."""
    coarse = tuple(n // 4 for n in shape)
    affine = np.diag([4 * s for s in SPACING] + [1.0])
    affine[:3, 3] = [-n * s / 2 for n, s in zip(shape, SPACING)]
    image, _ = render(draw(77), coarse, affine)
    for axis in range(3):
        image = np.repeat(image, 4, axis=axis)
    fine = affine.copy()
    fine[:3, :3] = np.diag(SPACING)
    save_nifti(path, image.astype(np.int16), fine)


def make_package(folder: Path, classes: int, patch: int) -> None:
    """Two convolutions, a step down and up again, and one output per class."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    network = torch.nn.Sequential(
        torch.nn.Conv3d(1, 8, 3, stride=2, padding=1),
        torch.nn.InstanceNorm3d(8, affine=True),
        torch.nn.LeakyReLU(0.01),
        torch.nn.Conv3d(8, 16, 3, padding=1),
        torch.nn.InstanceNorm3d(16, affine=True),
        torch.nn.LeakyReLU(0.01),
        torch.nn.ConvTranspose3d(16, 16, 2, stride=2),
        torch.nn.Conv3d(16, classes, 1),
    ).eval()
    entry = recipe("stored", [1.5, 1.5, 1.5], [patch] * 3)
    entry["resampling"] = {"image": spline(3, 0, "auto"), "logits": spline(1, 0, "auto")}
    manifest = {"id": "many-classes", "name": "Many classes", "labels": class_labels(classes)}
    manifest |= {"channels": [CT], "volumeSegmentation": entry}
    write_network_package(folder, network, (1, 1, patch, patch, patch), manifest)
    onnx.checker.check_model(str(folder / "network.onnx"))


def bytes_of(text: str) -> int:
    """A size such as 4G."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(float(text[:-1]) * units[text[-1]])


def limited_run(command: list[str], group: Path | None, limit: int) -> tuple[int, int]:
    """Runs a command under the limit: its exit code and the peak of its process tree."""

    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    process = subprocess.Popen(command, preexec_fn=enter)
    sampler = PeakSampler(process.pid, 0.1)
    code = process.wait()
    sampler.close()
    return code, sampler.peak


def print_group(group: Path) -> None:
    """The group's own readings."""
    for name in ("memory.max_usage_in_bytes", "memory.failcnt", "memory.peak", "memory.events"):
        if (group / name).exists():
            print(f"  {name}: {(group / name).read_text().strip()}  (with the page cache)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", type=Path, help="the built program")
    parser.add_argument("work", type=Path, help="folder for the volume, the package and results")
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--patch", type=int, default=96)
    parser.add_argument("--classes", type=int, default=118)
    parser.add_argument("--shape", type=int, nargs=3, default=(512, 512, 800))
    arguments = parser.parse_args()
    limit = bytes_of(arguments.memory)

    arguments.work.mkdir(parents=True, exist_ok=True)
    volume = arguments.work / ("volume-" + "x".join(map(str, arguments.shape)) + ".nii.gz")
    if not volume.exists():
        make_volume(volume, tuple(arguments.shape))
    package = arguments.work / f"package-{arguments.classes}-{arguments.patch}"
    if not (package / "model.json").exists():
        make_package(package, arguments.classes, arguments.patch)
    program = str(arguments.nocturne.resolve())
    inputs = [str(volume), "--model", str(package), "--memory", arguments.memory]
    subprocess.run([program, "plan", *inputs], check=True)

    output = arguments.work / f"out-{time.strftime('%H%M%S')}"
    group = limited_group(limit)
    if group is not None:
        forbid_swap(group)
    start = time.monotonic()
    code, peak = limited_run([program, "run", *inputs, "--output", str(output)], group, limit)
    print(f"exit {code}, {time.monotonic() - start:.0f} s, limit {limit / 2**30:.2f} GiB ", end="")
    print("in a memory cgroup" if group else "of address space")
    print(f"peak of the process tree (proportional set, every 0.1 s): {peak / 2**30:.2f} GiB")
    if group is not None:
        print_group(group)
        group.rmdir()
    run = json.loads(next(output.glob("*/run.json")).read_text()) if code == 0 else {}
    for key in ("predictedPeakBytes", "peakResidentBytes"):
        if key in run:
            print(f"  {key}: {run[key] / 2**30:.2f} GiB")
    sys.exit(0 if code == 0 and peak <= limit else 1)


if __name__ == "__main__":
    main()
