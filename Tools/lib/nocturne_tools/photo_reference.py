"""The preparation of a photo for a classifier as training code does it, in Pillow and NumPy.

    python Tools/lib/nocturne_tools/photo_reference.py PICTURE... [--size 380] [--no-constancy] [--time 10]

Nocturne's PhotoReader, PillowResize, ShadesOfGray and NetworkColors must give the same values;
Tools/fixtures/make_photo_fixtures.py writes the cases that check it. Run by itself it prints the mean of each channel, or with --time the median milliseconds of processor time that
one picture takes from the file to the classifier's input.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile

MEAN = np.array([0.485, 0.456, 0.406])
DEVIATION = np.array([0.229, 0.224, 0.225])
POWER = 6

TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class Prepared:
    """The model's input and how it was computed; `picture` is [size, size, 3] of uint8 before colours were changed."""

    values: np.ndarray
    picture: np.ndarray
    gains: np.ndarray
    exemption: str | None


def load(path: Path) -> Image.Image:
    """The picture upright, in RGB, on white."""
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    image = Image.open(path)
    image.load()
    turn = TURNS.get(image.getexif().get(274, 1))
    if image.mode.startswith("I;16"):
        # Pillow would clip at 255; of 16-bit colours it keeps the high byte, as done here.
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.has_transparency_data:
        above = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", above.size, (255, 255, 255, 255)), above)
    image = image.convert("RGB")
    return image.transpose(turn) if turn is not None else image


def centre_square(image: Image.Image) -> Image.Image:
    """As torchvision's CenterCrop of the shorter side."""
    side = min(image.size)
    left, top = (int(round((length - side) / 2)) for length in image.size)
    return image.crop((left, top, left + side, top + side))


def shades_of_gray(picture: np.ndarray) -> tuple[np.ndarray, str | None]:
    """The factors for red, green and blue, or the reason why they stay 1."""
    values = picture.reshape(-1, 3).astype(np.float64)
    if np.ptp(values, axis=0).max() <= 2:
        return np.ones(3), "flat"
    norms = np.mean(values**POWER, axis=0) ** (1 / POWER)
    if norms.max() < 8:
        return np.ones(3), "nearBlack"
    return norms.mean() / np.maximum(norms, 1), None


def prepare(image: Image.Image, size: int = 380, constancy: bool = True) -> Prepared:
    """[3, size, size] of float32 from an upright RGB picture."""
    resized = centre_square(image).resize((size, size), Image.Resampling.BILINEAR)
    picture = np.asarray(resized)
    gains, exemption = shades_of_gray(picture) if constancy else (np.ones(3), None)
    balanced = np.clip(picture * gains, 0, 255)
    values = ((balanced / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)
    return Prepared(np.ascontiguousarray(values, dtype=np.float32), picture, gains, exemption)


def milliseconds(path: Path, size: int, constancy: bool, repeats: int) -> float:
    """Median processor time of one thread from file to input."""
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        prepare(load(path), size, constancy)
        times.append((time.thread_time() - begin) * 1000)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="+", type=Path)
    parser.add_argument("--size", type=int, default=380)
    parser.add_argument("--no-constancy", action="store_true")
    parser.add_argument("--time", type=int, default=0, metavar="REPEATS")
    arguments = parser.parse_args()
    for path in arguments.pictures:
        if arguments.time > 0:
            print(milliseconds(path, arguments.size, not arguments.no_constancy, arguments.time))
            continue
        prepared = prepare(load(path), arguments.size, not arguments.no_constancy)
        print(path, *(f"{mean:.6f}" for mean in prepared.values.mean(axis=(1, 2))), prepared.exemption or "")


if __name__ == "__main__":
    main()
