"""Times a program of five networks of TotalSegmentator's size over one volume of 410 x 410 x 600 mm.

    python Tools/benchmarks/five_networks.py NOCTURNE [--networks 5] [--threads 2] [--save]

Makes nnU-Net's plain U-Net with six stages from 32 features and 25 classes (random weights, patch 128x128x128), packs five of
them as a program with a grid of 1.5 mm and a tile step of 0.8, as for the task `total`, and runs it over a made CT of a body
in air. Prints seconds, tiles and peak memory. PyTorch's time for one tile is measured in the same run and multiplied by the
number of tiles: what the networks alone would take there. against_totalsegmentator.py runs TotalSegmentator itself.
Needs torch, onnx and nibabel.
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

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results
from nocturne_tools.benchmark_programs import body, facts, grid, package, run_command, stages, tiled
from nocturne_tools.machine import processor
from nocturne_tools.model_package import write_program
from nocturne_tools.onnx_fixtures.networks import PlainUNet

CLASSES, PATCH = 25, 128


def program(folder: Path, networks: int) -> torch.nn.Module:
    """Writes the program; returns the last network."""
    parts, labels = [], []
    for number in range(networks):
        torch.manual_seed(number)
        network = PlainUNet(3, 1, CLASSES, stages(32)).eval()
        own = [f"label_{number}_{value}" for value in range(1, CLASSES)]
        package(folder / "parts" / f"part{number}", f"Part {number}", network, own, tiled(1.5, PATCH, 0.8))
        values = {str(value): len(labels) + value for value in range(1, CLASSES)}
        parts.append({"packages": [f"parts/part{number}"], "labels": values})
        labels += own
    content = {"grid": grid(1.5), "parts": parts}
    manifest = {**facts("Five networks", labels, {"scheme": "none"}), "volumeProgram": content}
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
        command = run_command(options.nocturne, work / "body.nii.gz", work / "program", work / "out", options.threads)
        before = os.getloadavg()[0]
        subprocess.run(command, check=True)
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
