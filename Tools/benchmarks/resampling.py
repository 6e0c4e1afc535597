"""Compares Nocturne's resampling with scikit-image and nnU-Net, on the same values, in turns.

    python Tools/benchmarks/resampling.py [--bench PATH] [--rounds 5] [--threads 2] [--save]

1. Cubic: an image of 256³ to 171³, against `skimage.transform.resize` as nnU-Net calls it.
2. Labels: 4 classes of logits from 171³ to 256³ and the arg-max, against `resample_data_or_seg_to_shape` on float16 and
   NumPy's argmax; Nocturne in float32, and rounding to float16 as nnU-Net does.

The peers run in one process, as in their users' programs; reading and writing of files is not counted. Prints medians,
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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from nnunetv2.preprocessing.resampling.default_resampling import resample_data_or_seg_to_shape
from scipy.ndimage import gaussian_filter
from skimage.transform import resize

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results, built
from nocturne_tools.machine import processor

FINE, COARSE = 256, 171
HEAD = ["| | median s | processor s | times as fast | by processor time | other results |", "| --- " * 6 + "|"]


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


@dataclass
class Timings:
    """Seconds of wall and processor time of every round, and the last result."""

    walls: list[float] = field(default_factory=list)
    works: list[float] = field(default_factory=list)
    result: np.ndarray | None = None

    def add(self, wall: float, work: float, result: np.ndarray) -> None:
        self.walls.append(wall)
        self.works.append(work)
        self.result = result

    @property
    def medians(self) -> tuple[float, float]:
        return statistics.median(self.walls), statistics.median(self.works)


@dataclass
class Peer:
    """A function of a library, and what it is given."""

    function: Callable[[np.ndarray], np.ndarray]
    values: np.ndarray
    timings: Timings = field(default_factory=Timings)

    def run(self) -> None:
        start, begin = time.perf_counter(), time.process_time()
        result = self.function(self.values)
        self.timings.add(time.perf_counter() - start, time.process_time() - begin, result)


@dataclass
class Ours:
    """A command of `kernel-bench`, and the peer that it is compared with."""

    peer: Peer
    command: list[str]
    kind: type
    files: tuple[str, str]
    timings: Timings = field(default_factory=Timings)

    def run(self) -> None:
        done = subprocess.run([*self.command, *self.files], check=True, capture_output=True, text=True)
        wall, work, _ = (float(part) for part in done.stdout.split())
        self.timings.add(wall, work, np.fromfile(self.files[1], self.kind))


def row(name: str, runs: Peer | Ours) -> str:
    wall, work = runs.timings.medians
    if isinstance(runs, Peer):
        return f"| {name} | {wall:.3f} | {work:.3f} | | | |"
    peer = runs.peer.timings
    by_wall, by_work = peer.medians[0] / wall, peer.medians[1] / work
    different = int((runs.timings.result != peer.result.ravel()).sum())
    return f"| {name} | {wall:.3f} | {work:.3f} | {by_wall:.1f} | {by_work:.1f} | {different} of {peer.result.size} |"


def programs(options: argparse.Namespace, folder: Path) -> dict[str, Peer | Ours]:
    """Peers first, then Nocturne, by name; writes Nocturne's inputs."""
    random = np.random.default_rng(0)
    image = smooth(random, FINE, 1.2, 300, 20)
    logits = np.stack([smooth(random, COARSE, 3, 4, 0) for _ in range(4)]).astype(np.float16)
    cubic_peer, label_peer = Peer(cubic, image), Peer(labels, logits)
    program = options.bench or built("kernel-bench")
    fine, coarse, threads = [str(FINE)] * 3, [str(COARSE)] * 3, str(options.threads)

    def ours(name: str, peer: Peer, arguments: list[str], kind: type) -> Ours:
        files = (str(folder / f"{name}.in"), str(folder / f"{name}.out"))
        peer.values.astype(np.float32).tofile(files[0])
        return Ours(peer, [program, *arguments], kind, files)

    return {
        "scikit-image": cubic_peer,
        "nnU-Net": label_peer,
        "Nocturne": ours("cubic", cubic_peer, ["resample", "3", *fine, *coarse, threads], np.float32),
        "Nocturne, float32": ours(
            "single", label_peer, ["label", "single", "4", *coarse, *fine, threads], np.uint16
        ),
        "Nocturne, float16 at the end": ours(
            "half", label_peer, ["label", "half", "4", *coarse, *fine, threads], np.uint16
        ),
    }


def report(options: argparse.Namespace, load: float, found: dict[str, Peer | Ours]) -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("scikit-image", "scipy", "nnunetv2"))
    lines = [
        f"## {datetime.date.today()}: resampling, {options.threads} threads",
        "",
        f"{processor()}, {platform.system()}; {versions}; numpy {np.__version__}.",
        f"{options.rounds} rounds, in turns. Load average {load:.1f} before and {os.getloadavg()[0]:.1f} after, on"
        f" {os.cpu_count()} cores.",
        "",
        f"Cubic, {FINE}³ to {COARSE}³:",
        "",
        *HEAD,
        *(row(name, found[name]) for name in ("scikit-image", "Nocturne")),
        "",
        f"Logits of 4 classes, {COARSE}³ to {FINE}³, and their labels:",
        "",
        *HEAD,
        *(row(name, found[name]) for name in ("nnU-Net", "Nocturne, float32", "Nocturne, float16 at the end")),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="the built program; built when not given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        found = programs(options, Path(folder))
        for number in range(options.rounds):
            for runs in found.values():
                runs.run()
            last = [f"{name} {runs.timings.walls[-1]:.3f}" for name, runs in found.items()]
            print(f"round {number + 1}: {last}", file=sys.stderr)
    text = report(options, load, found)
    print(text)
    if options.save:
        append_results(text)


if __name__ == "__main__":
    main()
