"""Reads a MeshNet in TensorFlow.js's layers format: model.json and the weights beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nocturne_tools.nnunet.refusal import Refusal, listed

Array = NDArray[np.float32]

ACTIVATIONS = ("linear", "relu", "elu", "gelu")
# A convolution whose name ends so is followed by a normalisation of each channel, which the file does not mention.
NORMALISED = "_gn"
# Of brainchop's `LayerNormInPlace`: mean and population variance of each channel over the volume, no scale, no shift.
EPSILON = 1e-5
# What a convolution may not say otherwise.
FIXED = {"strides": [1, 1, 1], "padding": "same", "data_format": "channels_last", "groups": 1}


@dataclass(frozen=True)
class Convolution:
    """One convolution with what follows it: the normalisation, then the activation."""

    name: str
    kernel: Array  # depth, height, width, inputs, outputs
    bias: Array | None
    dilation: tuple[int, int, int]  # depth, height, width
    normalised: bool
    activation: str

    @property
    def margin(self) -> tuple[int, ...]:
        """The zeros on either side that keep the extents."""
        return tuple(d * (n // 2) for d, n in zip(self.dilation, self.kernel.shape))


@dataclass(frozen=True)
class MeshNet:
    """The layers in their order. `file` is model.json, for messages."""

    file: Path
    layers: list[Convolution]

    @property
    def classes(self) -> int:
        return self.layers[-1].kernel.shape[-1]

    @property
    def extents(self) -> tuple[int, ...]:
        """How far an output voxel sees, along each axis."""
        return tuple(1 + 2 * sum(layer.margin[axis] for layer in self.layers) for axis in range(3))


def read(folder: Path) -> MeshNet:
    """The network of a folder; anything unknown is refused by name."""
    file = folder / "model.json"
    if not file.is_file():
        raise Refusal(file, "is missing; name the folder of one model, as in brainchop's public/models")
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Refusal(file, f"is not valid JSON ({error})") from None
    if document.get("format") != "layers-model":
        raise Refusal(file, f"has the format {document.get('format')}, expected layers-model")
    weights = _weights(file, document.get("weightsManifest", []))
    entries = document["modelTopology"]["model_config"]["config"]["layers"]
    network = MeshNet(file, _layers(file, entries, weights))
    if weights:
        raise Refusal(file, f"has weights of no layer: {listed(weights)}")
    return network


def _weights(file: Path, manifest: list[dict[str, Any]]) -> dict[str, Array]:
    """The arrays of all groups by name; the files of a group are one sequence of bytes."""
    found: dict[str, Array] = {}
    for group in manifest:
        content = b""
        for name in group["paths"]:
            path = file.parent / name
            if Path(name).name != name or not path.is_file():
                raise Refusal(file, f"names the weights {name}, which are not beside it")
            content += path.read_bytes()
        place = 0
        for entry in group["weights"]:
            if entry["dtype"] != "float32" or "quantization" in entry:
                raise Refusal(file, f"{entry['name']} is not plain float32")
            count = int(np.prod(entry["shape"], dtype=np.int64))
            if place + 4 * count > len(content):
                raise Refusal(file, f"{entry['name']} ends after the weights in {listed(group['paths'])}")
            found[entry["name"]] = np.frombuffer(content, "<f4", count, place).reshape(entry["shape"])
            place += 4 * count
        if place != len(content):
            raise Refusal(file, f"describes {place} bytes, but {listed(group['paths'])} has {len(content)}")
    for name, array in found.items():
        if not np.isfinite(array).all():
            raise Refusal(file, f"{name} has values that are not finite")
    return found


def _layers(file: Path, entries: list[dict[str, Any]], weights: dict[str, Array]) -> list[Convolution]:
    """The layers; each must take the output of the one before. Takes what it uses from `weights`."""
    layers: list[Convolution] = []
    before = None
    for entry in entries:
        kind, settings = entry["class_name"], entry["config"]
        name = settings["name"]
        sources = [node[0] for nodes in entry.get("inbound_nodes", []) for node in nodes]
        if sources != ([] if before is None else [before]):
            raise Refusal(file, f"layer {name} takes {listed(sources) or 'nothing'}, expected {before or 'nothing'}")
        before = name
        if kind == "Conv3D":
            layers.append(_convolution(file, settings, weights))
        elif kind == "Activation" and layers and layers[-1].activation == "linear":
            layers[-1] = Convolution(**{**vars(layers[-1]), "activation": _activation(file, settings)})
        elif kind != "InputLayer" or layers:
            known = "InputLayer, Conv3D, and Activation after a Conv3D"
            raise Refusal(file, f"layer {name} is {kind} in a place that MeshNet does not have; known: {known}")
    if not layers:
        raise Refusal(file, "has no Conv3D")
    channels = 1
    for layer in layers:
        if layer.kernel.shape[3] != channels:
            raise Refusal(file, f"layer {layer.name} takes {layer.kernel.shape[3]} channels, there are {channels}")
        channels = layer.kernel.shape[4]
    last = layers[-1]
    if last.activation != "linear" or last.normalised or last.kernel.shape[:3] != (1, 1, 1):
        raise Refusal(file, f"the last layer {last.name} is not a plain convolution of 1 x 1 x 1")
    return layers


def _activation(file: Path, settings: dict[str, Any]) -> str:
    name = settings["activation"]
    if name not in ACTIVATIONS:
        raise Refusal(file, f"layer {settings['name']} has the activation {name}; known: {', '.join(ACTIVATIONS)}")
    if settings.get("alpha", 1) != 1:
        raise Refusal(file, f"layer {settings['name']} has alpha {settings['alpha']}, expected 1")
    return name


def _convolution(file: Path, settings: dict[str, Any], weights: dict[str, Array]) -> Convolution:
    name = settings["name"]
    for key, expected in FIXED.items():
        value = settings.get(key)
        if value is not None and value != expected:
            raise Refusal(file, f"layer {name} has {key} {value}, expected {expected}")
    kernel = weights.pop(f"{name}/kernel", None)
    bias = weights.pop(f"{name}/bias", None)
    if kernel is None or (bias is None) == settings["use_bias"]:
        raise Refusal(file, f"layer {name} lacks weights, or has a bias that it does not use")
    size, filters = settings["kernel_size"], settings["filters"]
    if kernel.ndim != 5 or list(kernel.shape[:3]) != size or kernel.shape[4] != filters:
        raise Refusal(
            file, f"layer {name}: kernel of shape {list(kernel.shape)}, expected {size} and {filters} filters"
        )
    if any(n % 2 == 0 for n in size):
        raise Refusal(file, f"layer {name} has the kernel {size}; only odd sizes keep their place when turned")
    if bias is not None and bias.shape != (filters,):
        raise Refusal(file, f"layer {name} has a bias of shape {list(bias.shape)}, expected [{filters}]")
    dilation = tuple(settings.get("dilation_rate", [1, 1, 1]))
    return Convolution(name, kernel, bias, dilation, name.endswith(NORMALISED), _activation(file, settings))
