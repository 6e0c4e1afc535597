"""Mask R-CNN of torchvision (ResNet-50 with FPN, versions 1 and 2) as a graph with outputs of fixed extents.

The graph leaves out torchvision's own scaling and the enlargement of masks, which Nocturne does. It contains
non-maximum suppression and RoiAlign, so it runs with ONNX Runtime, not with the builtin engine.
"""

from __future__ import annotations

import importlib
import io
import pickle
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from nocturne_tools.nnunet.refusal import Refusal, listed

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
OUTPUTS = ("boxes", "scores", "classes", "masks")
# Torchvision scales the shorter side to 800 pixels, the longer one to at most 1333: 800 by 1067 for photos of 4 : 3.
SIDE, MULTIPLE, MOST, OVERLAP = 1067, 32, 100, 0.5
# With a margin of one.
MASK_SIDE = 30
LIMIT = 0.98
COCO = 91
HEAD = "roi_heads.box_predictor.cls_score.weight"
SECOND = "rpn.head.conv.1.0.weight"
TRIAL = ((256, 320), (320, 192))


class FixedOutputs(nn.Module):
    """A normalised photo [1][3][y][x] -> boxes [n][4], scores [n], classes [n] (from 1), masks [n][1][30][30].

    Masks have a margin of zeros, which their boxes contain, as torchvision enlarges masks. Rows beyond the instances
    found have the score 0.
    """

    def __init__(self, network: nn.Module, most: int) -> None:
        super().__init__()
        self.network = network
        self.most = most

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        size = _photo_size(image)
        maps = self.network.backbone(image)
        images = importlib.import_module("torchvision.models.detection.image_list").ImageList(image, [size])
        proposals, _ = self.network.rpn(images, maps)
        (found,), _ = self.network.roi_heads(maps, proposals, [size])
        masks = nn.functional.pad(found["masks"], (1, 1, 1, 1))
        low, high = found["boxes"][:, :2], found["boxes"][:, 2:]
        margin = (high - low) / (MASK_SIDE - 2)
        values = (torch.cat([low - margin, high + margin], dim=1), found["scores"], found["labels"], masks)
        ends = ((4,), (), (), (1, MASK_SIDE, MASK_SIDE))
        return tuple(self._fixed(value, end) for value, end in zip(values, ends))

    def _fixed(self, value: Tensor, end: tuple[int, ...]) -> Tensor:
        value = value.float()
        filling = torch.zeros((self.most, *end))
        return torch.cat([value, filling])[: self.most].reshape(self.most, *end)


def _photo_size(image: Tensor) -> tuple[Any, Any]:
    """Height and width without the filling, to which torchvision limits boxes.

    The filling is 0; a pixel of a photo never is, because no sample of 8 bits is the mean.
    """
    used = image.abs().amax(dim=(0, 1))
    size = ((used.amax(dim=1) > 0).sum(), (used.amax(dim=0) > 0).sum())
    return size if torch.jit.is_tracing() else (int(size[0]), int(size[1]))


@dataclass(frozen=True)
class Network:
    """`classes` without the background; `known_names`, if it has as many classes as COCO."""

    module: FixedOutputs
    classes: int
    known_names: list[str] | None


def read(file: Path, score: float, overlap: float, most: int) -> Network:
    """Builds the network of a state dict or TorchScript file."""
    try:
        detection = torchvision_detection()
    except (ModuleNotFoundError, RuntimeError) as error:
        raise Refusal(
            file, f"needs the Python package torchvision of the release that fits PyTorch {torch.__version__} ({error})"
        ) from None
    state = _state(file)
    if HEAD not in state or "roi_heads.mask_predictor.mask_fcn_logits.weight" not in state:
        raise Refusal(
            file,
            f"has no weights of torchvision's Mask R-CNN ({HEAD} …) among {listed(sorted(state)) or 'none'}; "
            "give a state dict, torch.save(model.state_dict(), …)",
        )
    make = detection.maskrcnn_resnet50_fpn_v2 if SECOND in state else detection.maskrcnn_resnet50_fpn
    classes = int(state[HEAD].shape[0])
    settings = {"box_score_thresh": score, "box_nms_thresh": overlap, "box_detections_per_img": most}
    network = make(weights=None, weights_backbone=None, num_classes=classes, **settings).eval()
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        first = " ".join(str(error).split())[:300]
        raise Refusal(file, f"is not Mask R-CNN with ResNet-50 and FPN as torchvision makes it: {first}") from None
    names = None
    if classes == COCO:
        # Numbers that COCO does not use are all called N/A.
        found = detection.MaskRCNN_ResNet50_FPN_Weights.DEFAULT.meta["categories"][1:]
        names = [f"unused_{k}" if name == "N/A" else name for k, name in enumerate(found, 1)]
    return Network(FixedOutputs(network, most).eval(), classes - 1, names)


def torchvision_detection() -> Any:
    """`torchvision.models.detection`, with the operators that also TorchScript files need to be read.

    Raises ModuleNotFoundError where it is missing, RuntimeError where it is of another release than PyTorch.
    """
    detection = importlib.import_module("torchvision.models.detection")
    try:
        importlib.import_module("torchvision.ops").nms(torch.zeros(1, 4), torch.zeros(1), 0.5)
    except (RuntimeError, AttributeError):
        raise RuntimeError("its own operators cannot be loaded") from None
    return detection


def _state(file: Path) -> dict[str, Any]:
    """The state dict of a file, also of a TorchScript file or of a checkpoint of a training."""
    if file.suffix.lower() == ".safetensors":
        return importlib.import_module("safetensors.torch").load_file(file)
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        try:
            return torch.jit.load(str(file), map_location="cpu").state_dict()
        except RuntimeError:
            pass
        if "ultralytics" in str(error):
            raise Refusal(
                file, "is of ultralytics: yolo export model=YOUR.pt format=onnx writes what is taken"
            ) from None
        raise Refusal(
            file, "holds more than weights; code is not run: torch.save(model.state_dict(), …) writes what is taken"
        ) from None
    for key in ("state_dict", "model"):
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
    return found if isinstance(found, dict) else {}


def export(network: Network, side: int) -> onnx.ModelProto:
    """The graph for photos of any size whose sides are multiples of ``MULTIPLE``."""
    content = io.BytesIO()
    with warnings.catch_warnings():
        # The tracer warns of every loop; the comparison at another size shows what matters.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network.module,
            (photo(TRIAL[0]),),
            content,
            input_names=["image"],
            output_names=list(OUTPUTS),
            opset_version=17,
            dynamo=False,
            dynamic_axes={"image": {2: "height", 3: "width"}},
        )
    model = onnx.load_from_string(content.getvalue())
    model.metadata_props.add(key="size", value=str(side))
    onnx.checker.check_model(model)
    return model


def photo(size: tuple[int, int]) -> Tensor:
    """Smooth noise, as a normalised photo with filling at its right and bottom."""
    coarse = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(size[1]))
    found = nn.functional.interpolate(coarse, size, mode="bicubic")
    found[:, :, size[0] - 25 :] = 0
    found[:, :, :, size[1] - 17 :] = 0
    return found


def agreement(network: Network, model: onnx.ModelProto) -> float:
    """The share of PyTorch's instances that ONNX Runtime finds at the same place of the list, in two sizes.

    The same is: the same class, scores within 0.01, boxes within half a pixel, masks within 0.05. 1 if there are none.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    same, total = 0, 0
    for size in TRIAL:
        given = photo(size)
        with torch.no_grad():
            expected = [value.numpy() for value in network.module(given)]
        found = session.run(list(OUTPUTS), {"image": given.numpy()})
        rows = expected[1] > 0
        gaps = [np.abs(a - b).reshape(len(a), -1).max(axis=1) for a, b in zip(found, expected)]
        good = (gaps[0] <= 0.5) & (gaps[1] <= 0.01) & (gaps[2] == 0) & (gaps[3] <= 0.05)
        same += int((good & rows).sum())
        total += max(int(rows.sum()), int((found[1] > 0).sum()))
    return same / total if total else 1.0
