"""Compares the written graph with the layers as read, on a small volume and in brainchop's own axes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from . import graph
from .layers import EPSILON, Convolution, MeshNet

# Depth, height and width, all different, so that no two axes can be mistaken for each other.
EXTENTS = (14, 18, 22)
LIMIT = 1e-4

Volume = NDArray[np.float64]


def difference(network: MeshNet) -> float:
    """ONNX Runtime against NumPy in double precision: the largest difference over the largest output."""
    volume = np.random.default_rng(0).random(EXTENTS).astype(np.float32)
    turned = np.ascontiguousarray(graph.to_package(volume))
    model = graph.build(network)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = session.run(["logits"], {"input": turned[None, None]})[0][0]
    expected = apply(network, volume.astype(np.float64))
    errors = [np.abs(graph.from_package(a) - b).max() for a, b in zip(found, np.moveaxis(expected, -1, 0))]
    return float(max(errors) / max(np.abs(expected).max(), 1e-30))


def apply(network: MeshNet, volume: Volume) -> Volume:
    """The outputs (depth, height, width, classes), computed term by term."""
    value = volume[..., None]
    for layer in network.layers:
        value = _convolved(value, layer)
        if layer.normalised:
            variance = value.var(axis=(0, 1, 2))
            value = (value - value.mean(axis=(0, 1, 2))) / np.sqrt(variance + EPSILON)
        value = _activated(value, layer.activation)
    return value


def _convolved(value: Volume, layer: Convolution) -> Volume:
    padded = np.pad(value, [(n, n) for n in layer.margin] + [(0, 0)])
    total = np.zeros((*value.shape[:3], layer.kernel.shape[4]))
    for place in itertools.product(*map(range, layer.kernel.shape[:3])):
        starts = [n * d for n, d in zip(place, layer.dilation)]
        window = padded[tuple(slice(start, start + n) for start, n in zip(starts, value.shape))]
        total += window @ layer.kernel[place].astype(np.float64)
    return total if layer.bias is None else total + layer.bias


def _activated(value: Volume, activation: str) -> Volume:
    match activation:
        case "relu":
            return np.maximum(value, 0)
        case "elu":
            return np.where(value > 0, value, np.expm1(np.minimum(value, 0)))
        case "gelu":
            return value * 0.5 * (1 + np.vectorize(math.erf)(value / math.sqrt(2)))
    return value
