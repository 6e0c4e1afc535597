"""The whole segmentation pipeline in plain NumPy, for training, evaluation and comparison with Nocturne.

Volumes are (i, j, k) arrays with an affine to RAS+ mm; they are turned to RAS and transposed to network axis order
(z, y, x). Everything is float32. Steps: orient, normalise, resample linearly to the model's spacing, pad, sliding
window, resample the logits to the native grid, arg-max, keep the largest component and fill holes, orient back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Volume = NDArray[np.float32]
Shape = tuple[int, ...]
Network = Callable[[Volume], Volume]  # (1, 1, z, y, x) -> (1, classes, z, y, x)


def load_network(path: Path, threads: int) -> Network:
    """An ONNX Runtime session as a function (1, 1, z, y, x) -> (1, classes, z, y, x)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda tile: session.run(["logits"], {"input": tile})[0]


def dice(first: NDArray[np.uint8], second: NDArray[np.uint8], value: int) -> float:
    """Dice of one label; 1 when both are empty."""
    a, b = first == value, second == value
    size = int(a.sum() + b.sum())
    return 2 * int((a & b).sum()) / size if size else 1.0


def to_network_axes(array: NDArray, affine: NDArray[np.float64]) -> tuple[NDArray, tuple[float, float, float], NDArray]:
    """(i, j, k) -> (z, y, x) along the nearest RAS axes, with the spacing (z, y, x) in mm and the orientation used."""
    orientation = nib.io_orientation(affine)
    turned = nib.apply_orientation(array, orientation).transpose(2, 1, 0)
    spacing = np.empty(3)
    spacing[orientation[:, 0].astype(int)] = np.linalg.norm(affine[:3, :3], axis=0)
    return turned, (float(spacing[2]), float(spacing[1]), float(spacing[0])), orientation


def from_network_axes(array: NDArray, orientation: NDArray) -> NDArray:
    """(z, y, x) along RAS -> the stored (i, j, k) order; undoes `to_network_axes`."""
    back = nib.orientations.ornt_transform(np.array([[0, 1], [1, 1], [2, 1]]), orientation)
    return nib.apply_orientation(array.transpose(2, 1, 0), back)


def normalise(volume: NDArray, normalization: dict[str, Any]) -> Volume:
    """Normalises one channel by the scheme of the model package."""
    values = volume.astype(np.float32)
    match normalization["scheme"]:
        case "ct":
            values = np.clip(values, normalization["lowerBound"], normalization["upperBound"])
            return (values - np.float32(normalization["mean"])) / np.float32(normalization["standardDeviation"])
        case "zScore":
            return (values - values.mean()) / max(values.std(), np.float32(1e-8))
        case "rescale01":
            return (values - values.min()) / max(values.max() - values.min(), np.float32(1e-8))
        case "none":
            return values
    raise ValueError(f"unknown scheme {normalization['scheme']}")


def resampled_shape(shape: Shape, old: tuple[float, ...], new: tuple[float, ...]) -> Shape:
    """round_half_even(old / new * n) for every axis, at least 1."""
    return tuple(max(1, int(np.round(o / w * n))) for n, o, w in zip(shape, old, new))


def resample_linear(volume: Volume, shape: Shape) -> Volume:
    """Linear over the last three axes: u(k) = (k + 0.5) * n / m - 0.5, edge-clamped, no anti-aliasing."""
    result = volume
    for axis, m in zip((-3, -2, -1), shape):
        n = result.shape[axis]
        if n == m:
            continue
        u = np.clip((np.arange(m) + 0.5) * n / m - 0.5, 0, n - 1)
        low = np.minimum(u.astype(int), n - 1)
        high = np.minimum(low + 1, n - 1)
        weight = (u - low).astype(np.float32).reshape([-1] + [1] * (-1 - axis))
        result = result.take(low, axis) * (1 - weight) + result.take(high, axis) * weight
    return np.ascontiguousarray(result, dtype=np.float32)


def tile_starts(n: int, t: int, step: float) -> list[int]:
    """First voxels of the tiles of size `t` along an axis of `n` >= t voxels."""
    k = int(np.ceil((n - t) / (t * step))) + 1
    return [0] if k == 1 else [int(np.round(i * (n - t) / (k - 1))) for i in range(k)]


def importance(patch: Shape) -> Volume:
    """Gaussian weights of a tile: sigma = t / 8, the peak scaled to 10, zeros replaced by the smallest weight."""
    peak = np.zeros(patch, dtype=np.float32)
    peak[tuple(t // 2 for t in patch)] = 1
    weights = ndimage.gaussian_filter(peak, [t / 8 for t in patch], mode="constant", cval=0)
    weights *= 10 / weights.max()
    weights[weights == 0] = weights[weights > 0].min()
    return weights.astype(np.float32)


def slide(volume: Volume, network: Network, patch: Shape, step: float) -> Volume:
    """Logits (classes, z, y, x) of `volume` (z, y, x); shorter axes are padded on both sides with 0."""
    short = [max(0, t - n) for n, t in zip(volume.shape, patch)]
    padded = np.pad(volume, [(s // 2, s - s // 2) for s in short])
    weights = importance(patch)
    total, weight = None, np.zeros(padded.shape, dtype=np.float32)
    for z in tile_starts(padded.shape[0], patch[0], step):
        for y in tile_starts(padded.shape[1], patch[1], step):
            for x in tile_starts(padded.shape[2], patch[2], step):
                tile = (slice(z, z + patch[0]), slice(y, y + patch[1]), slice(x, x + patch[2]))
                logits = network(np.ascontiguousarray(padded[tile])[None, None])[0]
                if total is None:
                    total = np.zeros((len(logits), *padded.shape), dtype=np.float32)
                total[(slice(None), *tile)] += logits * weights
                weight[tile] += weights
    total /= weight
    inner = tuple(slice(s // 2, s // 2 + n) for s, n in zip(short, volume.shape))
    return total[(slice(None), *inner)]


def keep_largest(labels: NDArray[np.uint8], value: int) -> None:
    """Keeps the largest 26-connected component of one label, in place; of equals the first in scan order."""
    components, count = ndimage.label(labels == value, np.ones((3, 3, 3)))
    if count > 1:
        sizes = np.bincount(components.ravel())[1:]
        labels[(components > 0) & (components != 1 + int(np.argmax(sizes)))] = 0


def fill_holes(labels: NDArray[np.uint8], value: int) -> None:
    """Gives enclosed background (6-connected, 3-D) to the label around it, in place."""
    filled = ndimage.binary_fill_holes(labels == value)
    labels[filled & (labels == 0)] = value


def postprocess(labels: NDArray[np.uint8], values: dict[str, int], rules: dict[str, Any]) -> None:
    """Applies the package's rules to a label map, in place: largest component first, then holes."""
    for name in rules.get("keepLargest", []):
        keep_largest(labels, values[name])
    for name in rules.get("fillHoles", []):
        fill_holes(labels, values[name])


def segment_logits(
    volume: NDArray, affine: NDArray[np.float64], manifest: dict[str, Any], network: Network
) -> tuple[Volume, NDArray]:
    """Logits (classes, z, y, x) on the native grid turned to RAS, and the orientation to turn them back."""
    recipe = manifest["volumeSegmentation"]
    if recipe["orientation"] == "stored":
        affine = np.diag([*np.linalg.norm(affine[:3, :3], axis=0), 1.0])
    turned, spacing, orientation = to_network_axes(volume, affine)
    image = normalise(turned, manifest["channels"][0]["normalization"])
    target = recipe["spacing"] or spacing
    image = resample_linear(image, resampled_shape(image.shape, spacing, target))
    logits = slide(image, network, tuple(recipe["patchSize"]), recipe["tileStep"])
    return resample_linear(logits, turned.shape), orientation


def segment(
    volume: NDArray, affine: NDArray[np.float64], manifest: dict[str, Any], network: Network
) -> NDArray[np.uint8]:
    """The label map (i, j, k) of one volume (i, j, k); among equal logits the lowest label wins."""
    logits, orientation = segment_logits(volume, affine, manifest, network)
    labels = np.argmax(logits, axis=0).astype(np.uint8)
    values = {label["name"]: label["value"] for label in manifest["labels"]}
    postprocess(labels, values, manifest["volumeSegmentation"]["postprocessing"])
    return from_network_axes(labels, orientation)
