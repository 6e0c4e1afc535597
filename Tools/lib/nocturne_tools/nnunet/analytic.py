"""Analytic fixtures: one-convolution networks on a periodic image, with the label maps of nnU-Net's predictor.

Channel 0 of a network is a constant b, channel 1 is s and channel 2 is -s, where s is the input ("plain") or the input
moved one voxel towards higher x ("shift"), so that every label depends only on the arithmetic around the network.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import onnx
import torch
from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor
from nnunetv2.utilities.plans_handling.plans_handler import PlansManager
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from .shapes import Grid

Shape = tuple[int, int, int]
STATISTICS = {"mean": 0.0, "median": 0.0, "std": 2.0, "min": -5.0, "max": 5.0}
STATISTICS |= {"percentile_00_5": -4.0, "percentile_99_5": 4.0}


@dataclass
class Case:
    """Everything in (z, y, x), or in the transposed order where nnU-Net uses that.

    `grid`, whose triples are in the order (i, j, k), has rotation, order and directions of the file's axes; without it
    they are those of ITK.
    """

    name: str
    about: str
    shape: Shape = (10, 9, 8)
    spacing: tuple[float, float, float] = (1, 1, 1)
    patch: list[int] = field(default_factory=lambda: [8, 8, 8])
    target: list[float] = field(default_factory=lambda: [1.0, 1.0, 1.0])
    shift: bool = False
    constants: list[float] = field(default_factory=lambda: [0.25])  # one for each fold
    mirroring: tuple[int, ...] | None = None
    transpose: list[int] = field(default_factory=lambda: [0, 1, 2])
    scheme: str = "CTNormalization"
    mask: bool = False
    regions: bool = False
    channels: int = 1
    border: int = 0  # voxels of zeros around, to be cropped
    torch_resampling: bool = False
    previous: Case | None = None
    value: float = 1.0  # of the labels in declaration: 1 and 2 times this
    reader: str = "SimpleITKIO"
    grid: Grid | None = None

    def image(self) -> NDArray[np.float32]:
        """(channels, z, y, x)."""
        z, y, x = np.indices(self.shape)
        first = ((7 * z + 3 * y + 5 * x) % 11) - 5
        second = ((3 * z + 5 * y + 7 * x) % 13) - 6
        image = np.stack([first, second][: self.channels]).astype(np.float32)
        if self.border:
            inner = np.zeros(self.shape, dtype=bool)
            inner[tuple(slice(self.border, n - self.border) for n in self.shape)] = True
            image[:, ~inner] = 0
        return image

    def affine(self) -> NDArray[np.float64]:
        """Voxel (i, j, k) to RAS+ mm."""
        if self.grid is not None:
            return replace(self.grid, shape=self.shape[::-1], spacing=self.spacing[::-1]).affine()
        return np.diag([-self.spacing[2], -self.spacing[1], self.spacing[0], 1.0])

    def write_volumes(self, folder: Path) -> list[str]:
        """One file for each channel, voxels (x, y, z)."""
        folder.mkdir(parents=True, exist_ok=True)
        files = []
        for channel, image in enumerate(self.image()):
            nifti = nib.Nifti1Image(np.ascontiguousarray(image.transpose(2, 1, 0)), self.affine())
            nifti.set_qform(self.affine(), 1)
            nifti.set_sform(self.affine(), 1)
            files.append(str(folder / f"{self.name}_{channel:04}.nii"))
            nib.save(nifti, files[-1])
        return files

    def dataset(self) -> dict[str, Any]:
        names = {str(n): ["first", "second"][n] for n in range(self.channels)}
        content: dict[str, Any] = {"channel_names": names, "file_ending": ".nii"}
        if self.regions:
            labels = {"background": 0, "whole": [1, 2, 3], "core": [2, 3], "middle": 3}
            return {**content, "labels": labels, "regions_class_order": [1, 2, 3]}
        return {**content, "labels": {"background": 0, "one": int(self.value), "two": int(2 * self.value)}}

    def configuration_name(self) -> str:
        return "2d" if len(self.patch) == 2 else "3d_cascade_fullres" if self.previous else "3d_fullres"

    def plans(self) -> dict[str, Any]:
        parts = {"data": (False, 3), "seg": (True, 1), "probabilities": (False, 1)}
        configuration: dict[str, Any] = {
            "preprocessor_name": "DefaultPreprocessor",
            "data_identifier": "none",
            "batch_size": 2,
            "batch_dice": False,
            "patch_size": self.patch,
            "spacing": self.target,
            "normalization_schemes": [self.scheme] * self.channels,
            "use_mask_for_norm": [self.mask] * self.channels,
            "architecture": {},
        }
        for part, (is_seg, order) in parts.items():
            name = "resample_torch_fornnunet" if self.torch_resampling else "resample_data_or_seg_to_shape"
            order_given = {} if self.torch_resampling else {"order": order, "order_z": 0}
            configuration[f"resampling_fn_{part}"] = name
            configuration[f"resampling_fn_{part}_kwargs"] = {"is_seg": is_seg, "force_separate_z": None, **order_given}
        configurations = {self.configuration_name(): configuration}
        if self.previous is not None:
            configuration["previous_stage"] = "3d_lowres"
            configurations["3d_lowres"] = {}
        return {
            "dataset_name": "Dataset998_Analytic",
            "plans_name": "nnUNetPlans",
            "image_reader_writer": self.reader,
            "transpose_forward": self.transpose,
            "transpose_backward": [self.transpose.index(axis) for axis in range(3)],
            "label_manager": "LabelManager",
            "configurations": configurations,
            "foreground_intensity_properties_per_channel": {str(n): STATISTICS for n in range(self.channels)},
        }

    def weights(self, constant: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Kernel (3, inputs, ...) and bias of the one convolution.

        A second channel is subtracted from the first; a previous stage adds half for its label.
        """
        inputs = self.channels + (2 if self.previous else 0)
        dimension = len(self.patch)
        weight = np.zeros((3, inputs, *[1] * (dimension - 1), 3 if self.shift else 1), dtype=np.float32)
        weight[1, 0, ..., 0], weight[2, 0, ..., 0] = 1, -1
        if self.channels == 2:
            weight[1, 1, ..., 0], weight[2, 1, ..., 0] = -0.5, 0.5
        if self.previous:
            weight[1, -2, ..., 0], weight[2, -1, ..., 0] = 0.5, 0.5
        return weight, np.array([constant, 0, 0], dtype=np.float32)

    def onnx(self, constant: float) -> onnx.ModelProto:
        weight, bias = self.weights(constant)
        dimension, kernel = len(self.patch), list(weight.shape[2:])
        pads = [n // 2 for n in kernel] * 2
        node = helper.make_node(
            "Conv", ["input", "weight", "bias"], ["logits"], name="conv", kernel_shape=kernel, pads=pads
        )
        graph = helper.make_graph(
            [node],
            "analytic",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, weight.shape[1], *self.patch])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 3, *self.patch])],
            [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
        )
        assert dimension in (2, 3)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model

    def network(self) -> nn.Module:
        weight = self.weights(0)[0]
        kind = nn.Conv2d if weight.ndim == 4 else nn.Conv3d
        kernel = tuple(weight.shape[2:])
        return kind(weight.shape[1], 3, kernel, padding=tuple(n // 2 for n in kernel))


CASES = [
    Case("A", "isotropic, no resampling"),
    Case("B", "resampled", spacing=(2, 1, 1), target=[1.5, 1.25, 1.25]),
    Case("C", "axis 0 apart", (5, 9, 8), (5, 1, 1), [4, 8, 8], [3.0, 1.25, 1.25]),
    Case("D", "transposed", spacing=(1, 2, 1), target=[1.5, 1.25, 1.25], transpose=[1, 0, 2]),
    Case("E", "shift", shift=True),
    Case("F", "shift, mirrored", shift=True, mirroring=(0, 1, 2)),
    Case("G", "two folds", constants=[0.25, 0.75]),
    Case("H", "regions", regions=True),
    Case("I", "smaller than the patch", (5, 6, 7)),
    Case("J", "z-score within the mask", scheme="ZScoreNormalization", mask=True),
    Case("K", "2d, mirrored", (4, 11, 10), (3, 1, 1), [8, 8], [1.25, 1.25], shift=True, mirroring=(0, 1)),
    Case("L", "torch resampling", spacing=(2, 1, 1), target=[1.5, 1.25, 1.25], torch_resampling=True),
    Case(
        "M",
        "two channels, z-score, cropped, resampled",
        (14, 13, 12),
        (1, 1, 1),
        target=[1.25, 1.25, 1.25],
        scheme="ZScoreNormalization",
        mask=True,
        channels=2,
        border=2,
        mirroring=(0, 2),
    ),
    Case("N", "label values are not written, their places are", value=3),
]
CASES.append(
    Case(
        "O",
        "cascade",
        spacing=(1.5, 1, 1),
        target=[1.25, 0.8, 0.8],
        previous=Case("lowres", "", (10, 9, 8), (1.5, 1, 1), target=[2.0, 1.6, 1.6]),
    )
)
CASES.append(replace(CASES[2], name="P", about="axis 0 apart, torch resampling", torch_resampling=True))
# Without the zeros around, 9, 6 and 6 voxels along i, j and k: 7.5, 5.5 and 6.5 at 1.2 mm. The last bit of the spacing
# decides, and nibabel's differs from that of the header.
TURNED = Case(
    "Q",
    "two channels, z-score, cropped, turned to RAS by nibabel from PIR, oblique",
    (10, 10, 13),
    (1.3, 1.1, 1.0),
    target=[1.2, 1.2, 1.2],
    scheme="ZScoreNormalization",
    mask=True,
    channels=2,
    border=2,
    constants=[0.25, 0.75, 0.5],
    reader="NibabelIOWithReorient",
    grid=Grid((0, 0, 0), (0, 0, 0), (9, 0, 0), flipped=(0, 1), order=(1, 2, 0)),
)
STEEP = Grid((0, 0, 0), (0, 0, 0), (-50, -40, 10))  # the sum of the cosines is larger for another order of the axes
CASES += [
    TURNED,
    replace(CASES[1], name="R", about="turned to RAS, steep", shift=True, reader=TURNED.reader, grid=STEEP),
    replace(TURNED, name="S", about="turned to RAS by ITK from PIR, oblique", reader="SimpleITKIOWithReorient"),
]


@dataclass(frozen=True)
class Prediction:
    labels: NDArray[np.uint8]  # (z, y, x)
    preprocessed: NDArray[np.float32]  # (channels, z, y, x), transposed


def predict(case: Case) -> Prediction:
    """The result of nnU-Net's predictor."""
    manager, dataset = PlansManager(case.plans()), case.dataset()
    configuration = manager.get_configuration(case.configuration_name())
    network = case.network()
    parameters = []
    for constant in case.constants:
        weight, bias = case.weights(constant)
        parameters.append({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
    before = None if case.previous is None else predict(case.previous).labels[None].astype(np.float32)
    seen: list[NDArray[np.float32]] = []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        predictor = nnUNetPredictor(
            use_mirroring=case.mirroring is not None, device=torch.device("cpu"), allow_tqdm=False
        )
        predictor.manual_initialization(
            network, manager, configuration, parameters, dataset, "nnUNetTrainer", case.mirroring
        )
        inner: Callable[[torch.Tensor], Any] = predictor.predict_logits_from_preprocessed_data

        def watched(data: torch.Tensor) -> Any:
            seen.append(np.array(data))
            return inner(data)

        predictor.predict_logits_from_preprocessed_data = watched  # type: ignore[method-assign]
        if case.grid is None:
            labels = predictor.predict_single_npy_array(case.image(), {"spacing": list(case.spacing)}, before)
        else:
            labels = _predict_file(case, predictor, manager.image_reader_writer_class())
    return Prediction(np.asarray(labels).astype(np.uint8), seen[0])


def _predict_file(case: Case, predictor: nnUNetPredictor, reader: Any) -> NDArray[Any]:
    """Reads and writes as the plans demand; the labels (z, y, x) of the file."""
    with tempfile.TemporaryDirectory() as folder:
        image, properties = reader.read_images(case.write_volumes(Path(folder)))
        labels = predictor.predict_single_npy_array(image, properties)
        out = Path(folder) / "labels.nii"
        reader.write_seg(labels, str(out), properties)
        return np.asarray(nib.load(out).dataobj).transpose(2, 1, 0)
