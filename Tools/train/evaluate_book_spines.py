"""Evaluates counts and masks of `book-spines` on unseen synthetic shelves, by ONNX Runtime and the reference splitting.

    python Tools/train/evaluate_book_spines.py
    python Tools/train/evaluate_book_spines.py --shelves 100 --first-seed 70000 --scale 2

    python Tools/train/evaluate_book_spines.py --others 100 --photos FOLDER

Shelves are drawn with a long side of 640 pixels times `--scale`. A phone's photo has some 4000. With `--others` and `--photos`, pictures
without books are drawn or read, and how many have none is counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.shelves.others import draw_other
from nocturne_tools.shelves.package import PACKAGE
from nocturne_tools.shelves.picture import Shelf, draw_shelf
from nocturne_tools.shelves.splitting import clear_share, split

import onnxruntime

COUNTS = (1, 2, 3, 5, 7, 10, 15, 20)
FIRST_SEED = 900


def network_input(image: NDArray[np.uint8], rules: dict) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """(1, 3, y, x) as the network takes it, padded with 0 on the right and below; and the picture's height and width in it."""
    height, width = image.shape[:2]
    scale = rules["longSide"] / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR), np.float32) / 255
    small = (small - np.array(rules["mean"], np.float32)) / np.array(rules["standardDeviation"], np.float32)
    multiple = rules["multiple"]
    full = np.zeros((1, 3, -(-size[1] // multiple) * multiple, -(-size[0] // multiple) * multiple), np.float32)
    full[0, :, : size[1], : size[0]] = small.transpose(2, 0, 1)
    return full, (size[1], size[0])


def maps_of(session: onnxruntime.InferenceSession, image: NDArray[np.uint8], rules: dict) -> NDArray[np.float32]:
    full, (height, width) = network_input(image, rules)
    return session.run(None, {session.get_inputs()[0].name: full})[0][0][:, :height, :width]


def compared(shelf: Shelf, found: NDArray[np.int32]) -> tuple[int, list[float]]:
    """The count found, and for every true book the best overlap (intersection over union) of a found one."""
    if found.shape != shelf.instances.shape:
        found = np.asarray(Image.fromarray(found).resize(shelf.instances.shape[::-1], Image.Resampling.NEAREST))
    table = np.zeros((shelf.count + 1, int(found.max()) + 1), np.int64)
    np.add.at(table, (shelf.instances.ravel(), found.ravel()), 1)
    union = table.sum(1, keepdims=True) + table.sum(0, keepdims=True) - table
    overlap = table[1:, 1:] / union[1:, 1:]
    return int(found.max()), [float(row.max()) if row.size else 0.0 for row in overlap]


def without_books(paths: list[Path], others: int, first_seed: int, session: onnxruntime.InferenceSession, settings: dict) -> None:
    """Prints how many pictures of other things have no books, and of the rest how many and with which share of clear outlines."""
    pictures = [(str(seed), draw_other(seed, 1024)) for seed in range(first_seed, first_seed + others)]
    pictures += [(path.name, np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))) for path in paths]
    rules, kept = settings["splitting"], []
    for name, image in pictures:
        maps = maps_of(session, image, settings["input"])
        found = split(maps, rules)
        if found.any():
            kept.append(f"{name}: {found.max()}, clear {clear_share(found, maps[1]):.2f}")
    print(f"No books in {len(pictures) - len(kept)} of {len(pictures)} pictures of other things. Others: {'; '.join(kept) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, default=PACKAGE)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--books", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--shelves", type=int, default=13, help="for each number of books")
    parser.add_argument("--scale", type=float, default=2.0)
    parser.add_argument("--others", type=int, default=0, help="drawn pictures without books, instead of shelves")
    parser.add_argument("--photos", type=Path, nargs="*", default=[], help="folders of photos without books, instead of shelves")
    parser.add_argument("--set", nargs="*", default=[], metavar="RULE=VALUE", help="other splitting rules")
    options = parser.parse_args()
    settings = json.loads((options.package / "model.json").read_text())["photoInstances"]
    rules = settings["splitting"]
    for item in options.set:
        name, value = item.split("=")
        rules[name] = float(value)
    session = onnxruntime.InferenceSession(str(options.package / settings["network"]), providers=["CPUExecutionProvider"])
    if options.others or options.photos:
        paths = sorted(p for f in options.photos for p in f.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))
        return without_books(paths, options.others, options.first_seed, session, settings)
    seed, exact_in_all, overlaps = options.first_seed, 0, []
    print("| Books | Shelves | Count exact | Off by | Mean IoU | Lowest IoU |")
    print("| --- | --- | --- | --- | --- | --- |")
    for books in options.books:
        exact, errors, group = 0, [], []
        for _ in range(options.shelves):
            shelf = draw_shelf(seed, books, options.scale)
            count, ious = compared(shelf, split(maps_of(session, shelf.image, settings["input"]), rules))
            exact += count == shelf.count
            if count != shelf.count:
                errors.append(f"{count - shelf.count:+d} ({seed})")
            group += ious
            seed += 1
        exact_in_all += exact
        overlaps += group
        shown = ", ".join(errors[:12]) + (", …" if len(errors) > 12 else "")
        row = (books, options.shelves, exact, shown or "none", f"{np.mean(group):.3f}", f"{min(group):.3f}")
        print("| " + " | ".join(str(v) for v in row) + " |", flush=True)
    shelves = options.shelves * len(options.books)
    print(f"\nCount exact on {exact_in_all} of {shelves}, mean mask IoU {np.mean(overlaps):.3f} over {len(overlaps)} books.")


if __name__ == "__main__":
    main()
