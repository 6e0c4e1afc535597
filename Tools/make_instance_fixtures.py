"""Writes Tests/Fixtures/Instances: masks as pycocotools encodes them, and maps with the reference's splitting; and the
package Tests/Fixtures/Models/coloured-maps, whose network gives a picture's red, green and blue as its maps.

    python Tools/make_instance_fixtures.py         # needs pycocotools 2.0.11 for the masks
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from pycocotools import mask as coco
from scipy import ndimage

from shelves.maps import target_maps
from shelves.picture import draw_shelf
from shelves.splitting import split

FOLDER = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "Instances"
RULES = {
    "foregroundThreshold": 0.5,
    "backgroundThreshold": 0.2,
    "seedThreshold": 0.5,
    "boundaryWeight": 1.0,
    "minimumSeedArea": 4,
    "minimumArea": 20,
    "mergeBoundary": 0.25,
    "minimumContact": 4,
}


def encoded(name: str, mask: NDArray[np.int_]) -> dict[str, object]:
    """One case: the mask as rows of digits, and what pycocotools says of it."""
    runs = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    column = mask.ravel(order="F").astype(int)
    changes = np.flatnonzero(np.diff(np.concatenate([[0], column]))).tolist()
    counts = np.diff([0, *changes, column.size]).tolist()
    height, width = mask.shape
    return {
        "name": name,
        "width": width,
        "height": height,
        "rows": ["".join(str(int(v)) for v in row) for row in mask],
        "counts": counts,
        "text": runs["counts"].decode(),
        "area": int(coco.area(runs)),
        "box": [int(v) for v in coco.toBbox(runs)],
    }


def masks() -> None:
    empty = np.zeros((3, 4), int)
    rectangle, corners = np.zeros((5, 4), int), np.zeros((6, 7), int)
    rectangle[1:4, 1:3] = 1
    corners[0, 0] = corners[5, 6] = 1
    y, x = np.indices((40, 50))
    columns = np.zeros((60, 9), int)
    columns[:, 3:6] = 1
    cases = [
        encoded("empty", empty),
        encoded("full", empty + 1),
        encoded("rectangle", rectangle),
        encoded("corners", corners),
        encoded("chessboard", np.indices((5, 6)).sum(0) % 2),
        encoded("disc", ((x - 24) ** 2 + (y - 20) ** 2 < 300).astype(int)),
        encoded("columns to the edges", columns),
        encoded("noise", (np.random.default_rng(3).random((17, 23)) < 0.4).astype(int)),
    ]
    document = {"source": "pycocotools 2.0.11: encode, area, toBbox", "cases": cases}
    (FOLDER / "pycocotools-masks.json").write_text(json.dumps(document, indent=1) + "\n")


def maps() -> None:
    """Blurred and noisy maps of a shelf of 14 books, in 8 bits: planes of foreground, boundary, centre; then labels."""
    shelf = draw_shelf(77, 14, 0.25)
    rng = np.random.default_rng(5)
    exact = target_maps(shelf.instances)
    noisy = np.stack([ndimage.gaussian_filter(plane, 0.6) for plane in exact])
    lumps = np.stack([ndimage.gaussian_filter(rng.standard_normal(plane.shape), 2) for plane in exact])
    noisy = np.clip(noisy + 0.35 * lumps, 0, 1)
    stored = np.round(noisy * 255).astype(np.uint8)
    labels = split(stored.astype(np.float32) / np.float32(255), RULES)
    height, width = labels.shape
    (FOLDER / "splitting.bin").write_bytes(stored.tobytes() + labels.astype(np.uint8).tobytes())
    document = {"width": width, "height": height, "instances": int(labels.max()), "rules": RULES}
    (FOLDER / "splitting.json").write_text(json.dumps(document, indent=1) + "\n")


def coloured_maps() -> None:
    """Red is foreground, green boundary, blue centre: a test draws what the network shall say."""
    folder = FOLDER.parent / "Models" / "coloured-maps"
    folder.mkdir(parents=True, exist_ok=True)
    extents = [1, 3, "height", "width"]
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1), "weight")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "weight"], ["maps"], kernel_shape=[1, 1])],
        "coloured-maps",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, extents)],
        [helper.make_tensor_value_info("maps", TensorProto.FLOAT, extents)],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content = model.SerializeToString()
    (folder / "network.onnx").write_bytes(content)
    files = [{"path": "network.onnx", "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}]
    document = {
        "schemaVersion": 2,
        "id": "coloured-maps",
        "name": "Coloured maps",
        "version": "1",
        "licence": "Apache-2.0",
        "task": "photo-instances",
        "files": files,
        "photoInstances": {
            "network": "network.onnx",
            "input": {
                "longSide": 160,
                "multiple": 32,
                "minimumSide": 20,
                "mean": [0, 0, 0],
                "standardDeviation": [1, 1, 1],
            },
            "output": {"kind": "maps", "activation": "none", "centre": True},
            "splitting": {"minimumArea": 20, "mergeBoundary": 0.3},
            "classes": [{"name": "book", "color": "#0072B2"}],
            "maxInstances": 50,
        },
    }
    (folder / "model.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    masks()
    maps()
    coloured_maps()
