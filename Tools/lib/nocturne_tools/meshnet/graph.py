"""Writes a MeshNet as ONNX, turned from brainchop's axes to those of model packages.

Brainchop conforms a volume to FreeSurfer's axes: i to the left, j downwards, k forwards ("LIA"). TensorFlow.js gets the
array as (k, j, i) and transposes it: depth, height and width of the kernels are (left, down, forward). A package with
the orientation RAS gets (z, y, x) = (up, forward, right). Turning the kernels is exact: all are odd and padded equally.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from .layers import EPSILON, Array, Convolution, MeshNet

OPSET = 17
# Axis a of the package is axis ORDER[a] of brainchop, reversed where FLIPPED: up is height reversed, forward is width,
# right is depth reversed.
ORDER = (1, 2, 0)
FLIPPED = (True, False, True)


def to_package(volume: NDArray) -> NDArray:
    """(left, down, forward) -> (up, forward, right), for the first three axes."""
    turned = volume.transpose(*ORDER, *range(3, volume.ndim))
    return turned[tuple(slice(None, None, -1 if flipped else 1) for flipped in FLIPPED)]


def from_package(volume: NDArray) -> NDArray:
    """Undoes `to_package` for a volume."""
    back = volume[tuple(slice(None, None, -1 if flipped else 1) for flipped in FLIPPED)]
    return back.transpose(*np.argsort(ORDER))


def turned_kernel(kernel: Array) -> Array:
    """(depth, height, width, inputs, outputs) -> ONNX's (outputs, inputs, z, y, x)."""
    return np.ascontiguousarray(to_package(kernel).transpose(4, 3, 0, 1, 2))


class _Writer:
    """Collects nodes and constants; `value` is the name of the last output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.value = "input"

    def constant(self, name: str, array: NDArray | float) -> str:
        self.constants[name] = numpy_helper.from_array(np.asarray(array, dtype=np.float32), name)
        return name

    def add(self, kind: str, name: str, *constants: str, **attributes: object) -> None:
        """A node that takes the value and constants."""
        self.nodes.append(helper.make_node(kind, [self.value, *constants], [name], name=name, **attributes))
        self.value = name

    def gelu(self, name: str) -> None:
        """x · 0.5 · (1 + erf(x / √2)), which TensorFlow.js calls gelu."""
        value = self.value
        self.add("Div", f"{name}_scaled", self.constant("root_of_two", np.sqrt(2)))
        self.add("Erf", f"{name}_erf")
        self.add("Add", f"{name}_sum", self.constant("one", 1))
        self.nodes.append(helper.make_node("Mul", [value, self.value], [f"{name}_product"], name=f"{name}_product"))
        self.value = f"{name}_product"
        self.add("Mul", name, self.constant("half", 0.5))


def _add(writer: _Writer, name: str, layer: Convolution) -> None:
    """The nodes of one layer; the last one is called `name`."""
    margin = [layer.margin[axis] for axis in ORDER]
    names = [writer.constant(f"{name}_kernel", turned_kernel(layer.kernel))]
    if layer.bias is not None:
        names.append(writer.constant(f"{name}_bias", layer.bias))
    plain = not layer.normalised and layer.activation == "linear"
    writer.add(
        "Conv",
        name if plain else f"{name}_convolution",
        *names,
        kernel_shape=[layer.kernel.shape[axis] for axis in ORDER],
        dilations=[layer.dilation[axis] for axis in ORDER],
        pads=margin + margin,
    )
    if layer.normalised:
        channels = layer.kernel.shape[4]
        ones = writer.constant(f"ones_{channels}", np.ones(channels))
        zeros = writer.constant(f"zeros_{channels}", np.zeros(channels))
        last = name if layer.activation == "linear" else f"{name}_normalisation"
        writer.add("InstanceNormalization", last, ones, zeros, epsilon=EPSILON)
    if layer.activation == "gelu":
        writer.gelu(name)
    elif layer.activation != "linear":
        writer.add({"relu": "Relu", "elu": "Elu"}[layer.activation], name)


def build(network: MeshNet) -> onnx.ModelProto:
    """The graph from `input` (1, 1, z, y, x) of any extents to `logits` (1, classes, z, y, x)."""
    writer = _Writer()
    for number, layer in enumerate(network.layers, 1):
        _add(writer, "logits" if number == len(network.layers) else f"layer_{number}", layer)
    graph = helper.make_graph(
        writer.nodes,
        "meshnet",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, *"zyx"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, network.classes, *"zyx"])],
        list(writer.constants.values()),
    )
    model = helper.make_model(graph, producer_name="nocturne", opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 8  # of this opset, whatever the installed library would write
    onnx.checker.check_model(model, full_check=True)
    return model


def write(network: MeshNet, file: Path) -> None:
    file.write_bytes(build(network).SerializeToString(deterministic=True))
