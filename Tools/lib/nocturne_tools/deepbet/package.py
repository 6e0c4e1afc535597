"""From a wheel of deepbet to a program package: a coarse network finds the box of the brain, a fine one the brain."""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore", category=FutureWarning)  # PyTorch's about itself, while it is imported

import torch

from nocturne_tools import onnx_export
from nocturne_tools.final_activation import without_softmax
from nocturne_tools.model_package import label, recipe, record_output, write_package, write_program
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.wheels import Wheel
from nocturne_tools.whole_folder import whole_folder

NETWORK, LICENCE = "network.onnx", "MIT"
# Networks in TorchScript could run operations of their own, and the settings below are those of this code: only these files are read.
KNOWN = {
    "deepbet/bet.py": "bdbc791c0b6a357844301406c730cf728b597686176f65458f15908c9a8791f5",
    "deepbet/utils.py": "4e3ae6b511cc621935f3f0bb57231c5e59fd5764038238660169e939d9a83af4",
    "data/models/bbox_model.pt": "39a7b2b5f799faa1391ea97bfcdc0b9299f20d84f2316a4ff8918dc4685e40aa",
    "data/models/model.pt": "de8ee7c69654d0dd3935dc4a5d84571d8ecf4637a6bfc01df399c4c2bc86e0fd",
}
COARSE, FINE = [128] * 3, [256] * 3
LOWER, UPPER = 0.005, 0.995
# deepbet maps z-scores to 0.226 z + 0.449.
FACTOR, SUMMAND = 0.226, 0.449
# Of the root mean square: of a few probabilities near 0.5, rounding in float32 changes the third digit, as the logits are large.
LARGEST_DIFFERENCE = 1e-3


@dataclass
class Options:
    """The package's own description."""

    identifier: str = "brain-extraction-t1"
    name: str = "Brain extraction (T1)"
    replace: bool = False


def write(path: Path, out: Path, options: Options, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Writes the package of a wheel; `out` appears completely or not at all. Returns `model.json`."""
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    wheel = Wheel(path)
    facts = wheel.facts()
    if facts.get("License") != LICENCE:
        raise Refusal(path, f"is under {facts.get('License')}, not {LICENCE}")
    contents = {name: wheel.read(name) for name in KNOWN if name in wheel.names}
    for name, digest in KNOWN.items():
        if hashlib.sha256(contents.get(name, b"")).hexdigest() != digest:
            raise Refusal(path, f"has another {name} than version 1.0.2, whose arithmetic is known")
    manifest = {
        "id": options.identifier,
        "name": options.name,
        "description": f"The brain in T1-weighted MR of adults. The networks of deepbet (University of Münster) as {path.name} has "
        f"them: model.pt, SHA-256 {KNOWN['data/models/model.pt']}. For research, no medical use.",
        "version": facts["Version"],
        "licence": LICENCE,
        "modalities": ["MR"],
        "channels": [{"name": "T1", "normalization": {"scheme": "none"}}],
        "labels": [label(1, "brain", "#E69F00", ("12738006", "Brain"))],
    }
    with whole_folder(out) as partial:
        for part, file, size in (("box", "bbox_model.pt", COARSE), ("brain", "model.pt", FINE)):
            say(f"{file}:")
            _write_part(partial / "parts" / part, contents[f"data/models/{file}"], size, manifest, say)
        licence = wheel.text(wheel.only(r"[^/]+\.dist-info/LICENSE"))
        (partial / "LICENSE.txt").write_text(licence, encoding="utf-8")
        return write_program(partial, manifest | {"volumeProgram": program()})


def _write_part(
    folder: Path, weights: bytes, size: list[int], whole: dict[str, Any], say: Callable[[str], None]
) -> None:
    folder.mkdir(parents=True)
    with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        file.write(weights)
        file.flush()
        network = torch.jit.load(file.name, map_location="cpu").eval()
    shape = (1, 1, *size)
    onnx_export.export(network, shape, folder / NETWORK)
    difference = onnx_export.compare(network, shape, folder / NETWORK)
    if difference.root_mean_square > LARGEST_DIFFERENCE:
        raise Refusal(folder / NETWORK, f"ONNX Runtime differs from PyTorch by {difference.root_mean_square:.1e}")
    say(f"  ONNX Runtime differs from PyTorch by {difference.root_mean_square:.1e}, relative and as a root mean square")
    # The networks return probabilities, and Nocturne applies softmax itself.
    without_softmax(folder / NETWORK)
    say("  " + record_output(folder / NETWORK, shape))
    normalization = [
        *([{"scheme": "quantiles", "lower": LOWER, "upper": UPPER, "clip": True}] if size == COARSE else []),
        {"scheme": "zScore"},
        {"scheme": "linear", "mean": -SUMMAND / FACTOR, "standardDeviation": 1 / FACTOR},
    ]
    channels = [{"name": "T1", "normalization": normalization}]
    manifest = whole | {"id": folder.name, "name": folder.name, "channels": channels}
    write_package(folder, manifest | {"volumeSegmentation": settings(size)}, [NETWORK])


def settings(size: list[int]) -> dict[str, Any]:
    """The part of `BrainExtraction.run_model` that a network needs; its axes are x, y and z."""
    nearest = {"method": "torch", "order": 0, "separateZ": "never"}
    is_fine = size == FINE
    section = recipe("RAS", None, size, keep_largest=["brain"], fill_holes=["brain"] if is_fine else [])
    fine = {"size": size, "normalizeAfterResampling": True, "resampling": {"image": nearest, "logits": nearest}}
    return section | {"transpose": [2, 1, 0]} | (fine if is_fine else {})


def program() -> dict[str, Any]:
    """The whole of `run_model`: the coarse network works on a grid, whose quantiles clamp the intensities in the box."""
    return {
        "region": {
            "package": "parts/box",
            "grid": {"orientation": "RAS", "size": COARSE, "resampling": {"method": "spline", "order": 0}},
            "marginShare": 0.1,
            "planeShare": 0.02,
            "clip": {"lower": LOWER, "upper": UPPER},
            "grows": False,
        },
        "parts": [{"packages": ["parts/brain"]}],
    }
