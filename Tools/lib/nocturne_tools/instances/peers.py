"""Instances on photos by ultralytics' and torchvision's own code, for proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

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


def scaled_mask_rcnn(version: int, file: Path) -> Path:
    """Random weights, with the last layers scaled so that scores, classes and masks are not all alike."""
    torch.manual_seed(version)
    network = _mask_rcnn(version)
    factors = {
        "rpn.head.cls_logits.weight": 30,
        "roi_heads.box_predictor.cls_score.weight": 30,
        "roi_heads.mask_predictor.mask_fcn_logits.weight": 30,
    }
    state = network.state_dict()
    for name, factor in factors.items():
        state[name] *= factor
    torch.save(state, file)
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
