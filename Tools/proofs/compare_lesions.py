#!/usr/bin/env python3
"""Compares what Nocturne finds in photos of skin lesions with the training code's preparation and ONNX Runtime.

    Tools/proofs/compare_lesions.py NOCTURNE [--count 100] [--seed 70000] [PHOTO ...]

Draws photos of the seven classes from seeds that the network was not trained on, in sizes from 380 to 1,200 pixels, as JPEG,
PNG, WebP and TIFF, with and without an orientation tag, each with metadata of which one in eight values is missing; further
photos have none. Classifies them with Samples/Models/skin-lesions-demo by NOCTURNE and by Pillow, NumPy and ONNX Runtime (Tools/lib/nocturne_tools/skin/
reference.py), and prints the largest differences. Ends with 1 where a probability differs by more than 2e-6 (result.json has six
decimals), the most probable class differs, or a value of the attention map by more than 1e-4 of its largest one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "lib"))

from nocturne_tools.paths import SAMPLE_MODELS
from nocturne_tools.skin.photographs import CLASSES, Person, person, photograph
from nocturne_tools.skin.reference import LesionReference

MODEL = SAMPLE_MODELS / "skin-lesions-demo"
FORMATS = ("jpg", "png", "webp", "tif")
STORED = {1: None, 3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
LARGEST_PROBABILITY_DIFFERENCE = 2e-6
LARGEST_ATTENTION_DIFFERENCE = 1e-4


def draw(folder: Path, number: int, seed: int) -> tuple[Path, Person]:
    """Writes a photo of a class in turn, and returns whose it is."""
    rng = np.random.default_rng([0x1E5, seed])
    kind, ending = CLASSES[number % len(CLASSES)], FORMATS[number % len(FORMATS)]
    height, width = (int(side) for side in rng.integers(380, 1200, 2))
    picture, exif = Image.fromarray(photograph(kind, seed, height, width)), Image.Exif()
    orientation = int(rng.choice(list(STORED))) if ending == "jpg" else 1
    turn = STORED[orientation]
    if turn is not None:
        picture, exif[0x0112] = picture.transpose(turn), orientation
    path = folder / f"lesion-{number:03}.{ending}"
    picture.save(path, exif=exif, **({"quality": 90} if ending in ("jpg", "webp") else {}))
    return path, person(kind, rng)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("photos", type=Path, nargs="*")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=70_000)
    options = parser.parse_args()
    reference = LesionReference(MODEL)
    with tempfile.TemporaryDirectory(prefix="compare-lesions-") as name:
        folder, out = Path(name) / "photos", Path(name) / "out"
        folder.mkdir()
        photos = [draw(folder, number, options.seed + number) for number in range(options.count)]
        rows = ["image,age_approx,sex,anatom_site_general"]
        for path, one in photos:
            rows.append(",".join([path.name] + ["" if fact is None else str(fact) for fact in (one.age, one.sex, one.site)]))
        table = Path(name) / "metadata.csv"
        table.write_text("\n".join(rows) + "\n")
        photos += [(path, Person(None, None, None)) for path in options.photos]
        command = [options.nocturne, "run", *map(str, [folder, *options.photos]), "--model", str(MODEL)]
        subprocess.run([*command, "--metadata", str(table), "--output", str(out), "--quiet"], check=True)
        scores, maps, classes = 0.0, 0.0, 0
        for path, one in photos:
            expected = reference.classify(path, one)
            result = json.loads((out / path.stem / "result.json").read_text())
            found = np.array([entry["probability"] for entry in result["classes"]])
            attention = np.array(json.loads((out / path.stem / "attention.json").read_text())["rows"])
            scores = max(scores, float(np.abs(found - expected.probabilities).max()))
            classes += int(found.argmax() != expected.probabilities.argmax())
            maps = max(maps, float(np.abs(attention - expected.attention).max() / max(np.abs(expected.attention).max(), 1e-12)))
    print(
        f"{len(photos)} photos: probabilities differ by {scores:.1e} at most, the most probable class in {classes},"
        f" attention maps by {maps:.1e} of their largest value"
    )
    is_equal = scores <= LARGEST_PROBABILITY_DIFFERENCE and classes == 0 and maps <= LARGEST_ATTENTION_DIFFERENCE
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
