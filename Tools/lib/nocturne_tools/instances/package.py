"""From an instance network to a model package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from nocturne_tools.model_package import record_output, write_photo_package
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.whole_folder import whole_folder

from . import yolo, yolo_graph
from .classes import classes, safe_name

NETWORK = "network.onnx"
CHECKPOINTS = (".pt", ".pth", ".safetensors")


@dataclass
class Options:
    """The package's own description, and what takes the place of what the file says."""

    classes: list[str] | None = None
    size: int | None = None
    score: float | None = None
    overlap: float | None = None
    most: int | None = None
    minimum_side: int = 32
    identifier: str | None = None
    name: str | None = None
    version: str = "1.0.0"
    licence: str | None = None
    replace: bool = False


def write(file: Path, out: Path, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Writes the package of a network; `out` appears completely or not at all. Returns `model.json`."""
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    if not file.is_file():
        raise Refusal(file, "is no file")
    suffix = file.suffix.lower()
    if suffix == ".onnx":
        model, manifest = _yolo(file, options, say)
    elif suffix in CHECKPOINTS:
        model, manifest = _mask_rcnn(file, options, say)
    else:
        raise Refusal(file, f"is neither an ONNX file nor weights of PyTorch ({', '.join(CHECKPOINTS)})")
    with whole_folder(out) as partial:
        onnx.save(model, partial / NETWORK)
        if suffix == ".onnx":  # The number of objects, thus the shape, of Mask R-CNN's outputs depends on the picture.
            side = manifest["photoInstances"]["input"]["longSide"]
            say(record_output(partial / NETWORK, (1, 3, side, side)))
        return write_photo_package(partial, manifest, [NETWORK], ("photo-instances", "photoInstances"))


def _yolo(file: Path, options: Options, say: Callable[[str], None]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    source = yolo.read(file, options.size, options.classes)
    model = yolo_graph.build(source)
    worst = yolo_graph.difference(source, model)
    limit = yolo_graph.HALF_LIMIT if source.half else yolo_graph.LIMIT
    kind = "float16 file, float32 package" if source.half else "float32"
    say(f"{NETWORK}: against the file, largest difference {worst:.1e} of the output's scale ({kind}, limit {limit})")
    if not worst <= limit:
        raise Refusal(file, f"its export differs by {worst:.1e} of the output's scale, limit {limit}")
    fitted = {"multiple": source.stride} if source.dynamic else {"square": True}
    section = {
        "network": NETWORK,
        "input": {
            "longSide": source.size,
            **fitted,
            # As ultralytics' LetterBox does it, with OpenCV.
            "placement": "centre",
            "resampling": "bilinear",
            "minimumSide": options.minimum_side,
            "mean": [yolo_graph.FILLING] * 3,
            "standardDeviation": [1.0] * 3,
        },
        "output": {"kind": "masks-boxes", "candidates": source.candidates, "prototypes": source.prototypes},
        # Ultralytics removes by boxes only, and only masks without any pixel.
        "thresholds": _thresholds(options.score or 0.25, options.overlap or 0.7),
        "classes": classes(file, source.names),
        "maxInstances": options.most or 300,
    }
    what = f"{len(source.names)} classes, {source.size} pixels"
    description = f"A YOLO-seg network from an ONNX file: {what}."
    return model, _manifest(file, options, (description, source.licence), section)


def _mask_rcnn(file: Path, options: Options, say: Callable[[str], None]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    from . import mask_rcnn  # needs PyTorch, YOLO-seg does not

    most, side = options.most or mask_rcnn.MOST, options.size or mask_rcnn.SIDE
    score, overlap = options.score or 0.5, options.overlap or mask_rcnn.OVERLAP
    network = mask_rcnn.read(file, score, overlap, most)
    names = options.classes or network.known_names
    if names is None or len(names) != network.classes:
        given = f"--classes has {len(names)} names" if names else "name them with --classes one,two,…"
        raise Refusal(file, f"has {network.classes} classes beside the background; {given}")
    model = mask_rcnn.export(network, side)
    share = mask_rcnn.agreement(network, model)
    say(f"{NETWORK}: {100 * share:.1f} % of the instances as in PyTorch (limit {100 * mask_rcnn.LIMIT:.0f} %)")
    if not share >= mask_rcnn.LIMIT:
        raise Refusal(file, f"its export agrees in {100 * share:.1f} % of the instances only")
    section = {
        "network": NETWORK,
        "input": {
            "longSide": side,
            "multiple": mask_rcnn.MULTIPLE,
            "minimumSide": options.minimum_side,
            "mean": mask_rcnn.MEAN,
            "standardDeviation": mask_rcnn.DEVIATION,
        },
        "output": {"kind": "masks", **{name: name for name in mask_rcnn.OUTPUTS}, "firstClass": 1},
        # The graph has removed overlapping boxes itself.
        "thresholds": _thresholds(score, 1.0),
        "classes": classes(file, names),
        "maxInstances": most,
    }
    description = f"Mask R-CNN of torchvision: {network.classes} classes. Runs with ONNX Runtime only."
    return model, _manifest(file, options, (description, "unknown"), section)


def _thresholds(score: float, overlap: float) -> dict[str, float]:
    return {"score": score, "boxOverlap": overlap, "maskOverlap": 1.0, "mask": 0.5, "minimumArea": 1}


def _manifest(file: Path, options: Options, about: tuple[str, str], section: dict[str, Any]) -> dict[str, Any]:
    """`about`: description and licence."""
    return {
        "id": options.identifier or safe_name(file.stem).lower(),
        "name": options.name or file.stem,
        "description": about[0],
        "version": options.version,
        "licence": options.licence or about[1],
        "photoInstances": section,
    }
