"""Reads extents of ONNX graphs and changes their type and input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from nocturne_tools.nnunet.refusal import Refusal

INPUT = "image"
HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT


def load(file: Path) -> onnx.ModelProto:
    try:
        return onnx.load(file)
    except Exception as error:  # protobuf raises types of its own
        raise Refusal(file, f"is no ONNX file ({type(error).__name__})") from None


def metadata(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def extents(value: onnx.ValueInfoProto) -> list[int | None]:
    """The extents of an input or output; None where they are known at run time only."""
    return [axis.dim_value if axis.HasField("dim_value") else None for axis in value.type.tensor_type.shape.dim]


def text(shape: list[int | None]) -> str:
    """`[1][116][?]`"""
    return "".join(f"[{'?' if extent is None else extent}]" for extent in shape)


def inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs without those that are constants."""
    constants = {entry.name for entry in model.graph.initializer}
    return [entry for entry in model.graph.input if entry.name not in constants]


def has_half(model: onnx.ModelProto) -> bool:
    """Whether a weight is float16."""
    return any(entry.data_type == HALF for entry in model.graph.initializer)


def to_single(model: onnx.ModelProto) -> None:
    """Makes every float16 tensor float32, with the same values; the graph then computes in float32."""
    graph = model.graph
    for entry in graph.initializer:
        if entry.data_type == HALF:
            entry.CopyFrom(_single(entry))
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == HALF:
            value.type.tensor_type.elem_type = SINGLE
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        if attribute.name in ("to", "dtype") and attribute.i == HALF:
            attribute.i = SINGLE
        if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == HALF:
            attribute.t.CopyFrom(_single(attribute.t))
    del graph.value_info[:]


def _single(entry: onnx.TensorProto) -> onnx.TensorProto:
    return numpy_helper.from_array(numpy_helper.to_array(entry).astype(np.float32), entry.name)


def set_extents(value: onnx.ValueInfoProto, shape: list[int | str]) -> None:
    """Numbers, and names for extents that are known at run time."""
    value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shape))


def add_to_input(model: onnx.ModelProto, offset: float) -> None:
    """The graph gets an input of its own, to which the offset is added before the former input."""
    (former,) = inputs(model)
    name = former.name
    taken = {one for node in model.graph.node for one in [*node.input, *node.output]}
    own = INPUT if INPUT not in taken else INPUT + "_minus_filling"
    former.name = own
    model.graph.initializer.append(numpy_helper.from_array(np.float32(offset).reshape(1), "filling"))
    model.graph.node.insert(0, helper.make_node("Add", [own, "filling"], [name], "add_filling"))


def sort(model: onnx.ModelProto) -> None:
    """Puts every node after those whose outputs it takes, otherwise in the order they had (converters append casts)."""
    waiting = list(model.graph.node)
    made = {one for node in waiting for one in node.output}
    known = {""} | {name for node in waiting for name in node.input if name not in made}
    ordered: list[onnx.NodeProto] = []
    while waiting:
        left = []
        for node in waiting:
            if known.issuperset(node.input):
                ordered.append(node)
                known.update(node.output)
            else:
                left.append(node)
        if len(left) == len(waiting):
            return  # a cycle, which the checker names
        waiting = left
    del model.graph.node[:]
    model.graph.node.extend(ordered)


def finished(model: onnx.ModelProto, facts: dict[str, Any]) -> onnx.ModelProto:
    """Sorted and checked, with extents inferred and these facts as its only metadata."""
    del model.metadata_props[:]
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=str(value))
    sort(model)
    onnx.checker.check_model(model)
    return onnx.shape_inference.infer_shapes(model)
