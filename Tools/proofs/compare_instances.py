#!/usr/bin/env python3
"""Compares Nocturne's instances on photos with those of ultralytics' and torchvision's own code on the same networks.

    Tools/proofs/compare_instances.py NOCTURNE [PHOTO …] [--work DIR] [--epochs 25] [--networks yolo mask-rcnn]

Trains small YOLO-seg networks (8, 11, 12) on drawn circles, squares and triangles, exports them with ultralytics (also
with dynamic extents, in float16, with the outputs exchanged), makes packages of the files, and runs both programs over
drawn pictures and the given photos: at the network's size, so that both see the same pixels; scaled before to its
longer side, so that only the place of the photo in the input can differ; and as they are, where the two programs scale
photos in different ways, too. --networks mask-rcnn is torchvision's Mask R-CNN with random weights, whose last layers
are scaled so that scores, boxes and masks differ. Torchvision rounds boxes to whole pixels before it puts masks into
them; "exact boxes" is its network without that. This needs ONNX Runtime (NOCTURNE_ONNXRUNTIME).

Needs the Python packages ultralytics, opencv-python-headless, onnxslim and torchvision. --work keeps the networks,
which then are not trained again. Exits with 1 where, at the network's size, an instance has no pair, or a score differs
by more than 0.01 (not for float16, and Mask R-CNN).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

os.environ |= {"YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "false", "OMP_NUM_THREADS": "1", "YOLO_VERBOSE": "false"}

import onnx
import torch
from PIL import Image
from pycocotools import mask as coco_mask

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.instances import drawn_shapes, peers
from nocturne_tools.instances.agreement import HEADER, Agreement, Instance
from nocturne_tools.instances.package import Options, write

SIDE = 320
LIMIT = 0.01


@dataclass(frozen=True)
class Case:
    """`peer` is what the library runs, `file` what the package is made of; `strict` decides about the exit code."""

    name: str
    peer: Path
    file: Path
    strict: bool = True


def trained(name: str, work: Path, epochs: int) -> Path:
    """Weights of a network trained on drawn shapes."""
    from ultralytics import YOLO

    weights = work / f"{name}.pt"
    if not weights.is_file():
        data = drawn_shapes.data_set(work / "shapes", 160, SIDE)
        network = YOLO(f"{name}.yaml")
        settings = {"batch": 8, "workers": 0, "mosaic": 0, "optimizer": "AdamW", "lr0": 0.002, "warmup_epochs": 1}
        settings |= {"val": False, "plots": False, "amp": False, "seed": 0, "cache": True, "verbose": False}
        network.train(data=str(data), imgsz=SIDE, epochs=epochs, device="cpu", project=str(work / "runs"), **settings)
        shutil.copy(network.trainer.last, weights)
    return weights


def exported(weights: Path, suffix: str, **settings: object) -> Path:
    """An ONNX file as ultralytics writes it."""
    from ultralytics import YOLO

    file = weights.with_name(f"{weights.stem}{suffix}.onnx")
    if not file.is_file():
        with tempfile.TemporaryDirectory(dir=weights.parent) as folder:
            copy = Path(shutil.copy(weights, folder))
            shutil.move(YOLO(copy).export(format="onnx", imgsz=SIDE, **settings), file)
    return file


def exchanged(file: Path) -> Path:
    """The same network with its two outputs in the other order."""
    model = onnx.load(file)
    first, second = model.graph.output
    del model.graph.output[:]
    model.graph.output.extend([second, first])
    turned = file.with_name(f"{file.stem}-exchanged.onnx")
    onnx.save(model, turned)
    return turned


def yolo_cases(work: Path, epochs: int) -> list[Case]:
    plain = {name: exported(trained(name, work, epochs), "") for name in ("yolov8n-seg", "yolo11n-seg", "yolo12n-seg")}
    cases = [Case(name, file, file) for name, file in plain.items()]
    weights = work / "yolo11n-seg.pt"
    moving, half = exported(weights, "-dynamic", dynamic=True), exported(weights, "-half", quantize=16)
    cases.append(Case("yolo11n-seg, dynamic", moving, moving))
    cases.append(Case("yolo11n-seg, float16", half, half, strict=False))
    turned = exchanged(plain["yolo11n-seg"])
    return [*cases, Case("yolo11n-seg, outputs exchanged", plain["yolo11n-seg"], turned)]


def pictures(folder: Path, given: argparse.Namespace, sizes: list[tuple[int, int]] | None) -> Path:
    """PNG files of drawn pictures and of the given photos, scaled to these sizes (width, height), or as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(77)
    for index in range(given.drawn):
        width, height = rng.choice(sizes or [(640, 480), (427, 500), (900, 506), (250, 333)])
        drawn_shapes.draw(rng, width, height)[0].save(folder / f"drawn{index}.png")
    for index, photo in enumerate(given.photos):
        picture = Image.open(photo).convert("RGB")
        if sizes:
            picture = picture.resize(sizes[index % len(sizes)], Image.Resampling.BILINEAR)
        picture.save(folder / f"{photo.stem}.png")
    return folder


def scaled(folder: Path, source: Path) -> Path:
    """The pictures of another folder, scaled as Nocturne scales them."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.glob("*.png"):
        picture = Image.open(file)
        factor = SIDE / max(picture.size)
        size = [max(round(length * factor), 1) for length in picture.size]
        picture.resize(size, Image.Resampling.BILINEAR).save(folder / file.name)
    return folder


def found(program: str, package: Path, folder: Path, work: Path) -> dict[str, list[Instance]]:
    """Nocturne's instances by the names of the photos."""
    out = Path(tempfile.mkdtemp(dir=work))
    command = [program, "run", str(folder), "--model", str(package), "--output", str(out), "--quiet", "--threads", "1"]
    subprocess.run(command, check=True)
    instances: dict[str, list[Instance]] = {}
    for file in out.glob("*/result.json"):
        result = json.loads(file.read_text())
        entries = instances.setdefault(Path(result["source"]["name"]).stem, [])
        for one in result["instances"]:
            counts = {"size": one["mask"]["size"], "counts": one["mask"]["counts"].encode()}
            mask = coco_mask.decode(counts).astype(bool)
            entries.append(Instance(one["class"], one["confidence"], mask))
    shutil.rmtree(out)
    return instances


def compared(expected: dict[str, list[Instance]], ours: dict[str, list[Instance]]) -> Agreement:
    total = Agreement()
    for name, instances in sorted(expected.items()):
        total.add(instances, ours[name])
    return total


def shown(name: str, title: str, total: Agreement) -> Agreement:
    print(f"| {name} | {title} | {total.row()} |", flush=True)
    return total


def compare_yolo(given: argparse.Namespace, work: Path, others: list[tuple[str, Path]]) -> bool:
    """Prints the rows of YOLO-seg; whether they differ more than they may."""
    square = pictures(work / "square", given, [(SIDE, SIDE)])
    failed = False
    for case in yolo_cases(work, given.epochs):
        package = work / "packages" / case.file.stem
        write(case.file, package, Options(replace=True), lambda _: None)
        exact = work / "wide" if "dynamic" in case.name else square
        for title, folder in [("of its size", exact), *others]:
            expected = peers.ultralytics(case.peer, folder, SIDE)
            total = shown(case.name, title, compared(expected, found(given.program, package, folder, work)))
            if case.strict and folder is exact:
                failed |= total.share < 1 or max(total.scores, default=0) > LIMIT
    return failed


def compare_mask_rcnn(given: argparse.Namespace, work: Path, others: list[tuple[str, Path]]) -> None:
    for version in (1, 2):
        weights = peers.scaled_mask_rcnn(version, work / f"mask-rcnn-v{version}.pth")
        package = work / "packages" / weights.stem
        options = Options(list(drawn_shapes.CLASSES), size=SIDE, score=peers.SCORE, replace=True)
        write(weights, package, options, lambda _: None)
        for title, folder in [("of its size", work / "wide"), *others]:
            expected = peers.mask_rcnn(version, weights, folder, SIDE)
            ours = found(given.program, package, folder, work)
            name = f"Mask R-CNN {version}, random"
            shown(name, title, compared(expected, ours))
            if title == "of its size":
                shown(name, f"{title}, exact boxes", compared(peers.exact_mask_rcnn(weights, folder), ours))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="nocturne")
    parser.add_argument("photos", nargs="*", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--drawn", type=int, default=12, help="number of drawn pictures")
    parser.add_argument("--networks", nargs="+", choices=["yolo", "mask-rcnn"], default=["yolo"])
    given = parser.parse_args()
    torch.set_num_threads(1)
    work = given.work or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    pictures(work / "wide", given, [(SIDE, 256), (192, SIDE)])
    plain = pictures(work / "plain", given, None)
    others = [("scaled before", scaled(work / "scaled", plain)), ("as they are", plain)]
    print(f"| network | photos are | {HEADER} |\n|{' --- |' * 11}", flush=True)
    failed = "yolo" in given.networks and compare_yolo(given, work, others)
    if "mask-rcnn" in given.networks:
        compare_mask_rcnn(given, work, others)
    if given.work is None:
        shutil.rmtree(work)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
