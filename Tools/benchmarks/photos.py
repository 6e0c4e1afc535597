"""Compares the preparation of photos by Nocturne with Pillow and NumPy, taking turns on the same pictures.

    python Tools/benchmarks/photos.py [--rounds 7] [--bench PATH] [PICTURE ...]

From a JPEG to a classifier's input. Builds `photos-bench` unless --bench names the built program, and draws
pictures of four sizes from a fixed seed unless some are given. The peers are `nocturne_tools/photo_reference.py`, which
does what training code does, and the same arithmetic written for speed (no conversion of RGB pictures, sixth powers of 256
levels instead of every pixel, one table for the rest). All are run on one thread and on two at once (Pillow releases the
interpreter's lock while it decodes and resizes). Prints a Markdown table of medians: milliseconds per picture, and ratios.
Needs Pillow and NumPy.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, features
from PIL import __version__ as pillow_version

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import photo_reference as reference
from nocturne_tools.benchmark import LineProgram, built, machine_line, timed

SIZES = [(600, 450), (1024, 768), (2048, 1536), (4032, 3024)]
SIDE = 380
LEVELS = np.arange(256, dtype=np.float64)


def direct(path: Path) -> np.ndarray:
    """The reference's values for an upright RGB photo, computed by the shortest way."""
    image = Image.open(path)
    side = min(image.size)
    left, top = (int(round((length - side) / 2)) for length in image.size)
    box = (left, top, left + side, top + side)
    # Resizing with a box would include pixels outside it, so the crop is needed.
    picture = np.asarray(image.crop(box).resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    counts = [np.bincount(picture[..., channel].ravel(), minlength=256) for channel in range(3)]
    sixth = LEVELS**reference.POWER
    norms = np.array([(count @ sixth / SIDE**2) ** (1 / reference.POWER) for count in counts])
    widest = max(np.ptp(np.nonzero(count)[0]) for count in counts)
    gains = np.ones(3) if widest <= 2 or norms.max() < 8 else norms.mean() / np.maximum(norms, 1)
    values = np.empty((3, SIDE, SIDE), np.float32)
    for channel in range(3):
        levels = np.clip(LEVELS * gains[channel], 0, 255) / 255
        table = ((levels - reference.MEAN[channel]) / reference.DEVIATION[channel]).astype(np.float32)
        np.take(table, picture[..., channel], out=values[channel])
    return values


def as_trained(path: Path) -> np.ndarray:
    return reference.prepare(reference.load(path), SIDE).values


def prepared_by(ours: LineProgram, path: Path) -> np.ndarray:
    """The values that Nocturne's program writes beside the picture."""
    ours.ask(f"0 1 {path}")
    return np.fromfile(f"{path}.values", np.float32).reshape(3, SIDE, SIDE)


def on_threads(work: Callable[[Path], np.ndarray], threads: int, repeats: int, path: Path) -> None:
    """As many pictures on each thread, all at once."""

    def loop() -> None:
        for _ in range(repeats):
            work(path)

    workers = [threading.Thread(target=loop) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def draw(path: Path, width: int, height: int) -> None:
    """A lesion-like blob on skin-like noise, with the detail of a photo that has been sharpened in a camera."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[0:height, 0:width]
    distance = np.hypot((x - width / 2) / height, (y - height / 2) / height)
    skin = np.stack([205 - 30 * distance, 160 - 20 * distance, 140 - 10 * distance], axis=-1)
    skin[distance < 0.25] -= [70, 80, 70]
    coarse = Image.fromarray(rng.integers(0, 255, (height // 8, width // 8), dtype=np.uint8))
    texture = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), np.float64)[..., None]
    picture = skin + (texture - 127) * 0.12 + rng.normal(0, 3, (height, width, 1))
    Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(path, quality=88)


def row(ours: LineProgram, path: Path, threads: int, rounds: int) -> str:
    """One line of the table; ends the program where the values are not the reference's."""
    expected = as_trained(path)
    for name, found in (("ours", prepared_by(ours, path)), ("the direct peer's", direct(path))):
        worst = float(np.abs((found - expected) * reference.DEVIATION[:, None, None]).max() * 255)
        if worst > 2:
            sys.exit(f"{path.name}: {name} values differ by {worst:.2f} levels")
    with Image.open(path) as image:
        width, height = image.size
    repeats = max(2, 12_000_000 // (width * height))
    sides: list[Callable[[], dict[str, float]]] = [
        lambda: ours.ask(f"{threads} {repeats} {path}"),
        lambda: timed(lambda: on_threads(as_trained, threads, repeats, path)),
        lambda: timed(lambda: on_threads(direct, threads, repeats, path)),
    ]
    found = [[side() for side in sides] for _ in range(rounds + 1)][1:]
    count = threads * repeats
    mine, trained, short = (statistics.median(turn[k]["seconds"] for turn in found) / count * 1000 for k in range(3))
    ratios = [statistics.median(turn[k]["seconds"] / turn[0]["seconds"] for turn in found) for k in (1, 2)]
    work = [
        statistics.median(turn[k]["processorSeconds"] / turn[0]["processorSeconds"] for turn in found) for k in (1, 2)
    ]
    return (
        f"| {width}×{height}, {path.stat().st_size / 1e6:.2f} MB | {threads} | {mine:.2f} | {trained:.2f} | {short:.2f} "
        f"| {ratios[0]:.1f} | {ratios[1]:.1f} | {work[0]:.1f} | {work[1]:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="*", type=Path, help="upright JPEGs in RGB")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--bench", help="the built program; built when not given")
    options = parser.parse_args()
    program = options.bench or built("photos-bench")
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for path in options.pictures:
            paths.append(Path(folder) / path.name)
            paths[-1].write_bytes(path.read_bytes())
        for width, height in [] if options.pictures else SIZES:
            paths.append(Path(folder) / f"{width}.jpg")
            draw(paths[-1], width, height)
        ours = LineProgram([program])
        rows = [row(ours, path, threads, options.rounds) for path in paths for threads in (1, 2)]
    print(f"## {datetime.date.today()}: from a JPEG to a classifier's input of {SIDE}×{SIDE}\n")
    print(f"{machine_line()}; Pillow {pillow_version} with libjpeg-turbo")
    print(f"{features.version('libjpeg_turbo')}, NumPy {np.__version__}, Python {platform.python_version()}.")
    print(f"Medians of {options.rounds}, taking turns. Load {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after.\n")
    columns = [
        "picture", "threads", "Nocturne ms", "as trained ms", "direct ms", "times as fast as trained", "as direct",
        "less work than trained", "than direct",
    ]
    print(f"| {' | '.join(columns)} |")
    print("|" + " --- |" * len(columns))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
