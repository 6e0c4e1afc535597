"""Times a program of five networks of TotalSegmentator's size over one volume of 410 x 410 x 600 mm.

    python Tools/benchmarks/five_networks.py NOCTURNE [--networks 5] [--threads 2] [--save]

Makes nnU-Net's plain U-Net with six stages from 32 features and 25 classes (random weights, patch 128x128x128), packs five of
them as a program with a grid of 1.5 mm and a tile step of 0.8, as for the task `total`, and runs it over a made CT of a body
in air. Prints seconds, tiles and peak memory. PyTorch's time for one tile is measured in the same run and multiplied by the
number of tiles: what the networks alone would take there. Needs torch, onnx and nibabel.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel as nib
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results
from nocturne_tools.machine import processor
from nocturne_tools.model_package import label, recipe, write_package, write_program
from nocturne_tools.onnx_fixtures.networks import PlainUNet

CLASSES, PATCH = 25, 128
CT = {"scheme": "ct", "lowerBound": -1000, "upperBound": 1000, "mean": 0, "standardDeviation": 300}


def body(path: Path) -> None:
    """An ellipse of tissue with noise in air: 512 x 512 x 400 voxels of 0.8 x 0.8 x 1.5 mm."""
    rng = np.random.default_rng(5)
    x, y = np.meshgrid(np.linspace(-1, 1, 512), np.linspace(-1, 1, 512), indexing="ij")
    inside = (x / 0.85) ** 2 + (y / 0.6) ** 2 < 1
    volume = np.full((512, 512, 400), -1000, dtype=np.int16)
    for k in range(400):
        volume[..., k][inside] = 40 + 30 * rng.standard_normal(int(inside.sum()))
    nib.save(nib.Nifti1Image(volume, np.diag([0.8, 0.8, 1.5, 1])), path)


def package(folder: Path, number: int) -> torch.nn.Module:
    torch.manual_seed(number)
    network = PlainUNet(3, 1, CLASSES, [32, 64, 128, 256, 320, 320]).eval()
    folder.mkdir(parents=True)
    x = torch.zeros(1, 1, PATCH, PATCH, PATCH)
    names = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(network, (x,), str(folder / "network.onnx"), **names, opset_version=17, dynamo=False)
    labels = [label(value, f"label_{number}_{value}", "#D55E00") for value in range(1, CLASSES)]
    manifest = {
        "id": f"part-{number}",
        "name": f"Part {number}",
        "description": "Random weights, for benchmarks.",
        "version": "1",
        "modalities": ["CT"],
        "channels": [{"name": "CT", "normalization": CT}],
        "labels": labels,
        "volumeSegmentation": {
            **recipe("RAS", [1.5] * 3, [PATCH] * 3),
            "tileStep": 0.8,
        },
    }
    write_package(folder, manifest, ["network.onnx"])
    return network


def program(folder: Path, networks: int) -> torch.nn.Module:
    """Writes the program; returns the last network."""
    parts, labels = [], []
    for number in range(networks):
        network = package(folder / "parts" / f"part{number}", number)
        values = {str(value): number * (CLASSES - 1) + value for value in range(1, CLASSES)}
        parts.append({"packages": [f"parts/part{number}"], "labels": values})
        labels += [label(own, f"label_{number}_{value}", "#D55E00") for value, own in values.items()]
    grid = {"spacing": [1.5] * 3, "resampling": {"method": "zoom", "order": 1, "truncates": True}}
    manifest = {
        "id": "five-networks",
        "name": "Five networks",
        "description": "Random weights, for benchmarks.",
        "version": "1",
        "modalities": ["CT"],
        "channels": [{"name": "CT", "normalization": {"scheme": "none"}}],
        "labels": labels,
        "volumeProgram": {"grid": grid, "parts": parts},
    }
    write_program(folder, manifest)
    return network


def seconds_of_tile(network: torch.nn.Module) -> float:
    """PyTorch's best time for one patch."""
    x, times = torch.randn(1, 1, PATCH, PATCH, PATCH), []
    with torch.inference_mode():
        for _ in range(3):
            start = time.perf_counter()
            network(x)
            times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--networks", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as temporary, torch.inference_mode():
        work = Path(temporary)
        network = program(work / "program", options.networks)
        body(work / "body.nii.gz")
        command = [options.nocturne, "run", str(work / "body.nii.gz"), "--model", str(work / "program")]
        command += ["--output", str(work / "out"), "--meshes", "none", "--preview", "none", "--quiet"]
        before = os.getloadavg()[0]
        subprocess.run([*command, "--threads", str(options.threads)], check=True)
        run = json.loads(next((work / "out").glob("*/run.json")).read_text())
        plan = subprocess.run(
            [options.nocturne, "plan", str(work / "body.nii.gz"), "--model", str(work / "program"), "--json"],
            check=True,
            capture_output=True,
            text=True,
        )
        tiles = json.loads(plan.stdout)["items"][0]["tiles"]
        tile = seconds_of_tile(network)
    seconds = run["seconds"]
    text = (
        f"## {datetime.date.today()}: {options.networks} networks of 128³ over 410 x 410 x 600 mm, {options.threads} threads\n\n"
        f"{processor()}; PyTorch {torch.__version__}; load average {before:.1f} before.\n\n"
        f"Nocturne, float32: {sum(seconds.values()):.0f} s in all, of which inference {seconds['infer']:.0f} s for "
        f"{tiles} tiles; peak memory {run['peakResidentBytes'] / 2**20:.0f} MiB, predicted "
        f"{run['predictedPeakBytes'] / 2**20:.0f} MiB. One tile takes PyTorch {tile:.1f} s, so that the networks alone would take "
        f"{tile * tiles:.0f} s.\n"
    )
    print(text)
    if options.save:
        append_results(text)


if __name__ == "__main__":
    main()
