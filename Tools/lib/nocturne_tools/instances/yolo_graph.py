"""The graph of a package from an ONNX file of YOLO-seg, and its comparison with the file's own."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

from . import onnx_graph
from .yolo import Segmenter

# What ultralytics fills the rest of the input with: grey of 114, as a share of 255. The package's mean is the same, so
# that the filling is 0 after the mean is subtracted; the graph adds it again.
FILLING = 114 / 255
LIMIT, HALF_LIMIT = 1e-4, 2e-2


def build(source: Segmenter) -> onnx.ModelProto:
    """Float32, one photo at a time, for inputs from which ``FILLING`` was subtracted."""
    model = onnx.ModelProto()
    model.CopyFrom(source.model)
    onnx_graph.to_single(model)
    (given,) = onnx_graph.inputs(model)
    if source.dynamic:
        onnx_graph.set_extents(given, [1, 3, "height", "width"])
        for output in model.graph.output:
            shape = onnx_graph.extents(output)
            onnx_graph.set_extents(output, [1] + [n or f"{output.name}_{k}" for k, n in enumerate(shape)][1:])
    onnx_graph.add_to_input(model, FILLING)
    return onnx_graph.finished(model, {"stride": source.stride, "size": source.size})


def difference(source: Segmenter, model: onnx.ModelProto) -> float:
    """The largest difference of an output from that of the file, over the largest value of this output, for noise."""
    random = np.random.default_rng(0)
    sides = [(source.size, source.size)]
    if source.dynamic:
        sides.append((source.size, max(source.size // 2 // source.stride, 1) * source.stride))
    ours, theirs = _session(model), _session(source.model)
    (entry,) = theirs.get_inputs()
    names = [source.candidates, source.prototypes]
    worst = 0.0
    for height, width in sides:
        photo = (random.integers(0, 256, (1, 3, height, width)) / 255).astype(np.float32)
        own = np.float16 if entry.type == "tensor(float16)" else np.float32
        expected = theirs.run(names, {entry.name: photo.astype(own)})
        found = ours.run(names, {ours.get_inputs()[0].name: photo - np.float32(FILLING)})
        for one, other in zip(found, expected):
            other = other.astype(np.float32)
            worst = max(worst, float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-30)))
    return worst


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
