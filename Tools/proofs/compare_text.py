#!/usr/bin/env python3
"""Compares the text that Nocturne reads on drawn shelves with the titles drawn, and with RapidOCR on the same crops.

    Tools/proofs/compare_text.py NOCTURNE WHEEL [PHOTO …] [--shelves 6] [--books 20] [--seed 9000] [--work DIR]

Draws shelves of about 1900 pixels from seeds that book-spines was not trained on, with titles in fonts of Debian (packages
fonts-dejavu-extra, fonts-liberation, fonts-lato, fonts-ebgaramond, fonts-roboto-slab); exports the package of text from
the wheel of RapidOCR; and runs both models over the shelves and the given photos. For the shelves it prints the share of
books with the exact title, and with at most two wrong letters; for all crops the share with the same lines as RapidOCR
(which must be installed, as the wheel has it) with the same settings; for photos the texts. Exits with 1 where less than 90 % of
the crops have the same lines.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "lib"))

from nocturne_tools.rapidocr.package import Options, write
from nocturne_tools.shelves import picture
from nocturne_tools.shelves.spines import color, grain

BOOKS = HERE.parents[2] / "Samples" / "Models" / "book-spines"
FONTS = ("DejaVu Sans:bold", "DejaVu Serif", "Liberation Sans", "Liberation Serif:bold", "Lato:bold", "EB Garamond", "Roboto Slab")
TITLES = (
    "Moby Dick|Emma|Ulysses|Middlemarch|The Trial|Dracula|Frankenstein|Walden|Candide|Persuasion|Hard Times|The Odyssey|Faust"
    "|Kidnapped|Germinal|Nana|Oblomov|The Idiot|Dead Souls|Fathers and Sons|Jane Eyre|Villette|Ivanhoe|Little Women|Lord Jim"
    "|Howards End|The Ambassadors|Babbitt|My Antonia|Sons and Lovers|The Awakening|Treasure Island|Black Beauty|Siddhartha"
    "|Buddenbrooks|Effi Briest|The Red and the Black|Madame Bovary|Crime and Punishment|War and Peace|Great Expectations"
    "|Wuthering Heights|The Time Machine|Around the World|The Jungle Book|Don Quixote|Gulliver|The Moonstone|Cranford|Silas Marner"
).split("|")
LIMIT = 0.9


def font_files() -> list[str]:
    """Of the fonts, in their order."""
    found = []
    for name in FONTS:
        shown = subprocess.run(["fc-match", "-f", "%{family}|%{file}", name], capture_output=True, text=True, check=True)
        family, file = shown.stdout.split("|")
        if name.split(":")[0] not in family:
            raise SystemExit(f"the font {name} is not installed; this script's help names the packages")
        found.append(file)
    return found


class Titles:
    """Draws spines with titles in place of those with random letters, and keeps which book has which."""

    def __init__(self, fonts: list[str]) -> None:
        self.fonts = fonts
        self.of_book: list[str] = []
        self._paste = picture.paste_book

    def title(self, seed: int) -> str:
        rng = np.random.default_rng([0x717E, seed])
        text = TITLES[int(rng.integers(len(TITLES)))]
        return text.upper() if rng.random() < 0.4 else text

    def spine(self, style: int, seed: int, width: int, height: int) -> Image.Image:
        rng = np.random.default_rng([0x5917E, seed])
        width, height = max(width, 4), max(height, 8)
        ground = color(rng)
        level = int(rng.uniform(215, 255) if sum(ground) < 380 else rng.uniform(0, 40))
        file, size = self.fonts[int(rng.integers(len(self.fonts)))], max(5, int(width * rng.uniform(0.4, 0.7)))
        while size > 5 and ImageFont.truetype(file, size).getlength(self.title(seed)) > 0.85 * height:
            size -= 1
        strip = Image.new("RGB", (height, width), ground)
        place = (height * rng.uniform(0.3, 0.7), width / 2)
        font = ImageFont.truetype(file, size)
        half = font.getlength(self.title(seed)) / 2 + 0.04 * height
        place = (float(np.clip(place[0], half, max(half, height - half))), place[1])
        ImageDraw.Draw(strip).text(place, self.title(seed), font=font, fill=(level,) * 3, anchor="mm")
        turn = Image.Transpose.ROTATE_270 if rng.random() < 0.75 else Image.Transpose.ROTATE_90
        shaded = np.asarray(strip.transpose(turn), np.float32) + 4 * grain(rng, width, height, 3)[..., None]
        return Image.fromarray(np.clip(shaded, 0, 255).astype(np.uint8))

    def paste(self, canvas: Any, ids: Any, book: Any, number: int, *rest: Any) -> None:
        self.of_book.append(self.title(book.seed))
        self._paste(canvas, ids, book, number, *rest)

    def shelf(self, seed: int, books: int) -> picture.Shelf:
        self.of_book = []
        picture.spine, picture.paste_book = self.spine, self.paste
        return picture.draw_shelf(seed, books, scale=3.0)


def distance(first: str, second: str) -> int:
    """Letters to insert, delete or replace (Levenshtein)."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def overlap(first: tuple[int, int, int, int], second: tuple[int, int, int, int]) -> float:
    """Intersection over union of two boxes: left, top, right, bottom."""
    low, high = np.maximum(first[:2], second[:2]), np.minimum(first[2:], second[2:])
    shared = float(np.prod(np.maximum(high - low, 0)))
    areas = [float((box[2] - box[0]) * (box[3] - box[1])) for box in (first, second)]
    return shared / (sum(areas) - shared)


class Peer:
    """RapidOCR with the package's settings: no enlarging, no classifier, one line at a time."""

    def __init__(self, side: int) -> None:
        from rapidocr import RapidOCR

        settings = {"limit_side_len": side, "limit_type": "max"}
        parameters = {f"Det.{key}": value for key, value in settings.items()}
        parameters |= {"Rec.rec_batch_num": 1, "EngineConfig.onnxruntime.intra_op_num_threads": 2}
        parameters |= {
            f"Global.{key}": value
            for key, value in {
                "use_cls": False, "width_height_ratio": -1, "min_height": 0, "min_side_len": 1, "max_side_len": 100_000,
                "log_level": "error",
            }.items()
        }
        self.engine = RapidOCR(params=parameters)

    def lines(self, crop: Path) -> list[str]:
        """The lines of the direction with the greatest sum of confidences over its characters."""
        whole = Image.open(crop)
        white = Image.new("RGBA", whole.size, (255, 255, 255, 255))
        image = np.asarray(Image.alpha_composite(white, whole.convert("RGBA")).convert("RGB"))[..., ::-1]
        best: tuple[float, list[str]] = (-1.0, [])
        for turns in (1, 3, 0):
            found = self.engine(np.ascontiguousarray(np.rot90(image, turns)))
            texts = getattr(found, "txts", None) or ()
            read = [(text.strip(), score) for text, score in zip(texts, getattr(found, "scores", None) or ())]
            weight = sum(len(text) * score for text, score in read)
            if weight > best[0]:
                best = (weight, [text for text, _ in read])
        return best[1]


def measure(nocturne: str, inputs: list[Path], package: Path, out: Path) -> tuple[float, float]:
    """Seconds and the largest resident memory in MiB of a run."""
    names = [str(path) for path in inputs]
    start = time.monotonic()
    command = [nocturne, "run", *names, "--model", str(BOOKS), "--model", str(package), "--output", str(out)]
    subprocess.run([*command, "--crops", "png", "--quiet"], check=True)
    return time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def results(out: Path) -> dict[str, dict[str, Any]]:
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(out.glob("*/result.json"))}


def compare_titles(shelves: dict[str, tuple[picture.Shelf, list[str]]], found: dict[str, dict[str, Any]]) -> None:
    totals: Counter[str] = Counter()
    for name, (shelf, titles) in shelves.items():
        for number, title in enumerate(titles, 1):
            rows, columns = np.nonzero(shelf.instances == number)
            box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
            matches = []
            for one in found[name]["instances"]:
                at = one["box"]
                other = (at["x"], at["y"], at["x"] + at["width"], at["y"] + at["height"])
                matches.append((overlap(box, other), one["reading"]["text"]))
            share, text = max(matches, default=(0.0, ""))
            totals["books"] += 1
            if share < 0.5:
                continue
            wrong = distance(title.replace(" ", ""), text.replace(" ", ""))
            totals["found"] += 1
            totals["exact"] += text == title
            totals["letters"] += wrong == 0
            totals["two"] += wrong <= 2
            if wrong > 2:
                print(f"  {name}: {title!r} read as {text!r}")
    for key, title in (("exact", "exact title"), ("letters", "but for spaces"), ("two", "at most two wrong letters")):
        print(f"{title}: {totals[key]} of {totals['books']} books, {totals['found']} of them found")


def compare_peer(out: Path, found: dict[str, dict[str, Any]], peer: Peer) -> float:
    same, seconds, objects = 0, 0.0, [(name, one) for name, result in found.items() for one in result["instances"]]
    for name, one in objects:
        start = time.monotonic()
        lines = peer.lines(out / name / one["uprightCrop"])
        seconds += time.monotonic() - start
        own = [line["text"] for line in one["reading"]["lines"]]
        same += sorted(own) == sorted(lines)
        if sorted(own) != sorted(lines):
            print(f"  {name} {one['id']}: {own}, RapidOCR {lines}")
    print(f"same lines as RapidOCR: {same} of {len(objects)} crops; RapidOCR took {seconds:.1f} s")
    return same / max(len(objects), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("photos", type=Path, nargs="*")
    parser.add_argument("--shelves", type=int, default=6)
    parser.add_argument("--books", type=int, default=20)
    parser.add_argument("--seed", type=int, default=9000, help="of the first shelf")
    parser.add_argument("--work", type=Path, help="keeps all files there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        section = write(given.wheel, work / "package", Options(replace=True))["photoText"]
        (work / "shelves").mkdir(exist_ok=True)
        drawer, shelves = Titles(font_files()), {}
        for seed in range(given.seed, given.seed + given.shelves):
            shelf = drawer.shelf(seed, given.books)
            if shelf.count == len(drawer.of_book):
                shelves[f"shelf-{seed}"] = (shelf, drawer.of_book)
                Image.fromarray(shelf.image).save(work / "shelves" / f"shelf-{seed}.png")
        inputs = ([work / "shelves"] if shelves else []) + given.photos
        seconds, memory = measure(given.nocturne, inputs, work / "package", work / "out")
        found = results(work / "out")
        objects = sum(len(result["instances"]) for result in found.values())
        print(f"{len(found)} photos, {objects} objects: {seconds:.1f} s, {memory:.0f} MiB")
        if shelves:
            compare_titles(shelves, found)
        for name, result in found.items():
            if name not in shelves:
                for one in result["instances"]:
                    print(f"  {name} {one['id']}: {one['reading']['text']!r} {one['reading']['confidence']}")
        return 0 if compare_peer(work / "out", found, Peer(section["detection"]["longSide"])) >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
