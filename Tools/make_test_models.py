"""Writes tiny synthetic model packages for tests into Tests/Fixtures/Models.

    python Tools/make_test_models.py

- `threshold`: logits [0.5, x] by one 1x1x1 convolution, so label 1 is where the voxel value is above 0.5.
- `classes-4`, `classes-16`, `classes-64`: one 3x3x3 convolution (zero padding 1) to that many logits, background
  included, with fixed random weights.

The same script gives the same bytes.
"""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from model_package import label, recipe, write_package

FOLDER = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "Models"


def convolution(patch: int, weights: NDArray[np.float32], bias: NDArray[np.float32]) -> onnx.ModelProto:
    """A graph of one Conv: input (1, 1, patch, patch, patch), weights (classes, 1, k, k, k), padding k // 2."""
    kernel = weights.shape[2]
    node = helper.make_node(
        "Conv", ["input", "weight", "bias"], ["logits"], name="conv", kernel_shape=[kernel] * 3, pads=[kernel // 2] * 6
    )
    graph = helper.make_graph(
        [node],
        "synthetic",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, patch, patch, patch])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, len(weights), patch, patch, patch])],
        [numpy_helper.from_array(weights, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def color(index: int) -> str:
    """Well-spread colours by turning the hue by the golden ratio."""
    red, green, blue = colorsys.hsv_to_rgb(
        index * 0.618034 % 1.0, 0.55 + 0.4 * (index % 2), 0.95 - 0.3 * (index % 3) / 2
    )
    return f"#{round(red * 255):02X}{round(green * 255):02X}{round(blue * 255):02X}"


def write(
    name: str, title: str, patch: int, spacing: list[float] | None, labels: list[str], model: onnx.ModelProto
) -> None:
    """Writes one package whose labels are numbered from 1."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "network.onnx").write_bytes(model.SerializeToString(deterministic=True))
    manifest = {
        "id": name,
        "name": title,
        "description": "Synthetic, for tests only, no medical use.",
        "version": "1.0.0",
        "modalities": ["CT", "MR"],
        "channels": [{"name": "image", "normalization": {"scheme": "none"}}],
        "labels": [label(value, text, color(value)) for value, text in enumerate(labels, start=1)],
        "volumeSegmentation": recipe("stored", spacing, [patch] * 3),
    }
    write_package(folder, manifest, ["network.onnx"])


def main() -> None:
    threshold = convolution(
        16, np.array([0, 1], dtype=np.float32).reshape(2, 1, 1, 1, 1), np.array([0.5, 0], dtype=np.float32)
    )
    write("threshold", "Threshold at 0.5, synthetic", 16, [1.0, 1.0, 1.0], ["above"], threshold)
    for classes in (4, 16, 64):
        rng = np.random.default_rng([0xC1A5, classes])
        weights = (rng.standard_normal((classes, 1, 3, 3, 3)) / 27**0.5).astype(np.float32)
        bias = (rng.standard_normal(classes) * 0.1).astype(np.float32)
        names = [f"class_{value}" for value in range(1, classes)]
        write(
            f"classes-{classes}",
            f"{classes} random classes, synthetic",
            32,
            None,
            names,
            convolution(32, weights, bias),
        )


if __name__ == "__main__":
    main()
