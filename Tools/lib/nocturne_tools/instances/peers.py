"""Instances on photos by ultralytics' and torchvision's own code, for proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from . import mask_rcnn as exporter
from .agreement import Instance
from .classes import safe_name
from .drawn_shapes import CLASSES

SCORE = 0.3


def ultralytics(file: Path, folder: Path, side: int) -> dict[str, list[Instance]]:
    """By the names of the photos: an ONNX file run by ultralytics with its defaults, masks on the photo's own grid."""
    from ultralytics import YOLO

    network = YOLO(file, task="segment")
    instances: dict[str, list[Instance]] = {}
    for path in sorted(folder.glob("*.png")):
        (result,) = network.predict(path, imgsz=side, retina_masks=True, device="cpu", verbose=False)
        masks = result.masks.data.numpy().astype(bool) if result.masks is not None else []
        instances[path.stem] = [
            Instance(safe_name(result.names[int(kind)]), float(score), mask, tuple(box.tolist()))
            for mask, box, score, kind in zip(masks, result.boxes.xyxy, result.boxes.conf, result.boxes.cls)
        ]
    return instances


def _mask_rcnn(version: int, **settings: Any) -> torch.nn.Module:
    from torchvision.models import detection

    make = detection.maskrcnn_resnet50_fpn if version == 1 else detection.maskrcnn_resnet50_fpn_v2
    return make(weights=None, weights_backbone=None, num_classes=len(CLASSES) + 1, **settings).eval()


# Last layers, and the deviation that their outputs get over a photo of noise.
DEVIATIONS = {
    "rpn.head.cls_logits": 3.0,
    "rpn.head.bbox_pred": 0.3,
    "roi_heads.box_predictor.cls_score": 2.0,
    "roi_heads.box_predictor.bbox_pred": 1.0,
    "roi_heads.mask_predictor.mask_fcn_logits": 2.0,
}


def scaled_mask_rcnn(version: int, file: Path) -> Path:
    """Random weights, with the last layers scaled one after the other so that scores, boxes and masks are not alike."""
    torch.manual_seed(version)
    network = _mask_rcnn(version, min_size=320, max_size=320, box_score_thresh=0.0)
    photo = torch.nn.functional.interpolate(torch.rand(1, 3, 20, 20), (320, 320), mode="bicubic")[0]
    for name, deviation in DEVIATIONS.items():
        layer, seen = network.get_submodule(name), []
        hook = layer.register_forward_hook(lambda _layer, _given, output, seen=seen: seen.append(output))
        with torch.no_grad():
            network([photo])
            hook.remove()
            # Most pixels of a mask belong to it, as after training.
            layer.bias.fill_(deviation if "mask" in name else 0)
            layer.weight *= deviation / float(seen[0].std())
    torch.save(network.state_dict(), file)
    return file


def mask_rcnn(version: int, file: Path, folder: Path, side: int) -> dict[str, list[Instance]]:
    """By the names of the photos: torchvision from the photo to masks, with the longer side scaled to `side`."""
    network = _mask_rcnn(version, min_size=side, max_size=side, box_score_thresh=SCORE)
    network.load_state_dict(torch.load(file, weights_only=True))
    instances: dict[str, list[Instance]] = {}
    for path in sorted(folder.glob("*.png")):
        photo = torch.from_numpy(np.array(Image.open(path).convert("RGB"))).permute(2, 0, 1) / 255
        with torch.no_grad():
            (result,) = network([photo])
        masks = (result["masks"][:, 0] >= 0.5).numpy()
        instances[path.stem] = [
            Instance(safe_name(CLASSES[int(kind) - 1]), float(score), mask)
            for mask, score, kind in zip(masks, result["scores"], result["labels"])
            if mask.any()
        ]
    return instances


def exact_mask_rcnn(file: Path, folder: Path) -> dict[str, list[Instance]]:
    """The same for photos of the network's size, with masks interpolated over the boxes as they are.

    Torchvision first rounds the edges of boxes to whole pixels.
    """
    network = exporter.read(file, SCORE, exporter.OVERLAP, exporter.MOST)
    instances: dict[str, list[Instance]] = {}
    for path in sorted(folder.glob("*.png")):
        photo = (np.array(Image.open(path)) / 255 - exporter.MEAN) / exporter.DEVIATION
        with torch.no_grad():
            values = network.module(torch.from_numpy(photo.transpose(2, 0, 1)[None].astype(np.float32)))
        instances[path.stem] = [
            Instance(safe_name(CLASSES[int(kind) - 1]), float(score), _interpolated(mask, box, photo.shape[:2]))
            for box, score, kind, mask in zip(*values)
            if score >= SCORE
        ]
    return instances


def _interpolated(mask: torch.Tensor, box: torch.Tensor, size: tuple[int, ...]) -> np.ndarray:
    """The pixels (y, x) of a photo where a mask [1][y][x] over a box is 0.5 or more."""
    left, top, right, bottom = box.tolist()
    across = (torch.arange(size[1]) + 0.5 - left) / (right - left) * 2 - 1
    down = (torch.arange(size[0]) + 0.5 - top) / (bottom - top) * 2 - 1
    grid = torch.stack(torch.meshgrid(across, down, indexing="xy"), -1)[None]
    return (torch.nn.functional.grid_sample(mask[None], grid, align_corners=False)[0, 0] >= 0.5).numpy()
