"""Volumes, networks and program packages of realistic size with random weights, for the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import nn

from nocturne_tools.model_package import label, recipe, write_package

CT = {"scheme": "ct", "lowerBound": -1000, "upperBound": 1000, "mean": 0, "standardDeviation": 300}
# What the benchmarks leave out, since other programs do not make it.
NOTHING_MORE = ["--meshes", "none", "--preview", "none", "--quiet"]


def body(path: Path, slices: int = 400, side: int = 512, varied: bool = False) -> None:
    """A CT of an ellipse of tissue with noise in air: side x side x slices voxels, 0.8 mm at 512, slices of 1.5 mm.

    With `varied` the tissue's intensities change slowly as well, by 100 HU, so that made weights find connected labels.
    """
    rng = np.random.default_rng(5)
    x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    inside = (x / 0.85) ** 2 + (y / 0.6) ** 2 < 1
    spacing = (0.8 * 512 / side, 0.8 * 512 / side, 1.5)
    volume = np.full((side, side, slices), -1000, dtype=np.int16)
    field = slow_field(volume.shape, spacing) if varied else None
    for k in range(slices):
        volume[..., k][inside] = 40 + 30 * rng.standard_normal(int(inside.sum()))
        if field is not None:
            volume[..., k][inside] += field[..., k][inside]
    nib.save(nib.Nifti1Image(volume, np.diag([*spacing, 1])), path)


def varied_patch(side: int) -> NDArray[np.float32]:
    """A cube (i, j, k) of 1.5 mm like the tissue of a varied body, an eighth of it air."""
    image = 40 + slow_field((side,) * 3, (1.5,) * 3) + 15 * np.random.default_rng(7).standard_normal((side,) * 3)
    image[:, : side // 8] = -1000
    return image.astype(np.float32)


def slow_field(shape: tuple[int, ...], spacing: tuple[float, ...]) -> NDArray[np.int16]:
    """HU around 0 with a standard deviation of 100 that change over about 20 mm: smoothed noise of 6 mm, enlarged."""
    coarse = [max(2, round(size * step / 6)) for size, step in zip(shape, spacing)]
    field = ndimage.gaussian_filter(np.random.default_rng(6).standard_normal(coarse), 3)
    field *= 100 / field.std()
    zoom = [size / part for size, part in zip(shape, field.shape)]
    return ndimage.zoom(field, zoom, output=np.int16, order=1)


def stages(features: int) -> list[int]:
    """The channels of six stages, as nnU-Net plans them: doubled up to 320."""
    return [min(features * 2**stage, 320) for stage in range(6)]


def package(
    folder: Path,
    name: str,
    network: nn.Module,
    labels: list[str],
    settings: dict[str, Any],
    channel: dict[str, Any] = CT,
) -> None:
    """Writes a network of one channel as a package with these settings; its classes are the background and `labels`."""
    folder.mkdir(parents=True)
    x = torch.zeros(1, 1, *settings["patchSize"])
    names: dict[str, Any] = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(network.eval(), (x,), str(folder / "network.onnx"), **names, opset_version=17, dynamo=False)
    manifest = {**facts(name, labels, channel), "volumeSegmentation": settings}
    write_package(folder, manifest, ["network.onnx"])


def facts(name: str, labels: list[str], channel: dict[str, Any]) -> dict[str, Any]:
    """The head of `model.json`; the values of the labels begin with 1."""
    return {
        "id": name.lower().replace(" ", "-"),
        "name": name,
        "description": "Random weights, for benchmarks.",
        "version": "1",
        "modalities": ["CT"],
        "channels": [{"name": "CT", "normalization": channel}],
        "labels": [label(value, title, "#D55E00") for value, title in enumerate(labels, start=1)],
    }


def tiled(spacing: float, patch: int, step: float) -> dict[str, Any]:
    """A recipe with cubes as voxels (mm) and patches."""
    return {**recipe("RAS", [spacing] * 3, [patch] * 3), "tileStep": step}


def grid(spacing: float) -> dict[str, Any]:
    """A program's grid as TotalSegmentator has it."""
    resampling = {"method": "zoom", "order": 1, "truncates": True}
    return {"orientation": "RAS", "spacing": [spacing] * 3, "resampling": resampling}


def run_command(nocturne: str, volume: Path, model: Path, out: Path, threads: int) -> list[str]:
    """Runs a package over a volume, and writes the label map with its measures alone."""
    command = [nocturne, "run", str(volume), "--model", str(model), "--output", str(out), *NOTHING_MORE]
    return [*command, "--threads", str(threads)]
