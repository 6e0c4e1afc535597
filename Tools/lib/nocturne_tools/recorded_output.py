"""Records what another library computes with a network, so that `nocturne models check` can compare on any machine.

The record lies next to the network, as `network.check.json` next to `network.onnx`: the library with its version, the shape of
the input, and some values of the first output, evenly spaced. The input is the one that `models check` runs.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nocturne_tools.model_package import record_name

COUNT = 64  # values that are recorded of an output, at most


def patch(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The input: the values of `EngineComparison.smoothPatch`, to the bit."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        values = (_states(count) >> np.uint64(40)).astype(np.float32)
    values = ((values / np.float32(8_388_608) - np.float32(1)) * np.float32(0.4)).reshape(shape)
    for axis, extent in enumerate(shape[2:]):
        start = np.float32(axis) * np.float32(0.3)
        phase = np.fmod(np.arange(extent, dtype=np.float32) / np.float32(7 + 6 * axis) + start, np.float32(1))
        wave = np.float32(4) * np.abs(phase - np.float32(0.5)) - np.float32(1)
        values += wave.reshape(-1, *[1] * (len(shape) - 3 - axis))
    return values


def _states(count: int) -> NDArray[np.uint64]:
    """The states of the generator after 1 to `count` steps; a step of many is one multiplication and one addition, too."""
    factor, summand = 6_364_136_223_846_793_005, 1_442_695_040_888_963_407
    states = np.array([0x9E37_79B9_7F4A_7C15 * factor + summand & (1 << 64) - 1], dtype=np.uint64)
    while len(states) < count:
        states = np.concatenate([states, states * np.uint64(factor) + np.uint64(summand)])
        factor, summand = factor * factor & (1 << 64) - 1, (factor * summand + summand) & (1 << 64) - 1
    return states[:count]


def record(network: Path, library: str, shape: tuple[int, ...], output: NDArray[np.float32]) -> None:
    """Writes the record of a network for the values that `library` computed from the patch of this shape."""
    flat = output.ravel()
    count = min(COUNT, flat.size)
    # Nine digits are enough for every float32.
    values = [float(f"{flat[(2 * k + 1) * flat.size // (2 * count)]:.9g}") for k in range(count)]
    document = {"library": library, "input": list(shape), "values": values}
    network.with_name(record_name(network.name)).write_text(json.dumps(document) + "\n")


def record_with_onnxruntime(network: Path, shape: tuple[int, ...]) -> str:
    """The same for a network with one input that came as ONNX. Returns the library."""
    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    library = f"ONNX Runtime {onnxruntime.__version__}"
    output = session.run([session.get_outputs()[0].name], {session.get_inputs()[0].name: patch(shape)})[0]
    record(network, library, shape, output)
    return library
