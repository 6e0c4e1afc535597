"""Nocturne's resampling against scikit-image and nnU-Net, on the same values, in turns.

    swift build -c release --package-path Tools/Benchmarks/Kernels
    python resampling.py [--kernels Kernels/.build/release/KernelBenchmarks] [--rounds 5] [--threads 2] [--save]

1. Cubic: an image of 256³ to 171³, against `skimage.transform.resize` as nnU-Net calls it.
2. Labels: 4 classes of logits from 171³ to 256³ and the arg-max, against `resample_data_or_seg_to_shape` on float16 and
   NumPy's argmax; Nocturne in float32, and rounding to float16 as nnU-Net does.

The peers run in one process, as their users have them; reading and writing of files is not counted. Prints medians,
ratios and how many results differ; --save appends them to RESULTS.md beside this file.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from nnunetv2.preprocessing.resampling.default_resampling import resample_data_or_seg_to_shape
from scipy.ndimage import gaussian_filter
from skimage.transform import resize

HERE = Path(__file__).resolve().parent
FINE, COARSE = 256, 171


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def smooth(random: np.random.Generator, edge: int, sigma: float, scale: float, noise: float) -> np.ndarray:
    values = gaussian_filter(random.standard_normal((edge,) * 3, dtype=np.float32), sigma)
    values *= scale / values.std()
    return values + noise * random.standard_normal(values.shape, dtype=np.float32)


def cubic(image: np.ndarray) -> np.ndarray:
    shape = (COARSE,) * 3
    return resize(image.astype(float), shape, 3, mode="edge", clip=True, anti_aliasing=False).astype(np.float32)


def labels(logits: np.ndarray) -> np.ndarray:
    fine = resample_data_or_seg_to_shape(
        logits, (FINE,) * 3, [1.5] * 3, [1.0] * 3, is_seg=False, order=1, order_z=0, force_separate_z=None
    )
    return fine.argmax(0).astype(np.uint16)


def timed(function: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> tuple[np.ndarray, float, float]:
    start, begin = time.perf_counter(), time.process_time()
    result = function(values)
    return result, time.perf_counter() - start, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, default=HERE / "Kernels/.build/release/KernelBenchmarks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    load = os.getloadavg()
    random = np.random.default_rng(0)
    image = smooth(random, FINE, 1.2, 300, 20)
    logits = np.stack([smooth(random, COARSE, 3, 4, 0) for _ in range(4)]).astype(np.float16)
    fine, coarse = [str(FINE)] * 3, [str(COARSE)] * 3
    threads = str(options.threads)
    peers = {"scikit-image": (cubic, image), "nnU-Net": (labels, logits)}
    ours = {
        "Nocturne": ("scikit-image", ["resample", "3", *fine, *coarse, threads], image, np.float32),
        "Nocturne, float32": ("nnU-Net", ["label", "single", "4", *coarse, *fine, threads], logits, np.uint16),
        "Nocturne, float16 at the end": ("nnU-Net", ["label", "half", "4", *coarse, *fine, threads], logits, np.uint16),
    }
    walls: dict[str, list[float]] = {name: [] for name in [*peers, *ours]}
    works: dict[str, list[float]] = {name: [] for name in walls}
    results: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, _, values, _) in ours.items():
            values.astype(np.float32).tofile(Path(folder) / f"{name}.in")
        for number in range(options.rounds):
            for name, (function, values) in peers.items():
                results[name], wall, work = timed(function, values)
                walls[name].append(wall)
                works[name].append(work)
            for name, (_, words, _, kind) in ours.items():
                files = [str(Path(folder) / f"{name}.{end}") for end in ("in", "out")]
                run = subprocess.run([options.kernels, *words, *files], check=True, capture_output=True, text=True)
                wall, work, _ = (float(word) for word in run.stdout.split())
                walls[name].append(wall)
                works[name].append(work)
                results[name] = np.fromfile(files[1], kind)
            print(f"round {number + 1}: {[f'{name} {wall[-1]:.3f}' for name, wall in walls.items()]}", file=sys.stderr)

    def row(name: str) -> str:
        wall, work = statistics.median(walls[name]), statistics.median(works[name])
        if name in peers:
            return f"| {name} | {wall:.3f} | {work:.3f} | | | |"
        peer = ours[name][0]
        by_wall, by_work = (statistics.median(times[peer]) / own for times, own in ((walls, wall), (works, work)))
        different = int((results[name] != results[peer].ravel()).sum())
        size = results[peer].size
        return f"| {name} | {wall:.3f} | {work:.3f} | {by_wall:.1f} | {by_work:.1f} | {different} of {size} |"

    head = ["| | median s | processor s | times as fast | by processor time | other results |", "| --- " * 6 + "|"]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("scikit-image", "scipy", "nnunetv2"))
    text = "\n".join(
        [
            f"## {datetime.date.today()}: resampling, {options.threads} threads",
            "",
            f"{processor()}, {platform.system()}; {versions}; numpy {np.__version__}.",
            f"{options.rounds} rounds, in turns. Load average {load[0]:.1f} before and"
            f" {os.getloadavg()[0]:.1f} after, on {os.cpu_count()} cores.",
            "",
            f"Cubic, {FINE}³ to {COARSE}³:",
            "",
            *head,
            row("scikit-image"),
            row("Nocturne"),
            "",
            f"Logits of 4 classes, {COARSE}³ to {FINE}³, and their labels:",
            "",
            *head,
            row("nnU-Net"),
            row("Nocturne, float32"),
            row("Nocturne, float16 at the end"),
            "",
        ]
    )
    print(text)
    if options.save:
        with open(HERE / "RESULTS.md", "a") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
