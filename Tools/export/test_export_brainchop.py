"""Checks that the exporter of brainchop's models turns axes correctly and refuses what it does not know by name.

    python Tools/export/test_export_brainchop.py

Makes one tiny folder, changes one fact at a time, and expects exit code 2, the fact in the message and no file left
behind; or, for the accepted ones, a graph that computes the same, turned.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import export_brainchop

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.meshnet import graph

Document = dict[str, Any]
Change = Callable[[Document], object]


def convolution(name: str, size: int, filters: int, dilation: int, bias: bool) -> Document:
    settings = {"name": name, "filters": filters, "kernel_size": [size] * 3, "strides": [1, 1, 1], "padding": "same"}
    settings |= {"dilation_rate": [dilation] * 3, "activation": "linear", "use_bias": bias}
    return {"class_name": "Conv3D", "config": settings}


def activation(name: str, kind: str) -> Document:
    return {"class_name": "Activation", "config": {"name": name, "activation": kind}}


def make_folder(folder: Path) -> Document:
    """A network with every activation, with and without normalisation; its model.json, and weights in the folder."""
    layers = [{"class_name": "InputLayer", "config": {"name": "input"}}]
    layers += [convolution("one", 3, 4, 1, True), activation("a1", "relu"), convolution("two", 3, 4, 2, True)]
    layers += [activation("a2", "elu"), convolution("three_gn", 3, 4, 4, False), activation("a3", "gelu")]
    layers += [convolution("output", 1, 3, 1, True)]
    for before, entry in zip([None, *layers], layers):
        entry["inbound_nodes"] = [] if before is None else [[[before["config"]["name"], 0, 0, {}]]]
    random, channels, arrays = np.random.default_rng(5), 1, {}
    for settings in (entry["config"] for entry in layers if entry["class_name"] == "Conv3D"):
        arrays[f"{settings['name']}/kernel"] = random.normal(
            size=[*settings["kernel_size"], channels, settings["filters"]]
        )
        channels = settings["filters"]
        if settings["use_bias"]:
            arrays[f"{settings['name']}/bias"] = random.normal(size=channels)
    folder.mkdir()
    (folder / "model.bin").write_bytes(b"".join(array.astype("<f4").tobytes() for array in arrays.values()))
    entries = [{"name": name, "shape": list(array.shape), "dtype": "float32"} for name, array in arrays.items()]
    (folder / "LICENSE").write_text("A licence.\n")
    (folder / "colormap.json").write_text(
        json.dumps({"labels": ["b", "A-b", "c"], "R": [0, 1, 2], "G": [0] * 3, "B": [0] * 3})
    )
    topology = {"model_config": {"config": {"layers": layers}}}
    manifest = [{"paths": ["model.bin"], "weights": entries}]
    return {"format": "layers-model", "modelTopology": topology, "weightsManifest": manifest}


def layer(number: int, **settings: object) -> Change:
    return lambda document: document["modelTopology"]["model_config"]["config"]["layers"][number]["config"].update(
        settings
    )


def kind(number: int, name: str) -> Change:
    return lambda document: document["modelTopology"]["model_config"]["config"]["layers"][number].update(
        class_name=name
    )


def weight(number: int, **settings: object) -> Change:
    return lambda document: document["weightsManifest"][0]["weights"][number].update(settings)


REFUSED: dict[str, tuple[Change, str]] = {
    "another layer": (kind(2, "MaxPooling3D"), "layer a1 is MaxPooling3D"),
    "another activation": (layer(2, activation="swish"), "layer a1 has the activation swish"),
    "strides": (layer(3, strides=[2, 2, 2]), "layer two has strides [2, 2, 2]"),
    "valid padding": (layer(1, padding="valid"), "layer one has padding valid"),
    "groups": (layer(3, groups=2), "layer two has groups 2"),
    "alpha of ELU": (layer(4, alpha=0.5), "layer a2 has alpha 0.5"),
    "a last layer with an activation": (layer(7, activation="relu"), "is not a plain convolution"),
    "quantised weights": (weight(0, quantization={"dtype": "uint8"}), "one/kernel is not plain float32"),
    "a kernel of another shape": (weight(0, shape=[3, 3, 3, 4, 1]), "layer one: kernel of shape"),
    "weights cut off": (weight(6, shape=[400]), "ends after the weights"),
    "another format": (lambda document: document.update(format="graph-model"), "has the format graph-model"),
    "a branch": (
        lambda document: document["modelTopology"]["model_config"]["config"]["layers"][3].update(
            inbound_nodes=[[["one", 0, 0, {}]]]
        ),
        "layer two takes one, expected a1",
    ),
    "a missing file of weights": (
        lambda document: document["weightsManifest"][0].update(paths=["other.bin"]),
        "names the weights other.bin",
    ),
}


def run(source: Path, out: Path, *options: str) -> tuple[int, str]:
    messages = io.StringIO()
    with contextlib.redirect_stdout(messages), contextlib.redirect_stderr(messages):
        code = export_brainchop.main([str(source), str(out), *options])
    return code, messages.getvalue()


def check_refusals(source: Path, document: Document, out: Path) -> int:
    failures = 0
    for name, (change, expected) in REFUSED.items():
        changed = json.loads(json.dumps(document))
        change(changed)
        (source / "model.json").write_text(json.dumps(changed))
        code, message = run(source, out, "--normalization", "rescale01")
        if code != 2 or expected not in message or out.exists():
            failures += 1
            print(f"FAILED: {name}: exit code {code}, {message.strip()}")
    return failures


def check_accepted(source: Path, document: Document, out: Path) -> int:
    (source / "model.json").write_text(json.dumps(document))
    failures = 0
    code, message = run(source, out)
    if code != 2 or "--normalization" not in message:
        failures += 1
        print(f"FAILED: an unknown model without normalisation: exit code {code}, {message.strip()}")
    code, message = run(source, out, "--normalization", "quantiles", "--patch", "8", "8", "8", "--id", "tiny")
    if code != 0:
        print(f"FAILED: the model as made: exit code {code}, {message.strip()}")
        return failures + 1
    written = json.loads((out / "model.json").read_text())
    expected = ("tiny", ["a_b", "c"], [["a_b", "c"]], "quantiles")
    labels = [one["name"] for one in written["labels"]]
    groups = written["volumeSegmentation"]["postprocessing"]["keepLargest"]
    if (written["id"], labels, groups, written["channels"][0]["normalization"]["scheme"]) != expected:
        failures += 1
        print(f"FAILED: model.json has {written}")
    return failures


def check_axes() -> int:
    """One voxel of a conformed volume lands where its direction says."""
    volume = np.zeros((4, 5, 6))
    volume[0, 1, 2] = 1  # the first to the left, the second downwards, the third forwards
    found = np.argwhere(graph.to_package(volume))[0].tolist()
    back = graph.from_package(graph.to_package(volume))
    if found == [5 - 1 - 1, 2, 4 - 1 - 0] and np.array_equal(back, volume):
        return 0
    print(f"FAILED: the voxel is at {found} of (z, y, x)")
    return 1


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "tiny", Path(folder) / "out"
        document = make_folder(source)
        failures = check_refusals(source, document, out) + check_accepted(source, document, out) + check_axes()
        if left := sorted(path.name for path in Path(folder).iterdir() if path.name not in ("tiny", "out")):
            failures += 1
            print(f"FAILED: left behind: {', '.join(left)}")
        shutil.rmtree(out, ignore_errors=True)
    print(f"{len(REFUSED)} refusals, 1 package: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
