"""Small bundles with made weights, and volumes for them: for tests and proofs, without any meaning."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import torch
from monai.networks import nets
from numpy.typing import NDArray
from scipy import ndimage
from torch import nn

Transforms = list[dict[str, Any]]
BRATS = "$lambda x: torch.where(x[[2]] > 0, 4, torch.where(x[[0]] > 0, 1, torch.where(x[[1]] > 0, 2, 0)))"


def transform(name: str, key: str = "image", **arguments: Any) -> dict[str, Any]:
    return {"_target_": name, "keys": key, **arguments}


@dataclass(frozen=True)
class Case:
    """A bundle: its network, and what it does before and after it."""

    name: str
    network: dict[str, Any]
    preprocessing: Transforms
    inferer: dict[str, Any]
    postprocessing: Transforms
    modality: str = "CT"
    spacing: tuple[float, float, float] = (1.7, 1.6, 2.1)
    outputs: dict[str, str] = field(default_factory=lambda: {"0": "background", "1": "organ", "2": "vessel"})

    @property
    def channels(self) -> int:
        return int(self.network["in_channels"])


def _load(*more: dict[str, Any]) -> Transforms:
    return [transform("LoadImaged"), transform("EnsureChannelFirstd"), *more, transform("EnsureTyped")]


def _window(size: list[int], **arguments: Any) -> dict[str, Any]:
    return {"_target_": "SlidingWindowInferer", "roi_size": size, "sw_batch_size": 2, **arguments}


def _invert(**arguments: Any) -> dict[str, Any]:
    return transform("Invertd", "pred", transform="@preprocessing", orig_keys="image", **arguments)


def _networks() -> dict[str, dict[str, Any]]:
    unet = {"_target_": "UNet", "spatial_dims": 3, "in_channels": 1, "out_channels": 3, "channels": [8, 16, 32]}
    unet |= {"strides": [2, 2], "num_res_units": 1, "norm": "batch"}
    dynamic = {"_target_": "DynUNet", "spatial_dims": 3, "in_channels": 1, "out_channels": 3}
    dynamic |= {"kernel_size": [3, 3, 3], "strides": [1, 2, 2], "upsample_kernel_size": [2, 2], "filters": [8, 16, 32]}
    residual = {"_target_": "SegResNet", "in_channels": 4, "out_channels": 3, "init_filters": 8}
    residual |= {"blocks_down": [1, 2], "blocks_up": [1]}
    swin = {"_target_": "SwinUNETR", "in_channels": 1, "out_channels": 3, "feature_size": 12, "depths": [1, 1, 1, 1]}
    swin |= {"num_heads": [2, 2, 2, 2]}
    return {"unet": unet, "dynunet": dynamic, "segresnet": residual, "swinunetr": swin}


def _cases() -> list[Case]:
    networks = _networks()
    orientation = transform("Orientationd", axcodes="RAS")
    argmax = transform("AsDiscreted", "pred", argmax=True)
    scaled = {"a_min": -200, "a_max": 300, "clip": True}
    return [
        Case(
            "unet",
            networks["unet"],
            _load(
                orientation,
                transform("Spacingd", pixdim="@spacing", mode="bilinear"),
                transform("ScaleIntensityRanged", b_min=0.0, b_max=1.0, **scaled),
            ),
            _window([32, 32, 24], overlap=0.5, mode="gaussian"),
            [transform("Activationsd", "pred", softmax=True), _invert(nearest_interp=False), argmax],
        ),
        Case(
            "dynunet",
            networks["dynunet"],
            _load(
                orientation,
                transform("ScaleIntensityRanged", b_min=-1.0, b_max=1.0, **scaled),
                transform("Spacingd", pixdim="@spacing"),
            ),
            _window([24, 28, 32], overlap=0.25, padding_mode="replicate"),
            [argmax, _invert(nearest_interp=True), transform("KeepLargestConnectedComponentd", "pred")],
        ),
        Case(
            "segresnet",
            networks["segresnet"],
            _load(
                orientation,
                transform("Spacingd", pixdim="@spacing"),
                transform("NormalizeIntensityd", nonzero=True, channel_wise=True),
            ),
            _window([32, 24, 32], overlap=0.4),
            [
                transform("Activationsd", "pred", sigmoid=True),
                _invert(nearest_interp=False),
                transform("AsDiscreted", "pred", threshold=0.5),
                transform("Lambdad", "pred", func=BRATS),
            ],
            "MRI",
            outputs={"0": "tumor core", "1": "whole tumor", "2": "enhancing tumor"},
        ),
        Case(
            "swinunetr",
            networks["swinunetr"],
            _load(
                transform("CropForegroundd", source_key="image", select_fn="$lambda x: x != 0", margin=0),
                transform("Spacingd", pixdim="@spacing"),
                transform("NormalizeIntensityd"),
            ),
            _window([64, 64, 32], overlap=0.625, mode="gaussian"),
            [_invert(nearest_interp=False), argmax],
            "MR",
            (0.7, 0.8, 1.3),
        ),
    ]


CASES = {case.name: case for case in _cases()}


def config(case: Case) -> dict[str, Any]:
    """The content of `inference.json`."""
    return {
        "imports": ["$import torch"],
        "spacing": list(case.spacing),
        "device": "$torch.device('cpu')",
        "network_def": case.network,
        "network": "$@network_def.to(@device)",
        "preprocessing": {"_target_": "Compose", "transforms": case.preprocessing},
        "inferer": case.inferer,
        "postprocessing": {"_target_": "Compose", "transforms": case.postprocessing},
    }


def metadata(case: Case) -> dict[str, Any]:
    image = {"type": "image", "modality": case.modality, "num_channels": case.channels}
    data = {"inputs": {"image": image}, "outputs": {"pred": {"type": "image", "channel_def": case.outputs}}}
    return {"version": "0.1.0", "name": f"made {case.name}", "network_data_format": data}


def smooth(random: np.random.Generator, shape: tuple[int, ...], width: float) -> NDArray[np.float32]:
    """Noise without fine detail: mean 0, deviation 1."""
    noise = ndimage.gaussian_filter(random.normal(size=shape), width, mode="wrap")
    return ((noise - noise.mean()) / noise.std()).astype(np.float32)


def _example(case: Case, random: np.random.Generator, size: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """An input as the network sees it, and what it should say."""
    image = np.stack([smooth(random, tuple(size), 3) for _ in range(case.channels)])
    mean = image.mean(axis=0) * np.sqrt(case.channels)
    if case.modality == "CT":
        low = -1 if case.name == "dynunet" else 0
        image = np.clip((50 + 250 * image + 200) / 500, 0, 1) * (1 - low) + low
    limits = [-0.3, 0.9] if len(case.outputs) == 3 and case.channels == 1 else [0.5, 0.0, 1.0]
    above = np.stack([mean > limit for limit in limits])
    target = above if case.channels > 1 else above.sum(axis=0)
    return torch.from_numpy(image[None].astype(np.float32)), torch.from_numpy(target[None])


def train(case: Case, steps: int) -> nn.Module:
    """A network that has learned to divide smooth noise by its height, a little."""
    torch.manual_seed(5)
    arguments = {name: value for name, value in case.network.items() if name != "_target_"}
    network = getattr(nets, case.network["_target_"])(**arguments)
    random, optimizer = np.random.default_rng(6), torch.optim.AdamW(network.parameters(), lr=2e-3)
    for _ in range(steps):
        image, target = _example(case, random, case.inferer["roi_size"])
        result = network(image)
        if target.ndim == result.ndim:
            loss = nn.functional.binary_cross_entropy_with_logits(result, target.float())
        else:
            loss = nn.functional.cross_entropy(result, target.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


def write(case: Case, folder: Path, steps: int) -> Path:
    """Writes the bundle into a new folder."""
    (folder / "configs").mkdir(parents=True)
    (folder / "models").mkdir()
    (folder / "configs" / "inference.json").write_text(json.dumps(config(case), indent=2))
    (folder / "configs" / "metadata.json").write_text(json.dumps(metadata(case), indent=2))
    (folder / "LICENSE").write_text("Made weights without meaning.\n")
    torch.save(train(case, steps).state_dict(), folder / "models" / "model.pt")
    return folder


@dataclass(frozen=True)
class Volume:
    """A made volume: its grid in the file's order, and where its axes point."""

    name: str
    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]
    axes: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]  # patient axis and direction
    angles: tuple[float, float] = (0, 0)  # about z and x, in degrees

    def affine(self) -> NDArray[np.float64]:
        about_z, about_x = np.deg2rad(self.angles)
        turn_z = [[np.cos(about_z), -np.sin(about_z), 0], [np.sin(about_z), np.cos(about_z), 0], [0, 0, 1]]
        turn_x = [[1, 0, 0], [0, np.cos(about_x), -np.sin(about_x)], [0, np.sin(about_x), np.cos(about_x)]]
        columns = np.zeros((3, 3))
        for axis, (patient, direction) in enumerate(self.axes):
            columns[patient, axis] = direction * self.spacing[axis]
        result = np.eye(4)
        result[:3, :3] = np.array(turn_z) @ np.array(turn_x) @ columns
        result[:3, 3] = (-41.3, 27.9, 113.7)
        return result


# Voxels of both grids rarely coincide, and rarely lie half-way between two of the other, with one exception: MONAI's rounding
# decides there.
VOLUMES = [
    Volume("straight", (51, 47, 26), (1.25, 1.25, 3.3), ((0, -1), (1, -1), (2, 1))),
    Volume("oblique", (41, 33, 53), (1.931, 2.717, 1.133), ((0, 1), (2, -1), (1, 1)), (14, -9)),
    Volume("small", (21, 44, 17), (2.287, 1.037, 1.433), ((1, 1), (0, -1), (2, -1))),
    Volume("multiples", (40, 33, 52), (1.9, 2.7, 1.1), ((0, 1), (2, -1), (1, 1)), (14, -9)),
]


def write_volume(volume: Volume, case: Case, folder: Path) -> list[Path]:
    """Writes one file for each channel; magnetic resonance has zeros around an ellipsoid."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng([7, len(volume.name), case.channels])
    grid = np.meshgrid(*(np.linspace(-1.1, 1.1, n) for n in volume.shape), indexing="ij")
    outside = sum(axis**2 for axis in grid) > 1
    paths = []
    for channel in range(case.channels):
        data = smooth(random, volume.shape, 3)
        data = 50 + 250 * data if case.modality == "CT" else np.where(outside, 0, 400 + 90 * data)
        name = f"{volume.name}_{channel:04d}.nii.gz" if case.channels > 1 else f"{volume.name}.nii.gz"
        image = nib.Nifti1Image(np.rint(data).astype(np.int16), volume.affine())
        image.header.set_xyzt_units("mm")
        nib.save(image, folder / name)
        paths.append(folder / name)
    return paths
