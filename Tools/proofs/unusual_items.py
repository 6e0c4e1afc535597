#!/usr/bin/env python3
"""Two hundred volumes of which five are planted outliers: all five are among the first seven, in the report and on the page.

    Tools/proofs/unusual_items.py NOCTURNE [--items 200] [--keep FOLDER]

Each volume has a body and two kidneys, ellipsoids whose size and place vary as in people. The model is a network that names
the intensity of a voxel, so the label maps are known. Five volumes have one fault each: a kidney that is missing, one of
twice the volume, one at another place, one that is cut by the border, and noise. The page is opened in Chromium (if it is
installed), which shows the most unusual item first. Needs numpy, onnx; the result is a table, exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.model_package import label, recipe, write_package
from nocturne_tools.paths import ROOT

LABELS = ["body", "kidney_left", "kidney_right"]
SIZE = 40
# mm: the body is as wide as a child's.
SPACING = 5
PLANTED = {23: "missing kidney", 61: "doubled volume", 104: "shifted label", 142: "cut by the border", 187: "noise"}
FIRST = 7


def write_model(folder: Path) -> None:
    """A network whose label is the whole number nearest to the voxel: logit c is c·x - c²/2."""
    folder.mkdir()
    classes = np.arange(len(LABELS) + 1, dtype=np.float32)
    weights = classes.reshape(-1, 1, 1, 1, 1)
    node = helper.make_node("Conv", ["input", "weight", "bias"], ["logits"], kernel_shape=[1, 1, 1])
    graph = helper.make_graph(
        [node],
        "nearest",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, SIZE, SIZE, SIZE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, len(classes), SIZE, SIZE, SIZE])],
        [numpy_helper.from_array(weights, "weight"), numpy_helper.from_array(-classes * classes / 2, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "network.onnx").write_bytes(model.SerializeToString(deterministic=True))
    colors = ["#999999", "#CC3311", "#0077BB"]
    manifest = {
        "id": "intensities",
        "name": "Labels by intensity, synthetic",
        "description": "Synthetic, for tests only, no medical use.",
        "version": "1.0.0",
        "modalities": ["CT", "MR"],
        "channels": [{"name": "image", "normalization": {"scheme": "none"}}],
        "labels": [label(value, name, colors[value - 1]) for value, name in enumerate(LABELS, start=1)],
        "volumeSegmentation": recipe("stored", None, [SIZE] * 3),
    }
    write_package(folder, manifest, ["network.onnx"])


def ellipsoid(centre: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The voxels of an ellipsoid, in the order z, y, x; centre and radii in the order x, y, z."""
    z, y, x = np.mgrid[:SIZE, :SIZE, :SIZE]
    return sum(((axis - c) / r) ** 2 for axis, c, r in zip((x, y, z), centre, radii, strict=True)) <= 1


def volume(number: int) -> NDArray[np.float32]:
    """The voxels of one item, with its fault if it has one."""
    rng = np.random.default_rng([0x0DD, number])
    fault = PLANTED.get(number)
    voxels = np.zeros((SIZE, SIZE, SIZE), dtype=np.float32)
    middle = np.array([20.0, 20.0, 20.0]) + rng.normal(0, 0.5, 3)
    voxels[ellipsoid(middle, np.array([17.0, 13.0, 18.0]) * rng.normal(1, 0.02, 3))] = 1
    for value, side in ((2, -1), (3, 1)):
        centre = middle + np.array([8.0 * side, 3.0, 0.0]) + rng.normal(0, 0.4, 3)
        radii = np.array([4.0, 3.5, 6.0]) * rng.normal(1, 0.04, 3)
        if value == 3 and fault == "missing kidney":
            continue
        if value == 2 and fault == "doubled volume":
            radii *= 2 ** (1 / 3)
        if value == 3 and fault == "shifted label":
            centre[2] += 9
        if value == 2 and fault == "cut by the border":
            centre[2] = -1.0
        voxels[ellipsoid(centre, radii)] = value
    voxels += rng.normal(0, 0.5 if fault == "noise" else 0.1, voxels.shape).astype(np.float32)
    return voxels


def write_nifti(path: Path, voxels: NDArray[np.float32]) -> None:
    """Voxels of SPACING mm in RAS."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, SIZE, SIZE, SIZE, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 16, 32)
    struct.pack_into("<4f", header, 76, 1, SPACING, SPACING, SPACING)
    struct.pack_into("<2f", header, 108, 352, 1)
    struct.pack_into("<2h", header, 252, 0, 1)
    struct.pack_into("<12f", header, 280, SPACING, 0, 0, 0, 0, SPACING, 0, 0, 0, 0, SPACING, 0)
    header[344:348] = b"n+1\0"
    path.write_bytes(bytes(header) + voxels.tobytes())


def most_unusual(out: Path) -> list[str]:
    """The items of the report by their largest score."""
    items = json.loads((out / "batch.json").read_text())["items"]
    scores = {entry["item"]: max((value["score"] for value in entry["unusual"]), default=0) for entry in items}
    return sorted(scores, key=lambda item: -scores[item])


def first_on_page(out: Path) -> list[str] | None:
    """The first items that the page shows; None without Chromium."""
    sys.path.insert(0, str(ROOT / "Tests/ReviewPage"))
    import browser

    if browser.executable() is None:
        return None
    page = browser.Browser()
    try:
        page.open(out / "index.html")
        page.wait("document.querySelectorAll('.card').length > 0")
        names = page.evaluate("JSON.stringify([...document.querySelectorAll('.card')].map(card => card.dataset.item))")
        return json.loads(names)[:FIRST]
    finally:
        page.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nocturne", type=Path)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="a folder for inputs and results, which is kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unusual-items-") as temporary:
        folder = arguments.keep or Path(temporary)
        inputs, out = folder / "in", folder / "out"
        inputs.mkdir(parents=True)
        write_model(folder / "model")
        for number in range(arguments.items):
            write_nifti(inputs / f"case-{number:03}.nii", volume(number))
        command = [arguments.nocturne, "run", inputs, "--model", folder / "model", "--output", out, "--quiet"]
        subprocess.run(command, check=True)
        report, page = most_unusual(out)[:FIRST], first_on_page(out)
        missed = 0
        for number, fault in PLANTED.items():
            name = f"case-{number:03}"
            places = [order.index(name) + 1 if name in order else 0 for order in (report, page or report)]
            missed += places.count(0)
            print(f"{fault:18}  place {places[0] or 'beyond ' + str(FIRST)} in the report, {places[1] or 'none'} on the page")
        print(f"the first {FIRST} of {arguments.items}: {', '.join(report)}")
        if page is None:
            print("Chromium is not installed: the page was not opened.")
        return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
