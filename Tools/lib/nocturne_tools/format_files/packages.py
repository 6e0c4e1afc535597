"""Model packages for the comparison of readers: one finds the voxels above 0.5, one finds nothing in photos."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from nocturne_tools.model_package import file_entry
from nocturne_tools.paths import FIXTURES, THRESHOLD_MODEL


def write_threshold(folder: Path) -> Path:
    """The package of the tests, without resampling."""
    shutil.copytree(THRESHOLD_MODEL, folder)
    document = json.loads((folder / "model.json").read_text())
    document["volumeSegmentation"]["spacing"] = None
    (folder / "model.json").write_text(json.dumps(document))
    return folder


def write_nothing(folder: Path) -> Path:
    """A package for instances in photos of any size whose maps are zero."""
    folder.mkdir()
    extents = [1, 3, "height", "width"]
    weight = numpy_helper.from_array(np.zeros((3, 3, 1, 1), np.float32), "weight")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "weight"], ["maps"], kernel_shape=[1, 1])],
        "nothing",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, extents)],
        [helper.make_tensor_value_info("maps", TensorProto.FLOAT, extents)],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "network.onnx").write_bytes(model.SerializeToString())
    document = json.loads((FIXTURES / "Models/coloured-maps/model.json").read_text())
    document |= {"id": "nothing", "files": [file_entry(folder, "network.onnx")]}
    document["photoInstances"]["input"]["minimumSide"] = 1
    (folder / "model.json").write_text(json.dumps(document))
    return folder
