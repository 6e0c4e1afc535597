"""A volume of 512 x 512 x 800 voxels with a model of 118 classes, under a limit that kills what goes beyond it.

    python Tools/Proofs/many_classes.py NOCTURNE WORK [--memory 4G] [--patch 96] [--classes 118] [--shape 512 512 800]

Makes the volume (0.8 x 0.8 x 1.0 mm) and a package for 1.5 mm whose network is small and has random weights: the
memory of a night does not depend on what the classes mean. Runs it inside a memory cgroup with that limit and no swap
where one can be made, else under a limit of the address space, and prints the plan, the time and the peaks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from model_package import recipe, spline, write_package
from phantoms.anatomy import draw
from phantoms.phantom import render, save_nifti

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
    """Two convolutions, a step down and up again, and one output a class."""
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
    example = torch.zeros(1, 1, patch, patch, patch)
    torch.onnx.export(network, (example,), folder / "network.onnx", dynamo=False, opset_version=17)
    onnx.checker.check_model(str(folder / "network.onnx"))
    entry = recipe("stored", [1.5, 1.5, 1.5], [patch] * 3)
    entry["resampling"] = {"image": spline(3, 0, "auto"), "logits": spline(1, 0, "auto")}
    manifest = {
        "id": "many-classes",
        "name": "Many classes",
        "description": "Random weights: for a proof of memory.",
        "version": "1",
        "modalities": [],
        "channels": [
            {
                "name": "CT",
                "normalization": {
                    "scheme": "ct",
                    "lowerBound": -1000,
                    "upperBound": 1000,
                    "mean": 0,
                    "standardDeviation": 200,
                },
            }
        ],
        "labels": [
            {"value": value, "name": f"class_{value}", "color": f"#{value * 69069 % 0xFFFFFF:06x}"}
            for value in range(1, classes)
        ],
        "volumeSegmentation": entry,
    }
    write_package(folder, manifest, ["network.onnx"])


def own_cgroup() -> Path | None:
    """The folder of this process's memory cgroup, if it can hold another one."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory" + path)
        if controllers == "" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return Path("/sys/fs/cgroup" + path)
    return None


def limited_group(limit: int) -> Path | None:
    """A new group with the limit and without swap; None where none can be made."""
    parent = own_cgroup()
    if parent is None:
        return None
    group = parent / f"nocturne-proof-{os.getpid()}"
    try:
        group.mkdir()
        old = group / "memory.limit_in_bytes"
        if old.exists():
            old.write_text(str(limit))
        else:
            (group / "memory.max").write_text(str(limit))
            (group / "memory.swap.max").write_text("0")
    except OSError as error:
        print(f"no memory cgroup can be made here ({error}); limiting the address space instead")
        if group.exists():
            group.rmdir()
        return None
    return group


def resident(group: set[int]) -> int:
    """Bytes of proportional memory of the processes: shared pages are counted once."""
    total = 0
    for pid in group:
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


def tree(root: int) -> set[int]:
    """A process and its descendants."""
    members = {root}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent in members:
                members.add(int(entry.name))
    return members


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--patch", type=int, default=96)
    parser.add_argument("--classes", type=int, default=118)
    parser.add_argument("--shape", type=int, nargs=3, default=(512, 512, 800))
    arguments = parser.parse_args()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    limit = int(float(arguments.memory[:-1]) * units[arguments.memory[-1]])

    arguments.work.mkdir(parents=True, exist_ok=True)
    volume = arguments.work / ("volume-" + "x".join(map(str, arguments.shape)) + ".nii.gz")
    if not volume.exists():
        make_volume(volume, tuple(arguments.shape))
    package = arguments.work / f"package-{arguments.classes}-{arguments.patch}"
    if not (package / "model.json").exists():
        make_package(package, arguments.classes, arguments.patch)
    command = [str(arguments.nocturne.resolve())]
    inputs = [str(volume), "--model", str(package), "--memory", arguments.memory]
    subprocess.run([*command, "plan", *inputs], check=True)

    output = arguments.work / f"out-{time.strftime('%H%M%S')}"
    group = limited_group(limit)

    def enter() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        else:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    start = time.monotonic()
    process = subprocess.Popen([*command, "run", *inputs, "--output", str(output)], preexec_fn=enter)
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.1):
            peak = max(peak, resident(tree(process.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    print(f"exit {code}, {time.monotonic() - start:.0f} s, limit {limit / 2**30:.2f} GiB ", end="")
    print("in a memory cgroup" if group else "of address space")
    print(f"peak of the process tree (proportional set, every 0.1 s): {peak / 2**30:.2f} GiB")
    if group is not None:
        for name in ("memory.max_usage_in_bytes", "memory.failcnt", "memory.peak", "memory.events"):
            if (group / name).exists():
                print(f"  {name}: {(group / name).read_text().strip()}  (with the page cache)")
        group.rmdir()
    run = json.loads(next(output.glob("*/run.json")).read_text()) if code == 0 else {}
    for key in ("predictedPeakBytes", "peakResidentBytes"):
        if key in run:
            print(f"  {key}: {run[key] / 2**30:.2f} GiB")
    sys.exit(0 if code == 0 and peak <= limit else 1)


if __name__ == "__main__":
    main()
