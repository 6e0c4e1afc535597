"""From a JPEG to a classifier's input: Nocturne against Pillow and NumPy, taking turns on the same pictures.

    python photos.py [--rounds 7] [--bench PATH] [PICTURE ...]

Builds `Photos/` beside this file unless --bench names the built program, and draws pictures of three sizes from a fixed
seed unless some are given. The peer is `Tools/photo_reference.py`, which is what training code does, and the same
arithmetic without its detours (no conversion of what is RGB, sixth powers of 256 levels instead of every pixel, one table
look-up for the rest). Both sides are run on one thread and on two at once (Pillow gives up the interpreter's lock while it
decodes and resizes). Prints a Markdown table of medians: milliseconds a picture by the clock, and ratios. Needs Pillow and
NumPy.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, features
from PIL import __version__ as pillow_version

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import photo_reference as reference  # noqa: E402

SIZES = [(600, 450), (1024, 768), (2048, 1536), (4032, 3024)]
SIDE = 380
LEVELS = np.arange(256, dtype=np.float64)


def direct(path: Path) -> np.ndarray:
    """The reference's values for an upright RGB photo, without its detours."""
    image = Image.open(path)
    side = min(image.size)
    left, top = (int(round((length - side) / 2)) for length in image.size)
    box = (left, top, left + side, top + side)
    # Resizing with a box would take in pixels beside it, so the crop cannot be spared.
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


class Ours:
    """The built program, waiting for lines."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, threads: int, repeats: int, path: Path) -> dict[str, float]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{threads} {repeats} {path}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def values(self, path: Path) -> np.ndarray:
        self.ask(0, 1, path)
        return np.fromfile(f"{path}.values", np.float32).reshape(3, SIDE, SIDE)


def timed(work: Callable[[Path], np.ndarray], threads: int, repeats: int, path: Path) -> dict[str, float]:
    """As many pictures on each thread, all at once."""

    def loop() -> None:
        for _ in range(repeats):
            work(path)

    workers = [threading.Thread(target=loop) for _ in range(threads)]
    start, begin = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"seconds": time.perf_counter() - start, "processorSeconds": time.process_time() - begin}


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


def processor() -> str:
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.processor()


def row(ours: Ours, path: Path, threads: int, rounds: int) -> str:
    """One line of the table; ends the program where the values are not the reference's."""
    expected = as_trained(path)
    for name, found in (("ours", ours.values(path)), ("the direct peer's", direct(path))):
        worst = float(np.abs((found - expected) * reference.DEVIATION[:, None, None]).max() * 255)
        if worst > 2:
            sys.exit(f"{path.name}: {name} values differ by {worst:.2f} levels")
    with Image.open(path) as image:
        width, height = image.size
    repeats = max(2, 12_000_000 // (width * height))
    sides: list[Callable[[], dict[str, float]]] = [
        lambda: ours.ask(threads, repeats, path),
        lambda: timed(as_trained, threads, repeats, path),
        lambda: timed(direct, threads, repeats, path),
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
    if not options.bench:
        build = ["swift", "build", "-c", "release", "--package-path", str(HERE / "Photos")]
        subprocess.run(build, check=True, stdout=sys.stderr)
        shown = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True)
        options.bench = str(Path(shown.stdout.strip()) / "photos-bench")
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for path in options.pictures:
            paths.append(Path(folder) / path.name)
            paths[-1].write_bytes(path.read_bytes())
        for width, height in [] if options.pictures else SIZES:
            paths.append(Path(folder) / f"{width}.jpg")
            draw(paths[-1], width, height)
        ours = Ours(options.bench)
        rows = [row(ours, path, threads, options.rounds) for path in paths for threads in (1, 2)]
    print(f"## {datetime.date.today()}: from a JPEG to a classifier's input of {SIDE}×{SIDE}\n")
    print(f"{processor()}, {os.cpu_count()} cores, {platform.system()}; Pillow {pillow_version} with libjpeg-turbo")
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
