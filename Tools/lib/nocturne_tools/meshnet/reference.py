"""What brainchop computes, in NumPy and PyTorch and without TensorFlow.js: from a conformed volume to its label map.

All volumes are conformed: voxels of 1 mm along (left, down, forward), in NIfTI's order (i, j, k) of such a file.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor
from torch.nn import functional

from .layers import EPSILON, Array, Convolution, MeshNet

SLAB = 16  # planes at a time in the last layer, whose outputs would be the largest tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: x,
    "relu": torch.relu_,
    "elu": lambda x: functional.elu(x, inplace=True),
    "gelu": lambda x: _by_channel(x, functional.gelu),
}


def _by_channel(x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Applies a function in place, with one channel of additional memory."""
    for channel in range(x.shape[1]):
        x[:, channel] = function(x[:, channel])
    return x


def _normalised(channel: Tensor) -> Tensor:
    """Minus the mean, divided by the root of the population variance plus epsilon; sums in double precision."""
    mean = channel.mean(dtype=torch.float64)
    variance = channel.to(torch.float64).sub_(mean).square_().mean()
    return ((channel - mean.float()) * torch.rsqrt(variance + EPSILON).float()).float()


def quantiles(volume: NDArray, lower: float, upper: float) -> tuple[float, float]:
    """Brainchop's: the voxels at the places floor(n · lower) and ceil(n · upper) - 1 in ascending order."""
    count = volume.size
    low, high = int(np.floor(count * lower)), int(np.ceil(count * upper)) - 1
    ordered = np.partition(volume.ravel(), (low, high))
    return float(ordered[low]), float(ordered[high])


def normalise(volume: NDArray, scheme: dict[str, object]) -> Array:
    """`rescale01`, or `quantiles` without clipping, over all voxels of the volume."""
    if scheme["scheme"] == "quantiles":
        low, high = quantiles(volume, scheme["lower"], scheme["upper"])
    else:
        low, high = float(volume.min()), float(volume.max())
    return (volume.astype(np.float32) - np.float32(low)) / np.float32(high - low)


def crop(image: Array, threshold: float, margin: int) -> tuple[slice, ...]:
    """Brainchop's box around the voxels above `threshold` times the largest, with a margin within the volume."""
    mask = image > threshold * image.max()
    boxes = []
    for axis in range(3):
        inside = np.flatnonzero(mask.any(axis=tuple(a for a in range(3) if a != axis)))
        boxes.append(slice(max(0, inside[0] - margin), min(image.shape[axis], inside[-1] + 1 + margin)))
    return tuple(boxes)


def logits(network: MeshNet, image: Array) -> Tensor:
    """The outputs (1, classes, …) for a normalised volume."""
    with torch.inference_mode():
        x, kernel, bias = _before_last(network, image)
        return functional.conv3d(x, kernel, bias)


def predict(network: MeshNet, image: Array) -> NDArray[np.uint8]:
    """The class with the largest output at each voxel; the lowest of equals."""
    with torch.inference_mode():
        x, kernel, bias = _before_last(network, image)
        slabs = [
            functional.conv3d(x[:, :, start : start + SLAB], kernel, bias).argmax(dim=1)[0].to(torch.uint8)
            for start in range(0, x.shape[2], SLAB)
        ]
        return torch.cat(slabs).numpy()


def _before_last(network: MeshNet, image: Array) -> tuple[Tensor, Tensor, Tensor | None]:
    """The input of the last layer, with that layer's kernel and bias. One layer's input and output exist at a time."""
    x = torch.from_numpy(np.ascontiguousarray(image))[None, None]
    for layer in network.layers[:-1]:
        x = functional.conv3d(x, *_weights(layer), padding=layer.margin, dilation=layer.dilation)
        if layer.normalised:
            _by_channel(x, _normalised)
        x = ACTIVATIONS[layer.activation](x)
    return x, *_weights(network.layers[-1])


def _weights(layer: Convolution) -> tuple[Tensor, Tensor | None]:
    kernel = torch.from_numpy(np.ascontiguousarray(layer.kernel.transpose(4, 3, 0, 1, 2)))
    return kernel, None if layer.bias is None else torch.from_numpy(layer.bias.copy())


def keep_largest(labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Keeps the largest component of all labels together (26 neighbours), the first of equals."""
    components, count = ndimage.label(labels > 0, np.ones((3, 3, 3)))
    if count < 2:
        return labels
    sizes = np.bincount(components.ravel())[1:]
    return np.where(components == 1 + int(np.argmax(sizes)), labels, 0).astype(np.uint8)
