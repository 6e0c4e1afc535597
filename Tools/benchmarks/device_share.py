#!/usr/bin/env python3
"""How large a share of the time a device works, on a stand-in for an NVIDIA GPU, with one program or with two in turns.

    Tools/benchmarks/device_share.py NOCTURNE [OTHER] [--milliseconds 5 20] [--model classes-16] [--edge 128] [--volumes 4]

The stand-in (Tools/proofs/stand_in_gpu.c) takes a fixed time for each tile and none for Nocturne's kernels, and computes nothing
after its first tiles; copies are done by the processor. So the figure has what the program adds between the runs of a network:
tiles and blending where they are the processor's, labels, preparation and writing. The share is the sum of the runs' times over the time from
the beginning of the 51st to the end of the last one. Needs numpy, nibabel, onnxruntime and cc.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "proofs"))

from device_faults import build
from nocturne_tools.machine import processor
from nocturne_tools.paths import ROOT


FIRST = 50


def make_inputs(folder: Path, volumes: int, edge: int) -> None:
    random = np.random.default_rng(1)
    folder.mkdir()
    for number in range(volumes):
        values = random.integers(0, 100, (edge, edge, edge)).astype(np.int16)
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), folder / f"v{number}.nii.gz")


def share(nocturne: str, work: Path, name: str, model: Path, milliseconds: int, variables: dict[str, str]) -> str:
    times, output = work / f"times-{name}", work / f"out-{name}"
    command = [nocturne, "run", str(work / "in"), "--model", str(model), "--output", str(output), "--meshes", "none"]
    command += ["--engine", "onnxruntime", "--device", "cuda:0", "--recheck", "0", "--preview", "none"]
    # The first run reads the shapes of the outputs and the second one is the tile that is compared; sessions on the device bind
    # their own memory once more.
    injected = {"STAND_IN_FAULT": "wait", "STAND_IN_FROM": "5", "STAND_IN_MILLISECONDS": str(milliseconds)}
    environment = {**os.environ, **variables, **injected, "STAND_IN_TIMES": str(times)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{nocturne} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    # During the first ones the stand-in still computes.
    rows = np.loadtxt(times)[FIRST:]
    busy, whole = float((rows[:, 1] - rows[:, 0]).sum()), float(rows[:, 1].max() - rows[:, 0].min())
    return f"{len(rows)} runs, {whole:.2f} s, the device worked {100 * busy / whole:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", nargs="+")
    parser.add_argument("--milliseconds", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--model", default="classes-16", help="a package among the fixtures")
    parser.add_argument("--edge", type=int, default=128)
    parser.add_argument("--volumes", type=int, default=4)
    options = parser.parse_args()
    print(processor())
    with tempfile.TemporaryDirectory(prefix="nocturne-share-") as folder:
        work = Path(folder)
        make_inputs(work / "in", options.volumes, options.edge)
        variables = build(work / "stand-in")
        for milliseconds in options.milliseconds:
            for place, nocturne in enumerate(options.nocturne):
                model = ROOT / "Tests/Fixtures/Models" / options.model
                name = f"{milliseconds}-{place}"
                found = share(str(Path(nocturne).resolve()), work, name, model, milliseconds, variables)
                print(f"{milliseconds} ms a tile, {nocturne}: {found}", flush=True)


if __name__ == "__main__":
    main()
