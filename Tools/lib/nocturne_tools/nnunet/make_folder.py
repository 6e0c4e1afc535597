"""Makes trained nnU-Net v2 folders: nnU-Net's own networks and preprocessing, trained briefly on simple shapes."""

from __future__ import annotations

import json
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from nnunetv2.preprocessing.preprocessors.default_preprocessor import DefaultPreprocessor
from nnunetv2.training.nnUNetTrainer.primus import primus_trainers
from nnunetv2.utilities.get_network_from_plans import get_network_from_plans
from nnunetv2.utilities.plans_handling.plans_handler import PlansManager
from torch import Tensor, nn
from torch.nn import functional

from . import shapes
from .case_files import ending, write_case
from .photos import PhotoSize

SPLINE: dict[str, Any] = {"order_z": 0, "force_separate_z": None}


@dataclass
class FolderSpec:
    """What to make; spacing (mm), patch and strides in the network's axis order z, y, x (or y, x)."""

    configuration: str
    spacing: list[float]
    patch: list[int]
    grid: shapes.Grid | PhotoSize  # of the training volumes or photos
    strides: list[list[int]] | None = None  # of each stage; default: 1, then 2
    features: list[int] = field(default_factory=lambda: [8, 16, 32])
    residual: bool = False
    contrasts: list[str] = field(default_factory=lambda: ["ct"])
    schemes: list[str] = field(default_factory=lambda: ["CTNormalization"])
    masks: list[bool] = field(default_factory=lambda: [False])
    labels: dict[str, Any] = field(default_factory=lambda: {"background": 0, "one": 1, "two": 2, "core": 3})
    regions_class_order: list[int] | None = None
    mirroring: tuple[int, ...] | None = (0, 1, 2)
    folds: int = 3
    steps: int = 100
    volumes: int = 3
    transpose: list[int] = field(default_factory=lambda: [0, 1, 2])
    reader: str = "SimpleITKIO"
    torch_resampling: bool = False
    previous_stage: str | None = None
    size: float = 60  # of the body, mm
    training_patch: list[int] | None = None  # smaller than the patch, to train faster
    trainer: str = "nnUNetTrainer"  # or one of nnU-Net's for Primus, which builds the network
    rate: float = 6e-3  # the highest of the schedule

    def architecture(self) -> dict[str, Any]:
        dimension, stages = len(self.patch), len(self.features)
        strides = self.strides or [[1] * dimension] + [[2] * dimension] * (stages - 1)
        coarse = np.cumprod(strides, axis=0)  # a kernel does not span slices that no earlier stage has merged
        kernels = [[1 if step == 1 and step < max(row) else 3 for step in row] for row in coarse.tolist()]
        blocks = (
            {"n_blocks_per_stage": [1] + [2] * (stages - 1)} if self.residual else {"n_conv_per_stage": [2] * stages}
        )
        name = "ResidualEncoderUNet" if self.residual else "PlainConvUNet"
        return {
            "network_class_name": f"dynamic_network_architectures.architectures.unet.{name}",
            "arch_kwargs": {
                "n_stages": stages,
                "features_per_stage": self.features,
                "conv_op": f"torch.nn.modules.conv.Conv{dimension}d",
                "kernel_sizes": kernels,
                "strides": strides,
                **blocks,
                "n_conv_per_stage_decoder": [1 if self.residual else 2] * (stages - 1),
                "conv_bias": True,
                "norm_op": f"torch.nn.modules.instancenorm.InstanceNorm{dimension}d",
                "norm_op_kwargs": {"eps": 1e-05, "affine": True},
                "dropout_op": None,
                "dropout_op_kwargs": None,
                "nonlin": "torch.nn.LeakyReLU",
                "nonlin_kwargs": {"inplace": True},
            },
            "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
        }

    def _resampling(self) -> dict[str, Any]:
        keys = {"data": (False, 3), "seg": (True, 1), "probabilities": (False, 1)}
        rules: dict[str, Any] = {}
        for key, (is_seg, order) in keys.items():
            more = {"force_separate_z": None, "memefficient_seg_resampling": False}
            rules[f"resampling_fn_{key}"] = (
                "resample_torch_fornnunet" if self.torch_resampling else "resample_data_or_seg_to_shape"
            )
            rules[f"resampling_fn_{key}_kwargs"] = {
                "is_seg": is_seg,
                **(more if self.torch_resampling else {"order": order, **SPLINE}),
            }
        return rules

    def plans(self) -> dict[str, Any]:
        """`plans.json` as nnU-Net's planner would write it."""
        configuration = {
            "data_identifier": f"nnUNetPlans_{self.configuration}",
            "preprocessor_name": "DefaultPreprocessor",
            "batch_size": 2,
            "patch_size": self.patch,
            "median_image_size_in_voxels": [float(n) for n in self.patch],
            "spacing": self.spacing,
            "normalization_schemes": self.schemes,
            "use_mask_for_norm": self.masks,
            **self._resampling(),
            "architecture": self.architecture(),
            "batch_dice": True,
        }
        configurations = {self.configuration: configuration}
        if self.previous_stage is not None:
            configuration["previous_stage"] = self.previous_stage
            configurations[self.previous_stage] = {"next_stage": self.configuration}
        statistics = {"mean": 90.0, "median": 60.0, "std": 85.0, "min": -1000.0, "max": 400.0}
        statistics |= {"percentile_00_5": -60.5, "percentile_99_5": 290.25}
        return {
            "dataset_name": "Dataset999_Shapes",
            "plans_name": "nnUNetPlans",
            "original_median_spacing_after_transp": [1.0, 1.0, 1.0],
            "original_median_shape_after_transp": [64, 64, 64],
            "image_reader_writer": self.reader,
            "transpose_forward": self.transpose,
            "transpose_backward": [self.transpose.index(axis) for axis in range(3)],
            "configurations": configurations,
            "experiment_planner_used": "ExperimentPlanner",
            "label_manager": "LabelManager",
            "foreground_intensity_properties_per_channel": {str(n): statistics for n in range(len(self.contrasts))},
        }

    def dataset(self) -> dict[str, Any]:
        """`dataset.json`."""
        content: dict[str, Any] = {
            "channel_names": {str(n): name.upper() for n, name in enumerate(self.contrasts)},
            "labels": self.labels,
            "numTraining": self.volumes,
            "file_ending": ending(self.grid),
        }
        if self.regions_class_order is not None:
            content["regions_class_order"] = self.regions_class_order
        return content


def make_folder(path: Path, spec: FolderSpec, seed: int = 1) -> None:
    """Trains and writes `path` (`<Trainer>__<Plans>__<Configuration>`); the same seed gives the same weights."""
    torch.manual_seed(seed)
    random.seed(seed)  # PyTorch's networks draw from torch alone, nnU-Net's preprocessing from these
    np.random.seed(seed)
    plans, dataset = spec.plans(), spec.dataset()
    volumes = _training_volumes(spec, plans, dataset, seed)
    path.mkdir(parents=True, exist_ok=True)
    (path / "plans.json").write_text(json.dumps(plans, indent=4))
    (path / "dataset.json").write_text(json.dumps(dataset, indent=4))
    network, weights = build_network(spec, plans, dataset), None
    for fold in range(spec.folds):
        if weights is not None:  # the folds differ, but only the first is trained from scratch
            network.load_state_dict(
                {k: v + 0.02 * v.std() * torch.randn_like(v) if v.numel() > 1 else v for k, v in weights.items()}
            )
        _train(network, spec, volumes, spec.steps if fold == 0 else spec.steps // 3, seed * 100 + fold)
        weights = {name: value.clone() for name, value in network.state_dict().items()}
        save_checkpoint(path / f"fold_{fold}", spec, weights, spec.trainer)


def save_checkpoint(folder: Path, spec: FolderSpec, weights: dict[str, Tensor], trainer: str) -> None:
    """Writes `checkpoint_final.pth` into the folder of a fold, with the members that nnU-Net reads or writes."""
    folder.mkdir(exist_ok=True)
    checkpoint = {
        "network_weights": weights,
        "optimizer_state": {},
        "grad_scaler_state": None,
        "logging": {"mean_fg_dice": [np.float32(0.5)], "epoch_start_timestamps": [np.float64(0)]},
        "_best_ema": np.float64(0.5),
        "current_epoch": spec.steps,
        "init_args": {
            "configuration": spec.configuration,
            "fold": int(folder.name.removeprefix("fold_")),
            "device": torch.device("cpu"),
            "plans": spec.plans(),
        },
        "trainer_name": trainer,
        "inference_allowed_mirroring_axes": spec.mirroring,
    }
    torch.save(checkpoint, folder / "checkpoint_final.pth")


def build_network(spec: FolderSpec, plans: dict[str, Any], dataset: dict[str, Any]) -> nn.Module:
    """The network of the plans as nnU-Net builds it, with random weights."""
    manager = PlansManager(plans).get_label_manager(dataset)
    architecture = spec.architecture()
    extra = len(manager.foreground_labels) if spec.previous_stage is not None else 0
    if spec.trainer != "nnUNetTrainer":
        plan = PlansManager(plans)
        return getattr(primus_trainers, spec.trainer).build_network_architecture(
            plan, plan.get_configuration(spec.configuration), len(spec.contrasts) + extra, manager.num_segmentation_heads, False
        )
    return get_network_from_plans(
        architecture["network_class_name"],
        architecture["arch_kwargs"],
        architecture["_kw_requires_import"],
        len(spec.contrasts) + extra,
        manager.num_segmentation_heads,
        True,
        False,
    )


def _training_volumes(
    spec: FolderSpec, plans: dict[str, Any], dataset: dict[str, Any], seed: int
) -> list[tuple[Tensor, Tensor]]:
    """Images (channels, z, y, x) and labels (z, y, x) as nnU-Net preprocesses them, at least as large as the patch."""
    manager = PlansManager(
        {**plans, "configurations": {spec.configuration: dict(plans["configurations"][spec.configuration])}}
    )
    configuration = manager.get_configuration(spec.configuration)
    configuration.configuration.pop("previous_stage", None)
    volumes = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(spec.volumes):
            place, name = Path(folder), f"case_{number}"
            files, truth = write_case(place / "images", place / "truth", name, seed * 1000 + number, spec)
            data, marked, _ = DefaultPreprocessor(verbose=False).run_case(
                [str(file) for file in files], str(truth), manager, configuration, dataset
            )
            image, label = (
                torch.from_numpy(np.asarray(data)),
                torch.from_numpy(np.maximum(marked[0], 0).astype(np.int64)),
            )
            patch = spec.patch if len(spec.patch) == 3 else [1, *spec.patch]
            missing = [max(0, t - n) for n, t in zip(label.shape, patch)]
            padding = [side for r in reversed(missing) for side in (r // 2, r - r // 2)]
            volumes.append((functional.pad(image, padding), functional.pad(label, padding)))
    return volumes


def _patch(spec: FolderSpec, image: Tensor, label: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """A random patch, half of them around a labelled voxel; the labels of a previous stage are the shifted truth."""
    flat = len(spec.patch) == 2
    size = spec.training_patch or spec.patch
    patch = [1, *size] if flat else size
    slack = np.array(label.shape) - patch
    start = rng.integers(0, slack + 1)
    if rng.random() < 0.5:
        voxels = torch.nonzero(label)
        if len(voxels):
            start = np.clip(voxels[rng.integers(0, len(voxels))].numpy() - np.array(patch) // 2, 0, slack)
    cut = tuple(slice(int(s), int(s) + t) for s, t in zip(start, patch))
    data, truth = image[(slice(None), *cut)], label[cut]
    if spec.previous_stage is not None:
        before = torch.roll(truth, tuple(int(n) for n in rng.integers(-1, 2, 3)), (0, 1, 2))
        foreground = sorted({value for value in spec.labels.values() if value != 0})
        data = torch.cat([data, torch.stack([(before == value).float() for value in foreground])])
    return (data[:, 0], truth[0]) if flat else (data, truth)


def _loss(spec: FolderSpec, logits: Tensor, truth: Tensor) -> Tensor:
    """Cross entropy and soft Dice, of regions where there are some."""
    axes = [0, *range(2, logits.ndim)]
    if spec.regions_class_order is not None:
        parts = [value if isinstance(value, list) else [value] for name, value in spec.labels.items() if value != 0]
        target = torch.stack([torch.isin(truth, torch.tensor(part)) for part in parts], dim=1).float()
        share, entropy = torch.sigmoid(logits), functional.binary_cross_entropy_with_logits(logits, target)
    else:
        target = functional.one_hot(truth, logits.shape[1]).movedim(-1, 1)[:, 1:].float()
        share, entropy = torch.softmax(logits, dim=1)[:, 1:], functional.cross_entropy(logits, truth)
    overlap, total = (share * target).sum(axes), (share + target).sum(axes)
    return entropy + 1 - ((2 * overlap + 1) / (total + 1)).mean()


def _train(network: nn.Module, spec: FolderSpec, volumes: list[tuple[Tensor, Tensor]], steps: int, seed: int) -> None:
    """A few dozen steps of Adam; mirrored at random along the axes that prediction mirrors."""
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=spec.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, spec.rate, total_steps=max(steps, 2))
    network.train()
    for _ in range(steps):
        picks = [_patch(spec, *volumes[rng.integers(0, len(volumes))], rng) for _ in range(2)]
        data, truth = torch.stack([pick[0] for pick in picks]), torch.stack([pick[1] for pick in picks])
        flips = [axis for axis in spec.mirroring or () if rng.random() < 0.5]
        logits = network(data.flip([axis + 2 for axis in flips]))
        loss = _loss(spec, logits, truth.flip([axis + 1 for axis in flips]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    network.eval()
