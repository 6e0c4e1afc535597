"""Writes Tests/Fixtures/resampling/nnunet.json: small arrays resampled by nnU-Net's own functions.

Images (float32), logits (float16, decided by arg-max and by sigmoid) and labels (with -1 outside the body) go through
`resample_data_or_seg` and `resample_torch_fornnunet` with every setting that Nocturne knows. Axes are (z, y, x) here
and in the file; arrays are base64 of little-endian numbers in C order. Needs nnunetv2.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path

import numpy as np
import torch
from nnunetv2.preprocessing.resampling.default_resampling import resample_data_or_seg
from nnunetv2.preprocessing.resampling.resample_torch import resample_torch_fornnunet

SHAPE = (7, 9, 11)
GRIDS = [(10, 6, 15), (5, 13, 8), (7, 12, 8)]
LABELS = [0, 1, 2, 3, 7]


def text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def image(random: np.random.Generator) -> np.ndarray:
    return random.normal(0, 300, SHAPE).astype(np.float32)


def logits(random: np.random.Generator) -> np.ndarray:
    """Three classes that are often almost equal, so that rounding decides."""
    common = random.normal(0, 2, SHAPE)
    own = random.integers(-2, 3, (3, *SHAPE)) / 512
    values = (common + own).astype(np.float16)
    # Regions: values around zero, the smallest of float16 among them.
    values[:, :2] = random.integers(-2, 3, (3, 2, *SHAPE[1:])).astype(np.float16) * np.float16(2**-24)
    return values


def labels(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of labels, -1 where there is none outside an ellipsoid; and where that is."""
    small = random.integers(0, len(LABELS), [(n + 1) // 2 for n in SHAPE])
    values = np.array(LABELS)[small].repeat(2, 0).repeat(2, 1).repeat(2, 2)[tuple(slice(0, n) for n in SHAPE)]
    places = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) for n in SHAPE], indexing="ij"))
    outside = (places**2).sum(0) > 1.2
    return np.where(outside & (values == 0), -1, values).astype(np.int16), outside


def spline(data: np.ndarray, target: tuple, is_seg: bool, order: int, order_z: int, axis: int | None) -> np.ndarray:
    return resample_data_or_seg(data, target, is_seg, axis, order, axis is not None, order_z)


def by_torch(data: np.ndarray, target: tuple, is_seg: bool, axis: int | None) -> np.ndarray:
    spacing = [9.0 if a == axis else 1.0 for a in range(3)]
    return resample_torch_fornnunet(
        torch.from_numpy(data), target, spacing, spacing, is_seg, num_threads=1, force_separate_z=None
    ).numpy()


def settings(orders: list[int], orders_z: list[int]) -> list[dict]:
    """Every rule, each with one of the grids."""
    found = [{"method": "spline", "order": order, "orderZ": 0, "axis": None} for order in orders]
    for axis in range(3):
        for order in orders[-2:]:
            found += [{"method": "spline", "order": order, "orderZ": z, "axis": axis} for z in orders_z]
    found += [{"method": "torch", "order": 1, "orderZ": 0, "axis": axis} for axis in (None, 0, 1, 2)]
    for number, rule in enumerate(found):
        rule["target"] = GRIDS[number % len(GRIDS)]
    # What a grid with unequal sizes on every axis does to the plain orders.
    return found + [{**rule, "target": grid} for rule in found[: len(orders)] for grid in GRIDS[1:]]


def resample(data: np.ndarray, rule: dict, is_seg: bool) -> np.ndarray:
    if rule["method"] == "torch":
        return by_torch(data, rule["target"], is_seg, rule["axis"])
    return spline(data, rule["target"], is_seg, rule["order"], rule["orderZ"], rule["axis"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, nargs="?", default=Path("Tests/Fixtures/resampling/nnunet.json"))
    output = parser.parse_args().output
    random = np.random.default_rng(20)
    scan, scores, (seg, outside) = image(random), logits(random), labels(random)
    content = {
        "shape": SHAPE,
        "image": text(scan),
        "logits": text(scores.astype(np.float32)),
        "labels": text(seg),
        "outside": text(outside.astype(np.uint8)),
        "images": [],
        "decisions": [],
        "segmentations": [],
    }
    for rule in settings([0, 1, 3], [0, 1, 3]):
        result = resample(scan[None].copy(), rule, False)[0]
        content["images"].append({**rule, "result": text(result.astype(np.float32))})
    for rule in settings([0, 1], [0, 1]):
        result = torch.from_numpy(resample(scores.copy(), rule, False))
        classes = result.numpy().argmax(0)
        regions = np.zeros(classes.shape, np.uint8)
        for index, inside in enumerate(torch.sigmoid(result.float()) > 0.5):
            regions[inside.numpy()] = index + 1
        content["decisions"].append({**rule, "classes": text(classes.astype(np.uint8)), "regions": text(regions)})
    for rule in settings([0, 1], [0, 1]):
        result = resample(seg[None].astype(np.int8).copy(), rule, True)[0]
        content["segmentations"].append({**rule, "result": text(result.astype(np.int16))})
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(content, separators=(",", ":")) + "\n")
    print(output, output.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
