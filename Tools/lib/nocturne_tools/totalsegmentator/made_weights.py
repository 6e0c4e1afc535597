"""Weights with TotalSegmentator's structure of folders, made without training: small ones, or of the real size.

The networks are nnU-Net's plain U-Nets. Their kernels are smooth and a little lopsided, and the last
layer gives each class the voxels whose features are nearest to those of one voxel of a made volume, and a share
of the body to the background: labels are connected regions that follow the intensities, and not noise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor, nn

from nocturne_tools.nnunet import shapes
from nocturne_tools.nnunet.make_folder import FolderSpec, build_network, save_checkpoint

from .tasks import Network, Part, Task

PATCHES = {1.5: [40, 32, 40], 3.0: [24, 24, 20], 6.0: [12, 16, 16]}  # by spacing, (z, y, x)
FEATURES = [6, 12]
LOPSIDED = 0.35  # share of random values in a kernel
# Share of the body without a label: with many labels such that later parts leave labels of earlier ones, and with few
# labels such that components are large.
BACKGROUND, BACKGROUND_OF_FEW, FEW = 0.5, 0.1, 5
GRID = shapes.Grid((64, 60, 56), (1.7, 1.7, 1.7))


@dataclass(frozen=True)
class Size:
    """How large the networks are, and from what image (i, j, k), at least as large as the patch, they take labels."""

    patches: dict[float, list[int]]  # by spacing, (z, y, x)
    features: list[int]
    image: NDArray[np.float32] | None = None  # none: a made volume of each folder's own


SMALL = Size(PATCHES, FEATURES)


def real(image: NDArray[np.float32], patch: int = 128, features: int = 32) -> Size:
    """TotalSegmentator's own networks of 1.5 mm: six stages from 32 features, a patch of 128 voxels a side."""
    return Size({1.5: [patch] * 3}, [min(features * 2**stage, 320) for stage in range(6)], image)


def made_volume(seed: int, grid: shapes.Grid, size: float = 90) -> NDArray[np.float32]:
    """A CT-like volume (i, j, k): a body with organs, and intensities that change slowly inside."""
    image = shapes.render(seed, grid, ["ct"], size)[0][0].astype(np.float32)
    rng = np.random.default_rng([0x7075, seed])
    for millimetres, amplitude in ((18, 90.0), (8, 50.0)):
        field = ndimage.gaussian_filter(rng.standard_normal(grid.shape), [millimetres / s for s in grid.spacing])
        image += np.where(image > -900, amplitude * field / field.std(), 0).astype(np.float32)
    return image


@dataclass(frozen=True)
class MadeFolder:
    """One trained folder to make."""

    path: Path
    network: Network
    part: Part
    size: Size = SMALL

    def spec(self) -> FolderSpec:
        spacing = self.network.spacing or [1.5, 1.5, 1.5]
        labels = {"background": 0, **{name: value for value, name in sorted(self.part.labels.items())}}
        odd = self.part.dataset % 2 == 1  # half of the folders have another reader, a quarter another order of axes
        return FolderSpec(
            self.network.configuration,
            list(spacing),
            self.size.patches.get(spacing[0], self.size.patches[1.5]),
            GRID,
            features=self.size.features,
            labels=labels,
            reader="NibabelIOWithReorient" if odd else "SimpleITKIO",
            transpose=[1, 0, 2] if self.part.dataset % 4 == 0 else [0, 1, 2],
            mirroring=None if "NoMirroring" in self.network.trainer else (0, 1, 2),
        )

    def write(self) -> None:
        """Writes plans, data set and one fold; the weights depend on the number of the dataset alone."""
        torch.manual_seed(self.part.dataset)
        spec = self.spec()
        plans, dataset = spec.plans(), spec.dataset()
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "plans.json").write_text(json.dumps(plans, indent=4))
        (self.path / "dataset.json").write_text(json.dumps(dataset, indent=4))
        network = build_network(spec, plans, dataset).eval()
        _smooth(network)
        image = made_volume(self.part.dataset, GRID) if self.size.image is None else self.size.image
        _spread_labels(network, normalized(image, spec), self.part.dataset)
        for fold in self.network.folds or ["0"]:
            save_checkpoint(self.path / f"fold_{fold}", spec, network.state_dict(), self.network.trainer)


def normalized(image: NDArray[np.float32], spec: FolderSpec) -> Tensor:
    """One patch (1, 1, z, y, x) from the middle of a volume, as the plans normalise it."""
    statistics = spec.plans()["foreground_intensity_properties_per_channel"]["0"]
    clipped = np.clip(image, statistics["percentile_00_5"], statistics["percentile_99_5"])
    scaled = ((clipped - statistics["mean"]) / statistics["std"]).transpose(2, 1, 0)
    cut = tuple(slice((n - p) // 2, (n - p) // 2 + p) for n, p in zip(scaled.shape, spec.patch))
    return torch.from_numpy(np.ascontiguousarray(scaled[cut]))[None, None].float()


def _smooth(network: nn.Module) -> None:
    """Makes every 3×3×3 kernel a random mixture of channels, each blurred and a little lopsided."""
    line = torch.tensor([0.25, 0.5, 0.25])
    blur = line[:, None, None] * line[None, :, None] * line[None, None, :]
    for module in network.modules():
        if isinstance(module, nn.Conv3d) and module.kernel_size == (3, 3, 3):
            mixture = torch.randn(module.weight.shape[:2])[..., None, None, None]
            noise = torch.randn(module.weight.shape) * blur
            module.weight.data = (mixture * blur + LOPSIDED * noise) / module.weight.shape[1] ** 0.5
            module.bias.data = 0.3 * torch.randn(module.bias.shape)


def _spread_labels(network: nn.Module, patch: Tensor, seed: int) -> None:
    """Gives every class the voxels whose features are nearest to those of its own voxel of the patch.

    The nearest centre c of a feature f is the class with the largest f·c − c·c/2. The first class has a voxel of air.
    """
    last: nn.Conv3d = network.decoder.seg_layers[-1]  # type: ignore[assignment, union-attr, index]
    seen: list[Tensor] = []
    hook = last.register_forward_hook(lambda _module, inputs, _output: seen.append(inputs[0]))
    with torch.inference_mode():
        network(patch)
    hook.remove()
    features = seen[0][0].flatten(1).T.double()
    rng = np.random.default_rng([0x1ABE1, seed])
    body = torch.nonzero(patch.flatten() > patch.min() + 0.2).flatten().numpy()
    air = torch.nonzero(patch.flatten() == patch.min()).flatten().numpy()
    classes = last.weight.shape[0]
    first = rng.choice(air if len(air) else body)
    centers = features[[int(first), *map(int, rng.choice(body, classes - 1, replace=False))]]
    last.weight.data = centers.float()[:, :, None, None, None].clone()
    last.bias.data = (-(centers**2).sum(1) / 2).float()
    logits = features[body] @ centers.T - (centers**2).sum(1) / 2
    lead = logits[:, 1:].max(1).values - logits[:, 0]
    last.bias.data[0] += float(torch.quantile(lead, BACKGROUND if classes > FEW else BACKGROUND_OF_FEW))


def folders(task: Task, weights: Path, size: Size = SMALL) -> list[MadeFolder]:
    """The folders of a task and of its region, with the names that TotalSegmentator looks for."""
    from totalsegmentator.map_tasks_config import TASK_ID_WEIGHTS_CONFIGS

    found = []
    for network in [task.network] if task.region is None else [task.region, task.network]:
        name = f"{network.trainer}__{network.plans}__{network.configuration}"
        for part in network.parts:
            dataset = TASK_ID_WEIGHTS_CONFIGS[part.dataset]["foldername"]
            found.append(MadeFolder(weights / dataset / name, network, part, size))
    return found


def make(tasks: list[Task], weights: Path, size: Size = SMALL) -> None:
    """Writes the folders of several tasks that do not exist yet."""
    for task in tasks:
        for folder in folders(task, weights, size):
            if not folder.path.exists():
                folder.write()
