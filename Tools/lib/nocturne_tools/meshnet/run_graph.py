"""Runs the graph of a package with PyTorch, one node at a time, so that a volume of 256 x 256 x 256 fits into memory.

ONNX Runtime would need the kernel's size times the input for each convolution with dilation.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from torch import Tensor
from torch.nn import functional

from .layers import Array

SLAB = 16


def predict(file: Path, image: Array) -> NDArray[np.uint8]:
    """The class with the largest logit at each voxel of `image` (z, y, x); the lowest of equals."""
    graph = onnx.load(file).graph
    constants = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in graph.initializer}
    values = {"input": torch.from_numpy(np.ascontiguousarray(image))[None, None]}
    *nodes, last = graph.node
    uses = Counter(name for node in graph.node for name in node.input)
    with torch.inference_mode():
        for node in nodes:
            inputs = [constants[name] if name in constants else values[name] for name in node.input]
            uses.subtract(node.input)
            result = _apply(node, inputs)
            for name in node.input:
                if not uses[name]:
                    values.pop(name, None)
            del inputs
            values[node.output[0]] = result
        x, weights = values[last.input[0]], [constants[name] for name in last.input[1:]]
        slabs = [
            functional.conv3d(x[:, :, start : start + SLAB], *weights).argmax(dim=1)[0].to(torch.uint8)
            for start in range(0, x.shape[2], SLAB)
        ]
        return torch.cat(slabs).numpy()


def _apply(node: onnx.NodeProto, inputs: list[Tensor]) -> Tensor:
    attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    match node.op_type:
        case "Conv":
            pads, dilations = attributes["pads"], attributes["dilations"]
            return functional.conv3d(*inputs, padding=tuple(pads[:3]), dilation=tuple(dilations))
        case "InstanceNormalization":
            return functional.instance_norm(inputs[0], None, None, *inputs[1:], eps=attributes["epsilon"])
        case "Relu":
            return torch.relu_(inputs[0])
        case "Elu":
            return functional.elu(inputs[0], inplace=True)
        case "Erf":
            return torch.erf_(inputs[0])
        case "Div":
            return inputs[0] / inputs[1]
        case "Add":
            return inputs[0].add_(inputs[1])
        case "Mul":
            return inputs[0].mul_(inputs[1])
    raise ValueError(f"{node.name} is {node.op_type}, which packages of this exporter do not have")
