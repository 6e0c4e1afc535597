"""A second implementation of program packages: what `model.json` says, with NumPy, nibabel and nnU-Net's own predictor.

It runs the trained folders instead of the ONNX files, so that nothing but the arithmetic around the networks can differ
from TotalSegmentator's label maps.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import torch
from nibabel.orientations import apply_orientation, axcodes2ornt, io_orientation, ornt_transform
from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor
from numpy.typing import NDArray
from scipy import ndimage

from nocturne_tools import zoom_reference

Labels = NDArray[np.uint8]


def spacing_of(affine: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of the columns in single precision, as nibabel writes them into a new header."""
    linear = affine[:3, :3]
    return np.sqrt(np.sum(linear * linear, axis=0)).astype(np.float32).astype(np.float64)


def read(package: Path) -> dict[str, Any]:
    return json.loads((package / "model.json").read_text())


@dataclass
class Interpreter:
    """One package, and the folder of weights from which it was exported."""

    package: Path
    weights: Path

    def predict(self, volume: Path) -> Labels:
        """The label map on the grid of the volume."""
        program = read(self.package)["volumeProgram"]
        image = nib.load(volume)
        voxels, affine = image.get_fdata(), image.affine
        result = np.zeros(voxels.shape, dtype=np.uint8)
        box = tuple(slice(0, size) for size in voxels.shape)
        if "region" in program:
            found = self._box(program["region"], voxels, affine)
            if found is None:
                return result
            box = found
            voxels = zoom_reference.truncated(voxels[box]).astype(np.float64)
        result[box] = self._labels(program["grid"], program["parts"], voxels, affine)
        return result

    def _box(self, region: dict[str, Any], voxels: NDArray, affine: NDArray) -> tuple[slice, ...] | None:
        """The box of the region's labels with its margin, or None without any."""
        entries = read(self.package / region["package"])["labels"]
        values = {entry["name"]: entry["value"] for entry in entries}
        parts = [{"packages": [region["package"]], "labels": {str(value): value for value in values.values()}}]
        labels = self._labels(region["grid"], parts, voxels, affine)
        places = np.nonzero(np.isin(labels, [values[name] for name in region["labels"]]))
        if not len(places[0]):
            return None
        margins = (region["marginMm"] / spacing_of(affine)).astype(int)
        sides = [(int(place.min()) - margin, int(place.max()) + 1 + margin) for place, margin in zip(places, margins)]
        return tuple(slice(max(0, low), min(size, high)) for (low, high), size in zip(sides, voxels.shape))

    def _labels(self, grid: dict[str, Any], parts: list[dict[str, Any]], voxels: NDArray, affine: NDArray) -> Labels:
        """The merged labels of the parts on the grid of `voxels`."""
        order = io_orientation(affine)
        canonical = apply_orientation(voxels, order)
        spacing = np.empty(3)
        spacing[order[:, 0].astype(int)] = spacing_of(affine)
        image = canonical
        wanted = np.array(grid["spacing"][::-1]) if "spacing" in grid else spacing
        if not np.array_equal(spacing, wanted):
            zoom = spacing / wanted
            target = zoom_reference.zoomed_shape(canonical.shape, zoom)
            image = zoom_reference.truncated(zoom_reference.linear_zoom(canonical, target))
        merged = np.zeros(image.shape, dtype=np.uint8)
        for part in parts:
            table = np.zeros(256, dtype=np.uint8)
            for value, final in part["labels"].items():
                table[int(value)] = final
            found = table[self._part(self.package / part["packages"][0], image, wanted)]
            np.copyto(merged, found, where=found != 0)
        back = zoom_reference.nearest_zoom(merged, canonical.shape)
        return apply_orientation(back, ornt_transform(axcodes2ornt("RAS"), order))

    def _part(self, package: Path, image: NDArray, spacing: NDArray) -> Labels:
        """The labels of one network; all arrays are (x, y, z), nnU-Net's (z, y, x)."""
        manifest = read(package)
        settings = manifest["volumeSegmentation"]
        dataset = re.search(r"dataset (\d+)", manifest["name"])
        assert dataset is not None
        folder = next(next(self.weights.glob(f"Dataset{int(dataset[1]):03d}_*")).glob("*__*__*"))
        folds = [int(name.removeprefix("fold_").removesuffix(".onnx")) for name in settings["networks"]]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            predictor = nnUNetPredictor(
                tile_step_size=settings["tileStep"],
                use_mirroring=bool(settings["mirroringAxes"]),
                perform_everything_on_device=False,
                device=torch.device("cpu"),
                allow_tqdm=False,
            )
            predictor.initialize_from_trained_model_folder(str(folder), tuple(folds))
            data = image.transpose(2, 1, 0)[None].astype(np.float32)
            found = predictor.predict_single_npy_array(data, {"spacing": [float(n) for n in spacing[::-1]]})
        labels = np.asarray(found).transpose(2, 1, 0).astype(np.uint8)
        values = {entry["name"]: entry["value"] for entry in manifest["labels"]}
        return cleaned(labels, settings["postprocessing"], values, float(np.prod(spacing)))


def cleaned(labels: Labels, rules: dict[str, Any], values: dict[str, int], voxel_volume: float) -> Labels:
    """Largest components and least volumes, joined by faces."""
    labels = labels.copy()
    for name in rules["keepLargest"]:
        components, count = ndimage.label(labels == values[name])
        if count:
            largest = np.bincount(components.ravel())[1:].argmax() + 1
            labels[(components != 0) & (components != largest)] = 0
    for name, least in rules["minimumVolumeMm3"].items():
        components, count = ndimage.label(labels == values[name])
        small = np.flatnonzero(np.bincount(components.ravel(), minlength=count + 1) * voxel_volume < least)
        labels[(components != 0) & np.isin(components, small)] = 0
    return labels
