"""Recognises YOLO-seg in ONNX files of ultralytics: versions 8, 9, 11 and 12, and 26 without its end-to-end part."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import onnx

from nocturne_tools.nnunet.refusal import Refusal, listed

from . import onnx_graph
from .onnx_graph import text

AGAIN = "export it again with: yolo export model=YOUR.pt format=onnx"
END_NODES = {"NonMaxSuppression", "TopK"}
INTEGERS = {"QuantizeLinear", "DequantizeLinear", "QLinearConv", "ConvInteger", "DynamicQuantizeLinear"}
FORM = "[1][4 + classes + coefficients][candidates]"


@dataclass(frozen=True)
class Segmenter:
    """A network `[1][3][y][x]` -> candidates and prototypes.

    `size` is the side of the square input in pixels, or the long side where `dynamic`: then both sides may be any
    multiple of `stride`.
    """

    file: Path
    model: onnx.ModelProto
    names: list[str]
    size: int
    stride: int
    dynamic: bool
    half: bool
    candidates: str
    prototypes: str
    licence: str


def read(file: Path, size: int | None, names: list[str] | None) -> Segmenter:
    """Recognises the network of a file.

    `size` and `names` take the place of the file's own; the size of a file with static extents cannot be changed.
    """
    model = onnx_graph.load(file)
    facts = onnx_graph.metadata(model)
    _check_facts(file, facts)
    _check_nodes(file, model)
    candidates, prototypes = _outputs(file, model)
    names = names or _names(file, facts)
    _check_rows(file, onnx_graph.extents(candidates), onnx_graph.extents(prototypes), len(names))
    stride = _number(file, facts, "stride", 32)
    side, dynamic = _side(file, model, facts, size)
    if side % stride:
        raise Refusal(file, f"takes multiples of {stride} pixels; {side} is none")
    if not 32 <= side <= 4096:
        raise Refusal(file, f"takes {side} pixels; a package has 32 to 4096")
    half = onnx_graph.has_half(model)
    licence = facts.get("license", "unknown").split(" License")[0]
    return Segmenter(file, model, names, side, stride, dynamic, half, candidates.name, prototypes.name, licence)


def _check_facts(file: Path, facts: dict[str, str]) -> None:
    task = facts.get("task", "segment")
    if task != "segment":
        raise Refusal(file, f"is for the task {task} and has no masks; train and export a model for segment (-seg)")
    if facts.get("end2end") == "True" or "'nms': True" in facts.get("args", ""):
        raise Refusal(
            file,
            "has non-maximum suppression inside (nms=True or end-to-end); Nocturne does it with the package's "
            f"thresholds: {AGAIN} (nms and end2end left out)",
        )
    if facts.get("channels", "3") != "3":
        raise Refusal(file, f"takes {facts['channels']} channels; photos have red, green and blue")


def _check_nodes(file: Path, model: onnx.ModelProto) -> None:
    kinds = {node.op_type for node in model.graph.node}
    if inside := kinds & END_NODES:
        raise Refusal(
            file, f"has {listed(sorted(inside))}, so non-maximum suppression or selection inside; {AGAIN} without nms"
        )
    if found := kinds & INTEGERS:
        raise Refusal(file, f"computes with integers ({listed(sorted(found))}); {AGAIN} without int8 or quantize=8")


def _outputs(file: Path, model: onnx.ModelProto) -> tuple[onnx.ValueInfoProto, onnx.ValueInfoProto]:
    """Candidates and prototypes, in whatever order the file has them."""
    found = list(model.graph.output)
    shapes = ", ".join(f"{one.name} {text(onnx_graph.extents(one))}" for one in found)
    if len(found) == 1:
        raise Refusal(file, f"has no prototypes of masks, only {shapes}; {AGAIN} from a -seg model")
    by_rank = {len(onnx_graph.extents(one)): one for one in found}
    if len(found) != 2 or set(by_rank) != {3, 4}:
        raise Refusal(file, f"has the outputs {shapes}; expected {FORM} and [1][coefficients][y][x]")
    return by_rank[3], by_rank[4]


def _check_rows(file: Path, candidates: list[int | None], prototypes: list[int | None], classes: int) -> None:
    coefficients = prototypes[1]
    found = f"candidates {text(candidates)}, prototypes {text(prototypes)} and {classes} classes"
    if coefficients is None:
        raise Refusal(file, f"does not say how many prototypes it has: {found}; {AGAIN}")
    rows = 4 + classes + coefficients
    if candidates[1] == rows and candidates[0] in (1, None):
        return
    if candidates[2] == rows + 1:
        raise Refusal(file, f"has an objectness and anchors, as YOLOv5 and YOLOv7: {found}; use a model of v8 or later")
    if candidates[2] == rows:
        raise Refusal(file, f"has candidates with their axes exchanged: {found}; expected {FORM}")
    if candidates[0] not in (1, None):
        raise Refusal(file, f"takes {candidates[0]} photos at a time; {AGAIN} batch=1")
    raise Refusal(file, f"has {found}, which do not fit together; expected {FORM}; --classes gives other names")


def _names(file: Path, facts: dict[str, str]) -> list[str]:
    try:
        found = ast.literal_eval(facts["names"])
        names = [found[key] for key in sorted(found)] if isinstance(found, dict) else list(found)
        if names and all(isinstance(name, str) for name in names):
            return names
    except (KeyError, ValueError, SyntaxError, TypeError):
        pass
    raise Refusal(file, "has no names of classes in its metadata (names); give them with --classes one,two,…")


def _number(file: Path, facts: dict[str, str], key: str, standard: int) -> int:
    try:
        return int(facts.get(key, standard))
    except ValueError:
        raise Refusal(file, f"has the metadata {key} = {facts[key]}, which is no whole number") from None


def _side(file: Path, model: onnx.ModelProto, facts: dict[str, str], size: int | None) -> tuple[int, bool]:
    found = onnx_graph.inputs(model)
    shape = onnx_graph.extents(found[0]) if found else []
    if len(found) != 1 or len(shape) != 4 or shape[1] not in (3, None):
        raise Refusal(file, f"has {len(found)} inputs, the first {text(shape)}; expected one of [1][3][y][x]")
    if shape[2] is None and shape[3] is None:
        return size or _stated_side(file, facts), True
    if shape[2] != shape[3] or shape[2] is None:
        raise Refusal(file, f"takes {text(shape)}, not a square; {AGAIN} imgsz=640 (one number) or dynamic=True")
    if size not in (None, shape[2]):
        raise Refusal(file, f"takes {shape[2]} pixels and no other size; {AGAIN} imgsz={size} or dynamic=True")
    return shape[2], False


def _stated_side(file: Path, facts: dict[str, str]) -> int:
    """The longer side of `imgsz`."""
    try:
        found = ast.literal_eval(facts["imgsz"])
        return max(found) if isinstance(found, list | tuple) else int(found)
    except (KeyError, ValueError, SyntaxError, TypeError):
        raise Refusal(file, "takes photos of any size and does not say which (imgsz); give --size 640") from None
