"""Inputs and model packages for the proofs of memory, made once and kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from nocturne_tools.model_package import recipe, spline, write_package
from nocturne_tools.paths import SAMPLES
from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import render, save_nifti
from nocturne_tools.phantoms.write_dicom import SeriesOptions, write_series

if TYPE_CHECKING:
    import torch

Shape = tuple[int, int, int]
Maker = Callable[[], Path]
CT = {
    "name": "CT",
    "normalization": {"scheme": "ct", "lowerBound": -1000, "upperBound": 1000, "mean": 0, "standardDeviation": 200},
}
DESCRIPTION = "Random weights: for a proof of memory."


def class_labels(classes: int) -> list[dict[str, Any]]:
    """Labels class_1, class_2, … with colours of their own."""
    colors = [f"#{value * 69069 % 0xFFFFFF:06x}" for value in range(classes)]
    return [{"value": v, "name": f"class_{v}", "color": colors[v]} for v in range(1, classes)]


def write_network_package(
    folder: Path, network: torch.nn.Module, shape: tuple[int, ...], manifest: dict[str, Any]
) -> None:
    """Exports a network with a fixed input shape and writes the package around it."""
    import torch

    torch.onnx.export(
        network, (torch.zeros(shape),), folder / "network.onnx", dynamo=False, opset_version=17
    )
    common = {"description": DESCRIPTION, "version": "1", "modalities": []}
    write_package(folder, {**common, **manifest}, ["network.onnx"])


def repeated_phantom(seed: int, shape: Shape, coarse: Shape, flipped: bool) -> tuple[np.ndarray, np.ndarray]:
    """A phantom drawn on a coarse grid and repeated, since only the number of voxels matters: HU and affine."""
    extent = np.array((400.0, 400.0, 390.0))
    affine = np.diag([*(extent / np.array(coarse)), 1.0])
    affine[:3, 3] = -extent / 2 + np.array((0.0, 0.0, 30.0))
    if flipped:  # stored against RAS, so that labels have to be turned back
        affine[:3, 0] *= -1
        affine[0, 3] *= -1
    hu, _ = render(draw(seed), coarse, affine)
    for axis in range(3):
        places = np.minimum(np.arange(shape[axis]) * coarse[axis] // shape[axis], coarse[axis] - 1)
        hu = np.take(hu, places, axis)
    affine[:3, :3] *= np.array(coarse) / np.array(shape)
    return hu, affine


class Inputs:
    """Makers of inputs and packages below one folder; each makes its files at the first call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def phantom(self, shape: Shape, flipped: bool) -> tuple[np.ndarray, np.ndarray]:
        coarse = tuple(max(2, n // 4) for n in shape)
        hu, affine = repeated_phantom(905, shape, coarse, flipped)
        return hu.astype(np.int16), affine

    def _once(self, folder: Path, write: Callable[[Path], object]) -> Path:
        """The folder, written under another name first, so that it is there whole or not at all."""
        if not folder.exists():
            temporary = folder.with_name("part")
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            write(temporary)
            temporary.rename(folder)
        return folder

    def volume(self, shape: Shape, suffix: str = ".nii", flipped: bool = False, channels: int = 1) -> Maker:
        def write(folder: Path) -> None:
            hu, affine = self.phantom(shape, flipped)
            for channel in range(channels):
                name = "case" + (f"_{channel:04}" if channels > 1 else "") + suffix
                save_nifti(folder / name, hu, affine)

        name = "x".join(map(str, shape)) + ("-flipped" if flipped else "")
        return lambda: self._once(self.folder / f"{name}{suffix.replace('.', '-')}-{channels}", write)

    def series(self, shape: Shape) -> Maker:
        def write(folder: Path) -> None:
            hu, affine = self.phantom(shape, False)
            write_series(folder, hu, affine, SeriesOptions(seed=5))

        return lambda: self._once(self.folder / ("dicom-" + "x".join(map(str, shape))), write)

    def photo(self, megapixels: int, suffix: str = ".jpg") -> Maker:
        """A shelf of the samples, enlarged."""

        def write(folder: Path) -> None:
            with Image.open(sorted((SAMPLES / "Photos/shelves").glob("*.jpg"))[0]) as picture:
                factor = (megapixels * 1e6 / (picture.width * picture.height)) ** 0.5
                size = (int(picture.width * factor), int(picture.height * factor))
                picture.convert("RGB").resize(size).save(folder / f"photo{suffix}")

        return lambda: self._once(self.folder / f"photo-{megapixels}{suffix.replace('.', '-')}", write)

    def package(
        self, classes: int, patch: int = 64, channels: int = 1, native: bool = False, mirrored: bool = False
    ) -> Maker:
        """A small U-shaped network with random weights: memory does not depend on what the classes mean."""

        def write(folder: Path) -> None:
            import torch

            torch.manual_seed(5)
            network = torch.nn.Sequential(
                torch.nn.Conv3d(channels, 8, 3, stride=2, padding=1),
                torch.nn.InstanceNorm3d(8, affine=True),
                torch.nn.LeakyReLU(0.01),
                torch.nn.ConvTranspose3d(8, 16, 2, stride=2),
                torch.nn.Conv3d(16, classes, 1),
            ).eval()
            self._write_classes(folder, network, classes, (1, channels, patch, patch, patch), native, mirrored)

        name = f"package-{classes}-{patch}-{channels}-{native}{'-mirrored' if mirrored else ''}"
        return lambda: self._once(self.folder / name, write)

    def body_package(self, patch: int = 64) -> Maker:
        """A network that finds the body, the largest surface there is."""

        def write(folder: Path) -> None:
            import torch

            network = torch.nn.Conv3d(1, 2, 1)
            network.weight.data = torch.tensor([0.0, 1.0]).reshape(2, 1, 1, 1, 1)
            # Above -300 HU after the normalisation.
            network.bias.data = torch.tensor([-1.5, 0.0])
            self._write_classes(folder, network, 2, (1, 1, patch, patch, patch), native=True)

        return lambda: self._once(self.folder / f"package-body-{patch}", write)

    def _write_classes(
        self,
        folder: Path,
        network: torch.nn.Module,
        classes: int,
        shape: tuple[int, ...],
        native: bool,
        mirrored: bool = False,
    ) -> None:
        entry = recipe("stored", None if native else [1.5] * 3, list(shape[2:]))
        if mirrored:
            entry["mirroringAxes"] = [0, 1, 2]
        entry["resampling"] = {"image": spline(3, 0, "auto"), "logits": spline(1, 0, "auto")}
        channels = [{**CT, "name": f"channel_{index}"} for index in range(shape[1])]
        manifest = {"id": f"classes-{classes}", "name": "Classes", "labels": class_labels(classes)}
        write_network_package(folder, network, shape, {**manifest, "volumeSegmentation": entry, "channels": channels})

    def heavy_package(self) -> Maker:
        """A network with as many weights as nnU-Net's usual ones."""

        def write(folder: Path) -> None:
            import torch

            torch.manual_seed(5)
            layers: list[torch.nn.Module] = []
            for before, after in ((1, 16), (16, 64), (64, 320)):
                layers += [torch.nn.Conv3d(before, after, 3, stride=2, padding=1), torch.nn.LeakyReLU(0.01)]
            for _ in range(11):
                layers += [torch.nn.Conv3d(320, 320, 3, padding=1), torch.nn.LeakyReLU(0.01)]
            layers += [torch.nn.ConvTranspose3d(320, 16, 8, stride=8), torch.nn.Conv3d(16, 4, 1)]
            labels = [{"value": v, "name": f"class_{v}", "color": f"#00{v:02}00"} for v in range(1, 4)]
            manifest = {"id": "heavy", "name": "Heavy", "labels": labels, "channels": [CT]}
            manifest["volumeSegmentation"] = recipe("stored", [3.0] * 3, [64] * 3)
            write_network_package(folder, torch.nn.Sequential(*layers).eval(), (1, 1, 64, 64, 64), manifest)

        return lambda: self._once(self.folder / "package-heavy", write)
